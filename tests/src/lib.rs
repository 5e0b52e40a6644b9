//! What Ringwatch's larger tests share.
//!
//! - `cached`: a reader, with a cache or without, as a storage, for the conformance suite (feature `storage`)
//! - `conformance`: what every storage must do (feature `storage`)
//! - `etcd`: real etcd servers (feature `storage`)
//! - `fragile`: a storage whose watches can be cut, or miss a change (feature `storage`)
//! - [`harness`]: one function per fuzz target, run by cargo-fuzz and by `tests/fuzz_corpus.rs`
//! - [`input`]: reads operations out of fuzz bytes
//! - `mutant`: storages with one fault each (feature `storage`)
//! - `programs`: the project's programs, built (feature `storage`)
//! - `proxy`: a wire that can be cut (feature `storage`)
//! - [`random`]: reproducible random bytes
//! - `recorder`: judges recorded watches by what really happened (feature `storage`)
//! - `reference`: a storage that is simple enough to be right (feature `storage`)
//! - [`simulation`]: servers, relays and nodes in one thread, under a clock that is a number
//! - `site`: objects in a storage, and a reader of them (feature `storage`)
//! - `workload`: writers and watchers around a cache, recorded (feature `storage`)

#[cfg(feature = "storage")]
pub mod cached;
#[cfg(feature = "storage")]
pub mod conformance;
#[cfg(feature = "storage")]
pub mod etcd;
#[cfg(feature = "storage")]
pub mod fragile;
pub mod harness;
pub mod input;
#[cfg(feature = "storage")]
pub mod mutant;
#[cfg(feature = "storage")]
pub mod programs;
#[cfg(feature = "storage")]
pub mod proxy;
pub mod random;
#[cfg(feature = "storage")]
pub mod recorder;
#[cfg(feature = "storage")]
pub mod reference;
pub mod simulation;
#[cfg(feature = "storage")]
pub mod site;
#[cfg(feature = "storage")]
pub mod workload;
