//! What comes from upstream, however it comes.

use core::borrow::Borrow;

use ringwatch_core::digest::Digest;
use ringwatch_core::link::frame::{How, Origin};
use ringwatch_core::link::node::Cause;
use ringwatch_core::object::{Change, Object as _};
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::time::Instant;

use super::Track;
use crate::engine::object::{Object, ObjectError};
use crate::engine::shape::Shape;
use crate::engine::stored::Stored;

impl<S: Shape> Track<S> {
    /// A list or a difference begins, or goes on, or events do.
    pub(super) fn start(&mut self, origin: Origin, how: How) {
        if self.origin != Some(origin) {
            // Revisions of the old one mean nothing to the new one.
            self.forget();
            self.origin = Some(origin);
        }
        match how {
            How::Snapshot => {
                self.mark = Place::Free;
                self.missing.clear();
            }
            How::Difference { .. } => {
                self.mark = Place::Free;
                self.missing.begin_difference(how);
            }
            How::Continued => self.missing.continue_snapshot(),
            How::Resumed => {}
        }
        self.moving = how != How::Resumed;
        for stored in self.store.values_mut() {
            let key = stored.object.key().as_str();
            let listed = match (how, self.mark.as_ref()) {
                (How::Continued, Some((mark, _))) => stored.listed && key <= mark.borrow(),
                _ => !how.names(key),
            };
            stored.listed = listed;
        }
    }

    /// Begins with nothing again, for another origin.
    pub(super) fn forget(&mut self) {
        self.store.clear();
        self.history.reset(Revision::ZERO);
        self.pending.clear();
        self.missing.clear();
        self.epoch = self.epoch.wrapping_add(1);
        self.complete = false;
        self.moving = false;
        self.doubtful = false;
        self.mark = Place::Free;
        self.stored = Digest::EMPTY;
        self.digest = Digest::EMPTY;
    }

    /// An object is like this now.
    pub(super) fn put_object(&mut self, key: &str, revision: Revision, json: &[u8]) {
        let held = self.find(key).map(Object::revision_of);
        if held == Some(revision) {
            self.list(key);
            return;
        }
        // Outside of a list what is older is a repetition.
        if !self.moving && held.is_some_and(|held| revision < held) {
            return;
        }
        if self.longest.is_some_and(|longest| json.len() > longest) {
            return self.miss(key, revision, Cause::Unfit);
        }
        let object = self.build(key, revision, json);
        let keyed = object.map(|object| (S::key(&object), object));
        match keyed {
            Ok((Some(owned), object)) => self.insert(owned, revision, object),
            Err(ObjectError::NoRoom) => self.miss(key, revision, Cause::Full),
            _ => self.miss(key, revision, Cause::Unfit),
        }
    }

    /// Makes an object. If there is no room for it, the oldest changes give way: what there is comes before what there was.
    fn build(
        &mut self,
        key: &str,
        revision: Revision,
        json: &[u8],
    ) -> Result<Object<S::Bytes>, ObjectError> {
        loop {
            match Object::new(key, revision, json) {
                Err(ObjectError::NoRoom) if self.history.forget_oldest() => {}
                built => return built,
            }
        }
    }

    fn insert(&mut self, key: S::Key, revision: Revision, object: Object<S::Bytes>) {
        let full = self.store.len() >= self.store.capacity();
        if full && self.moving && self.store.find(key.borrow()).is_none() {
            // What the list will not name has to go anyway.
            if let Some(unlisted) = self.unlisted(None) {
                self.remove(unlisted.borrow(), revision);
            }
        }
        let stored = Stored::new(object.clone(), self.pending.group());
        match self.store.put(key, revision, stored) {
            Ok(put) => {
                let previous = put.previous.map(|entry| entry.value);
                let key = object.key().as_str();
                if let Some(previous) = &previous {
                    self.stored.remove(key, previous.object.revision());
                }
                self.stored.add(key, revision);
                self.missing.remove(key);
                if self.complete {
                    self.pending.record(previous, Some(object), revision);
                }
            }
            Err(full) => self.miss(full.0.key.borrow(), revision, Cause::Full),
        }
    }

    /// An object is gone.
    pub(super) fn delete_object(&mut self, key: &str, revision: Revision) {
        let held = self.find(key).map(Object::revision_of);
        if self.moving || held.is_none_or(|held| held <= revision) {
            self.remove(key, revision);
            self.missing.remove(key);
        }
    }

    /// The list names an object without showing it.
    pub(super) fn list(&mut self, key: &str) {
        if let Some(stored) = self.store.find(key).and_then(|id| self.store.value_mut(id)) {
            stored.listed = true;
        }
    }

    /// An object exists that cannot be here. Better none than one that is no longer so.
    pub(super) fn miss(&mut self, key: &str, revision: Revision, cause: Cause) {
        self.remove(key, revision);
        self.missing.insert(key, revision, cause);
        if let Some((mark, _)) = self.mark.as_ref()
            && key <= mark.borrow()
        {
            self.missing.mark_one(key);
        }
    }

    fn remove(&mut self, key: &str, revision: Revision) {
        let Some(entry) = self.store.remove(key) else {
            return;
        };
        self.stored.remove(key, entry.value.object.revision());
        if self.complete {
            self.pending.record(Some(entry.value), None, revision);
        }
    }

    /// Everything up to this revision has come.
    pub(super) fn settled(&mut self, revision: Revision) {
        if self.moving {
            if let Some((_, exact)) = self.mark.as_mut() {
                *exact = (*exact).max(revision);
            }
            return;
        }
        if !self.complete {
            return;
        }
        if self.pending.is_empty() {
            self.history.advance(revision);
            self.publish();
        } else if self.pending.are_all_of(revision) {
            self.commit_transaction(revision);
        } else {
            self.commit_difference(revision);
        }
    }

    /// What is pending is all that happened at a revision.
    pub(super) fn commit_transaction(&mut self, revision: Revision) {
        let newest = self.history.newest();
        if self.pending.is_overflowed() || revision <= newest {
            self.begin_anew(revision.max(newest));
        } else {
            // It is newer, so it is taken.
            let _ = self.history.push_all(revision, self.pending.drain());
        }
        self.publish();
    }

    /// What is pending is the difference between what there was and what there is at a revision. Readers stay, and get it.
    pub(super) fn commit_difference(&mut self, revision: Revision) {
        let newest = self.history.newest();
        if self.pending.is_overflowed() || revision <= newest {
            self.begin_anew(revision.max(newest));
        } else {
            self.pending.sort();
            // It is newer, so it is taken.
            let _ = self.history.bridge(revision, self.pending.drain());
        }
        self.publish();
    }

    /// A list or difference is complete.
    pub(super) fn end(&mut self, revision: Revision) {
        let mut after = None;
        while let Some(key) = self.unlisted(after.as_ref()) {
            self.remove(key.borrow(), revision);
            after = Some(key);
        }
        self.missing.end();
        self.moving = false;
        self.mark = Place::Free;
        self.doubtful = false;
        let newest = self.history.newest();
        if !self.complete || revision < newest {
            // A sender that is behind: its state is what there is now.
            self.begin_anew(revision);
            self.complete = true;
            self.publish();
        } else if revision > newest || !self.pending.is_empty() {
            self.commit_difference(revision);
        }
    }

    /// The upstream is cut off: what it had not completed is undone, so that what there was can be read in the meantime. What comes
    /// first of all is kept, to go on from where it was.
    pub fn interrupt(&mut self) {
        if !self.complete || self.pending.is_overflowed() {
            return;
        }
        for change in self
            .pending
            .iter()
            .filter(|change| change.previous().is_none())
        {
            self.store.remove(change.subject().key().as_str());
        }
        for previous in self.pending.iter().filter_map(Change::previous) {
            if let Some(key) = S::key(previous) {
                // There is room: it was there before.
                let stored = Stored::new(previous.clone(), 0);
                let _ = self.store.put(key, previous.revision(), stored);
            }
        }
        self.pending.clear();
        self.stored = self.digest;
        self.moving = false;
        self.mark = Place::Free;
    }

    /// Readers cannot be told what changed; they have to compare.
    fn begin_anew(&mut self, revision: Revision) {
        self.pending.clear();
        self.history.reset(revision);
    }

    /// Readers may have what there is.
    fn publish(&mut self) {
        self.store.set_revision(self.history.newest());
        self.digest = self.stored;
    }

    /// The upstream was in step at this moment. What was restored from before the clock was set back says nothing any more.
    pub(super) fn heard(&mut self, in_step: Instant, now: Instant) {
        let before = self.in_step.filter(|before| *before <= now);
        self.in_step = Some(before.map_or(in_step, |before| before.max(in_step)));
    }
}
