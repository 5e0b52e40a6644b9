//! The server side of Ringwatch: where objects are stored, the watch cache in front of it, and what kinds of objects there are.
//!
//! ```text
//!   etcd ────► storage ──► cache (one per resource) ──► reader: list, get, watch
//!   embedded ─┘      └────────── cache off ───────────────┘
//!   resources ──► discovery, openapi
//!   bytes ──► schema ──► defaults ──► validation ──► an object that may be stored
//!     custom ──► structural: prune, fill, validate ──┘
//!   config ──► process ──► serve (tls, auth) ──► answers (body)
//! ```

pub mod api;
pub mod auth;
pub mod backoff;
pub mod body;
pub mod cache;
mod clock;
pub mod codec;
pub mod columns;
pub mod compress;
pub mod config;
pub mod defaults;
pub mod definitions;
pub mod discovery;
pub mod files;
pub mod health;
mod histogram;
pub mod indent;
pub mod link;
pub mod managed;
pub mod negotiate;
pub mod objects;
pub mod openapi;
pub mod patch;
pub mod process;
pub mod reader;
pub mod resources;
pub mod schema;
pub mod serve;
pub mod shape;
pub mod status;
pub mod storage;
pub mod structural;
pub mod subresources;
pub mod table;
pub mod then;
pub mod tls;
pub mod validation;
pub mod version;
pub mod yaml;
