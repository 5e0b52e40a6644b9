//! Building a track up again from what was written of it; see [`image`](crate::engine::image).

use ringwatch_core::link::frame::{How, Origin};
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;

use super::Track;
use crate::engine::shape::Shape;

impl<S: Shape> Track<S> {
    /// The objects as they were when the history began come next.
    pub(in crate::engine) fn restore_begin(&mut self, origin: Origin) {
        self.start(origin, How::Snapshot);
    }

    /// They have come, and were so at this revision.
    pub(in crate::engine) fn restore_base(&mut self, floor: Revision) {
        self.end(floor);
    }

    pub(in crate::engine) fn restore_put(&mut self, key: &str, revision: Revision, json: &[u8]) {
        self.put_object(key, revision, json);
    }

    pub(in crate::engine) fn restore_delete(&mut self, key: &str) {
        self.delete_object(key, Revision::new(u64::MAX));
    }

    /// A group of changes is complete; `after` if it was the difference that a list made.
    pub(in crate::engine) fn restore_commit(
        &mut self,
        revision: Revision,
        after: Option<Revision>,
    ) {
        match after {
            Some(after) => {
                self.history.advance(after);
                self.commit_difference(revision);
            }
            None => self.commit_transaction(revision),
        }
    }

    pub(in crate::engine) fn restore_progress(
        &mut self,
        revision: Revision,
        in_step: Option<Instant>,
    ) {
        self.settled(revision);
        self.in_step = in_step;
    }
}
