//! A track fed with the JSON of a Kubernetes list and watch.

use core::error::Error;
use core::fmt;

use ringwatch_core::link::frame::{How, Origin};
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;
use ringwatch_core::transition::EventKind;

use super::Track;
use crate::engine::object::{ObjectError, Place};
use crate::engine::shape::Shape;

/// An object from upstream that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejected;

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an object with a name and a resourceVersion")
    }
}

impl Error for Rejected {}

impl From<ObjectError> for Rejected {
    fn from(_: ObjectError) -> Self {
        Self
    }
}

impl<S: Shape> Track<S> {
    /// A list begins. Objects may come in any order; what does not come by its end is gone.
    pub fn list_begin(&mut self, origin: Origin) {
        self.start(origin, How::Snapshot);
    }

    /// An object of the list.
    pub fn list_item(&mut self, json: &[u8]) -> Result<(), Rejected> {
        let Place { key, revision } = Place::of(json)?;
        self.put_object(&key, revision, json);
        Ok(())
    }

    /// The list is complete, as of this revision. Readers get the difference.
    pub fn list_end(&mut self, revision: Revision, now: Instant) {
        self.end(revision);
        self.heard(now, now);
    }

    /// Whether a list is coming in.
    pub const fn is_listing(&self) -> bool {
        self.moving
    }

    /// Something happened to an object; its revision.
    pub fn event(
        &mut self,
        kind: EventKind,
        json: &[u8],
        now: Instant,
    ) -> Result<Revision, Rejected> {
        let Place { key, revision } = Place::of(json)?;
        match kind {
            EventKind::Added | EventKind::Modified => self.put_object(&key, revision, json),
            EventKind::Deleted => self.delete_object(&key, revision),
        }
        self.settled(revision);
        self.heard(now, now);
        Ok(revision)
    }

    /// Nothing else has happened up to this revision.
    pub fn progress(&mut self, revision: Revision, now: Instant) {
        self.settled(revision);
        self.heard(now, now);
    }
}
