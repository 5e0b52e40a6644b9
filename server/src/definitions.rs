//! Kinds that come while the server runs: what their definitions say, and what becomes of a definition.
//!
//! ```text
//!   stored definition ──► Definition ──┬─► Kind ──► rows of the catalog (one per served version)
//!                                      └─► stage ──► what its status says next
//! ```
//!
//! Everything here is a function of stored definitions, so all replicas come to the same result whoever is asked.
//! [`objects::definitions`](crate::objects::definitions) follows the definitions and does what is decided here.
//!
//! ```text
//!             names are free               servers have begun to serve it
//!   New ──────────────────────► Accepted ───────────────────────────► Established
//!    │ ▲                                                                   │
//!    ▼ │ names become free                    deleted (from any stage)     ▼
//!   Refused                                                           Terminating ──► gone, when it has no instances
//! ```

mod definition;
mod kind;
mod names;
mod status;

pub use definition::{Definition, Stage, Unreadable};
pub use kind::{Custom, Kind, Version};
pub use names::{Names, Taken};
pub(crate) use status::{APPROVED, is_community_group};
pub use status::{next, terminating};

/// The finalizer that holds a definition until its instances are gone.
pub const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The group, version and plural of definitions.
pub const RESOURCE: [&str; 3] = ["apiextensions.k8s.io", "v1", "customresourcedefinitions"];

/// The key of a definition in storage.
pub fn key(name: &str) -> String {
    let [group, _, plural] = RESOURCE;
    format!("/{group}/{plural}/{name}")
}
