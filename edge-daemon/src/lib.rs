//! The relay: filtered watch streams at the edge, in fixed memory.
//!
//! ```text
//!   upstream                       engine                              nodes
//!   node link ──► Uplink ──► View ┐                        ┌► Session ══ node link
//!                                 ├─► Track ──► Relay ─────┼► Session ══ node link
//!   Kubernetes ──► JSON objects ──┘   store + history      └► HTTP
//! ```
//!
//! [`engine`] is the relay without I/O, allocator or clock: the same code runs in the Linux program, in firmware and in a simulation. The rest, with the
//! feature `linux`, is the program around it.
#![cfg_attr(not(feature = "linux"), no_std)]
#![warn(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::string_slice
)]

pub mod engine;

#[cfg(feature = "linux")]
pub mod cli;
#[cfg(feature = "linux")]
pub mod clock;
#[cfg(feature = "linux")]
pub mod config;
#[cfg(feature = "linux")]
pub mod definition;
#[cfg(feature = "linux")]
pub mod disk;
#[cfg(feature = "linux")]
pub mod downstream;
#[cfg(feature = "linux")]
pub mod drive;
#[cfg(feature = "linux")]
pub mod hub;
#[cfg(feature = "linux")]
pub mod memory;
#[cfg(feature = "linux")]
pub mod metrics;
#[cfg(feature = "linux")]
pub mod node;
#[cfg(feature = "linux")]
pub mod policy;
#[cfg(feature = "linux")]
pub mod upstream;
#[cfg(feature = "linux")]
pub mod wire;
