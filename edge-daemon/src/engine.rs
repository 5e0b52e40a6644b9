//! The relay as state machines: bytes and objects in, bytes out, `now` as an argument.
//!
//! - A [`Track`] is one resource and scope of the upstream: the objects, the last changes, and how far they are known. It is fed by the node
//!   link (it is a [`View`](ringwatch_core::link::node::View)) or with [JSON objects](Track::list_begin), and gives out what is complete only:
//!   a list or a difference from upstream becomes visible at its end, as a difference.
//! - A [`Relay`] is some tracks, a [`Policy`] and a table of nodes. It is the [`Source`](ringwatch_core::link::serve::Source) of every session with a node.
//!   Origin and revisions pass through unchanged, so a cursor from anywhere is valid here, and one from here anywhere.
//! - [`Uplink`] is the session with a server or another relay, [`Downlink`] that with a node. [`Resources`] is a relay with its links
//!   in one value, for firmware and simulations.
//! - [`image`] is what survives a crash: records that are appended, and read back.
//!
//! A [`Shape`] chooses the storage, and with it every bound.

mod backoff;
mod begun;
pub mod image;
mod kept;
mod nodes;
mod object;
mod policy;
mod relay;
mod resources;
mod shape;
mod source;
mod stored;
mod track;
mod uplink;

pub use backoff::Backoff;
pub use begun::Begun;
pub use kept::{Kept, KeptError};
pub use nodes::{KnownNode, Nodes};
pub use object::{Bytes, Object, ObjectError, Place as ObjectPlace};
pub use policy::{Everybody, Policy, Refusal};
pub use relay::Relay;
pub use resources::{Downlink, Resources};
#[cfg(feature = "linux")]
pub use shape::{Boxed, Heap};
pub use shape::{Fixed, Shape};
pub use source::{Filter, Watch};
pub use stored::Stored;
pub use track::{Rejected, Subject, Track};
pub use uplink::Uplink;
