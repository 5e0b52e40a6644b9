//! The server side of Ringwatch: where objects are stored, and the watch cache in front of it.
//!
//! ```text
//!   etcd ────► storage ──► cache (one per resource) ──► list, get, watch
//!   embedded ─┘
//! ```

pub mod backoff;
pub mod cache;
pub mod defaults;
pub mod discovery;
pub mod openapi;
pub mod resources;
pub mod schema;
pub mod storage;
pub mod validation;
