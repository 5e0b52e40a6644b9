//! What the serving end reads from: whoever has objects and their history.
//!
//! The server's cache and the relay's store implement [`Source`]; [`Local`](super::Local) does it for the core's store and history.

use core::time::Duration;

use super::super::frame::{Code, Origin, Restart};
use super::super::hello::MAX_NAME;
use super::super::seal::PresharedKey;
use crate::digest::Digest;
use crate::object::Object;
use crate::predicate::Scope;
use crate::projection::{Field, ProjectError, Projection};
use crate::revision::Revision;
use crate::selector::{FieldSelector, LabelSelector};
use crate::time::Instant;
use crate::transition::EventKind;

/// A node's name, wherever it comes from.
pub type Name = heapless::String<MAX_NAME, u8>;

/// Whom to let in, and what becomes of those who did.
pub trait Access {
    /// What a session keeps of its node's name: the name itself, or where it is.
    type Name: AsRef<str> + Clone;

    /// The name of a node, to be kept. `None` for one that cannot be let in.
    fn name(&self, node: &str) -> Option<Self::Name>;

    /// What a node with this name must bring; `sealed` is how it wants to talk.
    fn admit(&self, node: &str, sealed: bool) -> Admission;

    /// A node that is here tells of a restart, its own or that of one behind it. Whether it is taken note of: if not, it is told again. The same may be told
    /// more than once; [`Restarts`](super::Restarts) knows.
    fn restarted(&self, node: &str, restart: &Restart<'_>) -> bool {
        let _ = (node, restart);
        true
    }
}

impl<F: Fn(&str, bool) -> Admission> Access for F {
    type Name = Name;

    fn name(&self, node: &str) -> Option<Name> {
        node.try_into().ok()
    }

    fn admit(&self, node: &str, sealed: bool) -> Admission {
        self(node, sealed)
    }
}

/// Whether and how a node comes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// With this key.
    Sealed(PresharedKey),
    /// As anybody who can reach the line. Only where nobody else can.
    Plain,
    /// Not at all.
    Refused,
}

/// An object that can be sent.
pub trait Content: Object {
    /// The object as JSON.
    fn json(&self) -> &[u8];
}

impl<C: Content + ?Sized> Content for &C {
    fn json(&self) -> &[u8] {
        (**self).json()
    }
}

/// What a node wants to watch, parsed.
#[derive(Debug)]
pub struct Request<'a> {
    /// The resource.
    pub resource: &'a str,
    /// Which part of it.
    pub scope: Scope<&'a str>,
    /// What the labels must be.
    pub labels: LabelSelector<&'a str>,
    /// What the fields must be.
    pub fields: FieldSelector<&'a str>,
    /// Which fields it wants of each object; none for whole objects.
    pub projection: Option<Projection<&'a str, &'a [Field]>>,
}

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin<'a> {
    /// With the objects that there are.
    State,
    /// With the objects after a key, and the changes since a revision of those up to it.
    Within {
        /// The last object that the reader has.
        key: &'a str,
        /// As of when.
        revision: Revision,
    },
    /// With the changes after a revision.
    After(Revision),
    /// With the changes from now on.
    Now,
}

/// Why a watch cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenError {
    /// The changes are no longer known. A watch from now on would begin.
    Expired,
    /// Something else, which the node is told.
    Failed(Code),
}

/// What a watch has for its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<O> {
    /// An object: something happened to it, or it is one of those that there were.
    Event(Change<O>),
    /// The objects that there were have all been given; the reader has everything at this revision.
    Synced(Revision),
    /// Nothing until something happens.
    Idle,
    /// Changes were lost to this reader.
    Expired,
    /// The watch is over, for a reason that the node is told.
    Ended(Code),
}

/// An event as a source gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<O> {
    /// What happened.
    pub kind: EventKind,
    /// The object now; for a deletion, as it was.
    pub object: O,
    /// The revision to show.
    pub revision: Revision,
    /// Whether the reader has everything up to this revision now, and nothing else. If in doubt, no.
    pub settles: bool,
    /// While the objects that there were are shown: at which revision those up to this one are exact.
    pub exact_at: Option<Revision>,
}

/// Objects and their history, for reading. A watch is a plain value that holds nothing back.
///
/// One call sees one state: a source behind a lock takes it for each call, or for several.
pub trait Source {
    /// An object while it is looked at.
    type Object<'a>: Content
    where
        Self: 'a;
    /// An object that is being sent.
    type Held: Content;
    /// A reader's selection and place.
    type Watch;

    /// Who counts the revisions of a resource, or why this node gets nothing of it.
    fn origin(&self, node: &str, resource: &str) -> Result<Origin, Code>;

    /// Begins a watch for a node, if it may have that.
    fn open(
        &self,
        node: &str,
        request: &Request<'_>,
        begin: Begin<'_>,
        now: Instant,
    ) -> Result<Self::Watch, OpenError>;

    /// The next item.
    fn poll(&self, watch: &mut Self::Watch, now: Instant) -> Step<Self::Object<'_>>;

    /// The next object of the selection as it is now, in key order. Apart from [`poll`](Self::poll), which it does not affect.
    fn walk(&self, watch: &mut Self::Watch) -> Option<Self::Object<'_>>;

    /// Passes over all that has happened, and begins [`walk`](Self::walk) anew; the revision after which the watch goes on.
    fn catch_up(&self, watch: &mut Self::Watch) -> Revision;

    /// The newest revision known.
    fn newest(&self, watch: &Self::Watch) -> Revision;

    /// The digest of the selection as it is now, in [buckets](crate::digest::bucket); its revision.
    fn digests(&self, watch: &Self::Watch, buckets: &mut [Digest]) -> Revision;

    /// The digest of the selection as it was at a revision, if that is still known.
    fn digest_at(&self, watch: &Self::Watch, revision: Revision) -> Option<Digest>;

    /// Packs the fields that the watch asks for of an object into the front of `out`; how many bytes. `None` if it asks for whole objects.
    fn project(
        &self,
        watch: &Self::Watch,
        json: &[u8],
        out: &mut [u8],
    ) -> Option<Result<usize, ProjectError>>;

    /// Whether something has happened since to an object that [`poll`](Self::poll) gave.
    fn is_superseded(&self, watch: &Self::Watch, object: &Self::Object<'_>) -> bool;

    /// How old the source's knowledge is: nothing for an origin, the time since it was in step for a relay.
    fn age(&self, watch: &Self::Watch, now: Instant) -> Duration;

    /// Keeps an object until it has been sent.
    fn hold(&self, object: Self::Object<'_>) -> Self::Held;
}
