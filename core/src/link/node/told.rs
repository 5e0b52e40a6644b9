//! A view whose owner hears how its subscription goes.

use super::view::{Bookmark, Position, View};
use crate::digest::Digest;
use crate::informer::Check;
use crate::link::frame::{How, Origin};
use crate::revision::Revision;
use crate::time::Instant;

/// What becomes of a subscription, beside the objects that its handler gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News<'a> {
    /// It begins, and so.
    Begins(How),
    /// An object is there, but is too large to be sent.
    TooLarge {
        /// Its key.
        key: &'a str,
        /// How many bytes it has.
        size: u32,
    },
    /// A bookmark has come, and the view is not as it says. The session repairs that.
    Differs {
        /// The bookmark's revision.
        at: Revision,
    },
}

/// A view that passes everything on to another, and [what is new](News) to a function: for logs and counters.
#[derive(Debug)]
pub struct Told<V, F> {
    view: V,
    tell: F,
}

impl<V: View, F: FnMut(News<'_>)> Told<V, F> {
    /// Tells what becomes of the subscription of `view`.
    pub const fn new(view: V, tell: F) -> Self {
        Self { view, tell }
    }
}

impl<V: View, F: FnMut(News<'_>)> View for Told<V, F> {
    fn position(&self) -> Position<'_> {
        self.view.position()
    }

    fn begin(&mut self, origin: Origin, how: How) {
        (self.tell)(News::Begins(how));
        self.view.begin(origin, how);
    }

    fn put(&mut self, key: &str, revision: Revision, body: &[u8]) {
        self.view.put(key, revision, body);
    }

    fn delete(&mut self, key: &str, revision: Revision) {
        self.view.delete(key, revision);
    }

    fn keep(&mut self, key: &str) {
        self.view.keep(key);
    }

    fn too_large(&mut self, key: &str, revision: Revision, size: u32) {
        (self.tell)(News::TooLarge { key, size });
        self.view.too_large(key, revision, size);
    }

    fn mark(&mut self, key: &str, revision: Revision) {
        self.view.mark(key, revision);
    }

    fn settle(&mut self, revision: Revision) {
        self.view.settle(revision);
    }

    fn bookmark(&mut self, bookmark: Bookmark, now: Instant) -> Check {
        let check = self.view.bookmark(bookmark, now);
        if check == Check::Differs {
            (self.tell)(News::Differs {
                at: bookmark.revision,
            });
        }
        check
    }

    fn digests(&self, buckets: &mut [Digest]) {
        self.view.digests(buckets);
    }
}
