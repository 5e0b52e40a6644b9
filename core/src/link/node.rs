//! The node's end of the link.
//!
//! ```text
//!   bytes ──► receive ──► packets ──► frames ──► View (a Mirror: informer ──► handler)
//!                                        │
//!   bytes ◄── poll_output ◄── Hello, Subscribe, Credit, Buckets, Pong
//! ```
//!
//! What the node wants is said once, as a list; the session subscribes, grants credit, compares digests, repairs and tries again by
//! itself. When it has [ended](Session::ended), another session with the same views goes on where they are.

mod handshake;
mod mirror;
mod missing;
mod receive;
mod send;
mod session;
mod state;
mod subscription;
mod told;
mod view;

pub use mirror::{Feed, Mirror, projected};
pub use missing::{Cause, Missing};
pub use session::{Session, Standing};
pub use told::{News, Told};
pub use view::{Bookmark, Position, View};

use core::time::Duration;

use super::frame::{Mode, Start, Subscribe};
use super::seal::PresharedKey;
use super::wire::Framing;
use crate::predicate::Scope;

/// Who the node is and how it talks.
#[derive(Debug, Clone, Copy)]
pub struct Config<'a> {
    /// What carries the bytes.
    pub framing: Framing,
    /// Its name, 1 to 63 bytes.
    pub name: &'a str,
    /// Its key.
    pub security: Security<'a>,
    /// How long the other end may be silent before it is taken for gone; zero for any time.
    pub silence: Duration,
    /// How long a handshake may take.
    pub patience: Duration,
}

/// Whether others may listen.
#[derive(Debug, Clone, Copy)]
pub enum Security<'a> {
    /// Both ends prove that they have this key, and nobody else can read or change anything.
    Sealed(&'a PresharedKey),
    /// No protection at all: for a loopback, or a serial line that nobody else can reach.
    PlainText,
}

impl<'a> Config<'a> {
    /// A node on a stream.
    pub const fn new(name: &'a str, security: Security<'a>) -> Self {
        Self {
            framing: Framing::Stream,
            name,
            security,
            silence: Duration::from_secs(60),
            patience: Duration::from_secs(10),
        }
    }
}

/// What a node wants to watch.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The resource, as in the API's paths.
    pub resource: &'a str,
    /// Which part of it.
    pub scope: Scope<&'a str>,
    /// What the labels must be; empty for anything.
    pub labels: &'a str,
    /// What the fields must be; empty for anything.
    pub fields: &'a str,
    /// Which fields to send; empty for whole objects.
    pub projection: &'a str,
    /// Which events to send.
    pub mode: Mode,
    /// How often to be told that all is well, and compare; at most 49 days.
    pub bookmark_every: Duration,
    /// How many bytes may be on their way; [`u32::MAX`] for any number.
    pub credit: u32,
}

impl<'a> Wanted<'a> {
    /// All of a resource, whole, every event, and a bookmark each half minute.
    pub const fn all(resource: &'a str) -> Self {
        Self {
            resource,
            scope: Scope::Resource,
            labels: "",
            fields: "",
            projection: "",
            mode: Mode::Every,
            bookmark_every: Duration::from_secs(30),
            credit: u32::MAX,
        }
    }

    fn subscribe(&self, sub: u8, round: u8, start: Start<'a>) -> Subscribe<'a> {
        Subscribe {
            sub,
            round,
            resource: self.resource,
            scope: self.scope,
            labels: self.labels,
            fields: self.fields,
            projection: self.projection,
            mode: self.mode,
            start,
            bookmark_every: u32::try_from(self.bookmark_every.as_millis()).unwrap_or(u32::MAX),
            credit: self.credit,
        }
    }
}
