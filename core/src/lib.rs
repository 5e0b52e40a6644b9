//! The list/watch core of Ringwatch.
#![no_std]
// What keeps panics and std out. Here and not in the manifest, where it would bind tests as well.
#![warn(
    clippy::std_instead_of_core,
    clippy::alloc_instead_of_core,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::string_slice
)]

#[cfg(test)]
extern crate std;

pub mod compact;
pub mod digest;
pub mod history;
pub mod informer;
pub mod json;
pub mod key;
pub mod object;
pub mod predicate;
pub mod projection;
pub mod revision;
pub mod selector;
pub mod slots;
pub mod store;
pub mod time;
pub mod transition;
pub mod watcher;
