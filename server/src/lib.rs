//! The server side of Ringwatch: where objects are stored, and the watch cache in front of it.
//!
//! ```text
//!   etcd ────► storage ──► cache (one per resource) ──► reader: list, get, watch
//!   embedded ─┘      └────────── cache off ───────────────┘
//! ```

pub mod backoff;
pub mod cache;
mod clock;
pub mod reader;
pub mod columns;
pub mod compress;
pub mod indent;
pub mod negotiate;
pub mod codec;
pub mod patch;
pub mod resources;
pub mod storage;
pub mod table;
pub mod yaml;
