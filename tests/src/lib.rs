//! What Ringwatch's larger tests share.
//!
//! - [`etcd`]: real etcd servers
//! - [`harness`]: one function per fuzz target, run by cargo-fuzz and by `tests/fuzz_corpus.rs`
//! - [`input`]: reads operations out of fuzz bytes
//! - [`random`]: reproducible random bytes

pub mod etcd;
pub mod harness;
pub mod input;
pub mod random;
