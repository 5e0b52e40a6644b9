//! The list/watch core of Ringwatch.
#![no_std]

pub mod json;
