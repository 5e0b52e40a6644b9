//! The list/watch core of Ringwatch.
#![no_std]

pub mod compact;
pub mod json;
pub mod projection;
