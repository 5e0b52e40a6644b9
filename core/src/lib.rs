//! The list/watch core of Ringwatch.
#![no_std]

#[cfg(test)]
extern crate std;

pub mod digest;
pub mod history;
pub mod informer;
pub mod key;
pub mod object;
pub mod predicate;
pub mod revision;
pub mod selector;
pub mod slots;
pub mod store;
pub mod time;
pub mod transition;
pub mod watcher;
