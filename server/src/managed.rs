//! Who owns which field of an object: `metadata.managedFields`, and server-side apply.
//!
//! Whoever writes an object is a manager, and owns the fields that it changed. Whoever applies says what it wants a few fields to
//! be, and owns those: another owner's different value is a conflict, and what it no longer applies goes, unless somebody else owns it.
//!
//! ```text
//!   create, update, patch:   old, new ──► compare ──► record: what changed is the writer's, and no one else's
//!
//!   apply:   what is wanted ──► claim (fields) ─┐
//!            what is there ──► merge ──► prune ─┴─► compare ──► conflicts, or the object with its owners
//! ```
//!
//! All of it is a function of values: no I/O, the moment is an argument. What a field is (one value, a list with keys, …) is asked of a
//! [`Node`], for built-in and for custom kinds alike. A set of fields is the JSON of `fieldsV1` itself ([`FieldSet`]), so owners
//! whom a write does not concern cost next to nothing.
//!
//! The rules are those of Kubernetes' field manager. Where it is known to be wrong, they are better: an entry has its time even if
//! its first apply changed nothing.

pub mod apply;
pub mod compare;
pub mod node;
pub mod record;
pub mod set;

mod claim;
mod element;
mod entry;
mod last_applied;
mod list;
mod merge;
mod prune;

pub use apply::{Conflict, Conflicts, Merged, NotTyped, merge};
pub use claim::claim;
pub use compare::{Difference, compare};
pub use entry::{Entries, Entry, NoEntries, Operation};
pub use node::Node;
pub use record::record;
pub use set::{FieldSet, NoFieldSet};

/// Who writes, and when.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// The manager's name.
    pub manager: &'a str,
    /// The version of the object that is written, as in `apiVersion`.
    pub api_version: &'a str,
    /// Below which path of the object; empty for its own.
    pub subresource: &'a str,
    /// The moment, as Kubernetes writes it.
    pub now: &'a str,
}
