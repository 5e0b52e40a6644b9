//! The server side of Ringwatch: where objects are stored, the watch cache in front of it, and what kinds of objects there are.
//!
//! ```text
//!   etcd ────► storage ──► cache (one per resource) ──► reader: list, get, watch
//!   embedded ─┘      └────────── cache off ───────────────┘
//!   etcd ────► storage ──► cache (one per resource) ──► list, get, watch
//!   embedded ─┘
//!   resources ──► discovery, openapi
//!   bytes ──► schema ──► defaults ──► validation ──► an object that may be stored
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
pub mod defaults;
pub mod discovery;
pub mod openapi;
pub mod resources;
pub mod schema;
pub mod storage;
pub mod subresources;
pub mod validation;
