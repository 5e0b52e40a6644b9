//! A view that says how its subscription began.

use ringwatch_core::digest::Digest;
use ringwatch_core::informer::Check;
use ringwatch_core::link::frame::{How, Origin};
use ringwatch_core::link::node::{Bookmark, Position, View};
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;

/// Passes everything on, and prints how it began and what could not be had.
pub(crate) struct Watched<V>(pub(crate) V);

impl<V: View> View for Watched<V> {
    fn position(&self) -> Position<'_> {
        self.0.position()
    }

    fn begin(&mut self, origin: Origin, how: How) {
        log::info!(
            "watch begins: {}",
            match how {
                How::Snapshot => "snapshot",
                How::Continued => "continued",
                How::Resumed => "resumed",
                How::Difference { .. } => "difference",
            }
        );
        self.0.begin(origin, how);
    }

    fn put(&mut self, key: &str, revision: Revision, body: &[u8]) {
        self.0.put(key, revision, body);
    }

    fn delete(&mut self, key: &str, revision: Revision) {
        self.0.delete(key, revision);
    }

    fn keep(&mut self, key: &str) {
        self.0.keep(key);
    }

    fn too_large(&mut self, key: &str, revision: Revision, size: u32) {
        log::warn!("too large: {key}, {size} B");
        self.0.too_large(key, revision, size);
    }

    fn mark(&mut self, key: &str, revision: Revision) {
        self.0.mark(key, revision);
    }

    fn settle(&mut self, revision: Revision) {
        self.0.settle(revision);
    }

    fn bookmark(&mut self, bookmark: Bookmark, now: Instant) -> Check {
        let check = self.0.bookmark(bookmark, now);
        if check == Check::Differs {
            log::warn!("the digest differs at {}", bookmark.revision);
        }
        check
    }

    fn digests(&self, buckets: &mut [Digest]) {
        self.0.digests(buckets);
    }
}
