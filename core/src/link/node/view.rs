//! What the node's end of a subscription is read into.

use core::time::Duration;

use crate::digest::Digest;
use crate::informer::Check;
use crate::link::frame::{How, Origin};
use crate::revision::Revision;
use crate::time::Instant;

/// A local copy of what a subscription selects. [`Mirror`](super::Mirror) is one over an informer; a relay has its own.
///
/// The session calls it in the order of the protocol, and asks for its [position](View::position) whenever it subscribes: so a view
/// outlives sessions, and whatever it remembers is gone on from.
pub trait View {
    /// What it has, for the next subscription.
    fn position(&self) -> Position<'_>;

    /// A subscription begins. If the origin is another than before, revisions cannot be compared with those before. After [`How::Snapshot`] and [`How::Difference`], what is not named by the end is gone.
    fn begin(&mut self, origin: Origin, how: How);

    /// An object is like this now.
    fn put(&mut self, key: &str, revision: Revision, body: &[u8]);

    /// An object is gone.
    fn delete(&mut self, key: &str, revision: Revision);

    /// An object stays as it is.
    fn keep(&mut self, key: &str);

    /// An object is there, but is too large to be sent: `size` bytes.
    fn too_large(&mut self, key: &str, revision: Revision, size: u32);

    /// In a snapshot: everything up to this key is exact at this revision.
    fn mark(&mut self, key: &str, revision: Revision);

    /// Everything up to this revision has come.
    fn settle(&mut self, revision: Revision);

    /// A bookmark has come; whether the view is as it says.
    fn bookmark(&mut self, bookmark: Bookmark, now: Instant) -> Check;

    /// The digests of what it has, in [buckets](crate::digest::bucket).
    fn digests(&self, buckets: &mut [Digest]);
}

/// A bookmark as a view sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bookmark {
    /// Everything up to here has come.
    pub revision: Revision,
    /// Of all that should be there, if it is known.
    pub digest: Option<Digest>,
    /// How old the sender's knowledge is.
    pub age: Duration,
    /// How many states were left out since the last one.
    pub skipped: u32,
    /// Whether a snapshot or difference is complete.
    pub ends_snapshot: bool,
}

/// What a view has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position<'v> {
    /// Nothing that is worth going on from.
    Nothing,
    /// A part of a snapshot.
    Within {
        /// Whose.
        origin: Origin,
        /// Up to this key it is exact.
        key: &'v str,
        /// At this revision.
        revision: Revision,
    },
    /// Everything at a revision.
    At {
        /// Whose.
        origin: Origin,
        /// Which.
        revision: Revision,
        /// Of what it has; none if it knows that something is missing.
        digest: Option<Digest>,
    },
    /// Something, but it is not sure of what.
    Doubtful {
        /// Whose.
        origin: Origin,
    },
}
