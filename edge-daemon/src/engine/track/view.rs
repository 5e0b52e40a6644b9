//! A track as a view of the node link: fed by a server or another relay.

use ringwatch_core::digest::{Digest, bucket};
use ringwatch_core::informer::Check;
use ringwatch_core::link::frame::{How, Origin};
use ringwatch_core::link::node::{Bookmark, Cause, Position, View};
use ringwatch_core::object::Object as _;
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::time::Instant;

use super::Track;
use crate::engine::kept::LONGEST;
use crate::engine::shape::Shape;

impl<S: Shape> View for Track<S> {
    fn position(&self) -> Position<'_> {
        use core::borrow::Borrow;

        let Some(origin) = self.origin else {
            return Position::Nothing;
        };
        match self.mark.as_ref() {
            Some((key, revision)) if self.moving => Position::Within {
                origin,
                key: key.borrow(),
                revision: *revision,
            },
            _ if self.complete && (self.moving || self.doubtful) => Position::Doubtful { origin },
            _ if self.complete => Position::At {
                origin,
                revision: self.history.newest(),
                digest: self.missing.share().map(|share| self.digest.plus(share)),
            },
            _ => Position::Nothing,
        }
    }

    fn begin(&mut self, origin: Origin, how: How) {
        self.begun.by_upstream(how);
        self.start(origin, how);
    }

    fn put(&mut self, key: &str, revision: Revision, body: &[u8]) {
        let Some(kept) = &self.kept else {
            return self.put_object(key, revision, body);
        };
        let mut json = [0; LONGEST];
        match kept.object(body, &mut json) {
            Some(json) => self.put_object(key, revision, json),
            None => self.miss(key, revision, Cause::Unfit),
        }
    }

    fn delete(&mut self, key: &str, revision: Revision) {
        self.delete_object(key, revision);
    }

    fn keep(&mut self, key: &str) {
        self.list(key);
        self.missing.keep(key);
    }

    fn too_large(&mut self, key: &str, revision: Revision, _: u32) {
        self.miss(key, revision, Cause::Unfit);
    }

    fn mark(&mut self, key: &str, revision: Revision) {
        self.mark = match S::Key::try_from(key) {
            Ok(key) => Place::Taken((key, revision)),
            Err(_) => Place::Free,
        };
        self.missing.mark();
    }

    fn settle(&mut self, revision: Revision) {
        self.settled(revision);
    }

    fn bookmark(&mut self, bookmark: Bookmark, now: Instant) -> Check {
        self.skipped = self.skipped.saturating_add(bookmark.skipped);
        if bookmark.ends_snapshot {
            self.end(bookmark.revision);
        } else {
            if self.store.len() < self.store.capacity() {
                self.missing.make_room();
            }
            self.settled(bookmark.revision);
        }
        // Before the epoch of the clock there is nothing to be in step with.
        if let Some(in_step) = now.checked_sub(bookmark.age).filter(|_| !self.moving) {
            self.heard(in_step, now);
        }
        let share = self.missing.share();
        match bookmark.digest.zip(share).filter(|_| !self.moving) {
            None => Check::NotCompared,
            Some((theirs, share)) if theirs == self.digest.plus(share) => {
                self.doubtful = false;
                Check::Agrees
            }
            Some(_) => {
                self.doubtful = true;
                Check::Differs
            }
        }
    }

    fn digests(&self, buckets: &mut [Digest]) {
        buckets.fill(Digest::EMPTY);
        let count = u8::try_from(buckets.len()).unwrap_or(u8::MAX);
        for entry in self.store.iter() {
            let object = &entry.value.object;
            let key = object.key().as_str();
            if let Some(digest) = buckets.get_mut(bucket(key, count)) {
                digest.add(key, object.revision());
            }
        }
        self.missing.add_to(buckets);
    }
}
