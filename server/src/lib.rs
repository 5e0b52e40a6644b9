//! The server side of Ringwatch: where objects are stored, and the watch cache in front of it.
//!
//! ```text
//!   etcd ────► storage ──► cache (one per resource) ──► list, get, watch
//!   embedded ─┘
//! ```

pub mod backoff;
pub mod cache;
pub mod columns;
pub mod compress;
pub mod indent;
pub mod negotiate;
pub mod storage;
pub mod table;
pub mod yaml;
