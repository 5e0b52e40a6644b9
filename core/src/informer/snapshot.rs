//! Taking in a whole state, piece by piece.

use core::borrow::Borrow;
use core::time::Duration;

use super::{Check, Contact, Handler, Held, Informer, TermIndex};
use crate::digest::Digest;
use crate::revision::Revision;
use crate::slots::{Place, Slots};
use crate::store::{Slot, SlotId};
use crate::time::Instant;

impl<K, T, S, X> Informer<K, T, S, X>
where
    K: Ord + Borrow<str> + for<'a> TryFrom<&'a str>,
    S: Slots<Slot<K, Held<T>>>,
    X: TermIndex<T>,
{
    /// A snapshot begins: what it does not name is deleted at its end.
    ///
    /// Until then the old objects stay in view. A snapshot that is cut off can simply be begun again.
    pub fn begin_snapshot(&mut self) {
        self.begin_difference(|_| false);
    }

    /// A snapshot begins that does not name the objects whose keys `stay`; they remain as they are.
    pub fn begin_difference(&mut self, stays: impl Fn(&str) -> bool) {
        self.in_snapshot = true;
        self.revision = Revision::ZERO;
        self.newest = Revision::ZERO;
        self.list(|key, _| stays(key));
    }

    /// A snapshot that was cut off goes on after `key`: what came after that is to be named again.
    pub fn continue_snapshot(&mut self, key: &str) {
        self.list(|held, listed| listed && held <= key);
    }

    /// What is held came from another origin, which counted differently: before a snapshot of a new one, so that objects which happen to
    /// have the same revision are not taken for the same.
    pub fn forget_revisions(&mut self) {
        for rank in 0..self.store.len() {
            if let Some(id) = self.store.id_at(rank)
                && let Some(entry) = self.store.entry_mut(id)
                && entry.value.is_present()
            {
                self.digest.remove(entry.key.borrow(), entry.revision);
                entry.revision = Revision::ZERO;
                self.digest.add(entry.key.borrow(), entry.revision);
            }
        }
    }

    /// The snapshot names an object without showing it: it stays as it is.
    pub fn keep(&mut self, key: &str) {
        if let Some(held) = self.store.find(key).and_then(|id| self.store.value_mut(id)) {
            held.listed = true;
        }
    }

    /// Decides anew what counts as named.
    fn list(&mut self, listed: impl Fn(&str, bool) -> bool) {
        for rank in 0..self.store.len() {
            if let Some(id) = self.store.id_at(rank)
                && let Some(entry) = self.store.entry_mut(id)
            {
                entry.value.listed = listed(entry.key.borrow(), entry.value.listed);
            }
        }
    }

    /// The snapshot is complete: the view is the sender's state at `revision`.
    ///
    /// Without a snapshot having begun this is a [bookmark](Informer::bookmark).
    pub fn end_snapshot(
        &mut self,
        revision: Revision,
        digest: Option<Digest>,
        age: Duration,
        now: Instant,
        handler: &mut impl Handler<T>,
    ) -> Check {
        if self.in_snapshot {
            self.flush(handler);
            // Ranks shift when an entry goes, so each round looks again from where it was.
            let mut rank = 0;
            while let Some(id) = self.store.id_at(rank) {
                let before = self.store.len();
                if self.is_unlisted(id) {
                    self.withdraw(id, handler);
                }
                rank += usize::from(self.store.len() == before);
            }
            self.in_snapshot = false;
            self.differs = false;
            self.synced = true;
        }
        self.advance(revision);
        self.contact = Place::Taken(Contact { at: now, age });
        let check = self.compare(digest);
        self.synced &= check != Check::Differs;
        check
    }

    /// Withdraws an object that the snapshot has not named so far, to make room for one that it did.
    ///
    /// Snapshots come in key order, so the first such object is most likely gone for good. If the
    /// snapshot names it later after all, the handler sees it deleted and added again.
    pub(super) fn make_room(&mut self, handler: &mut impl Handler<T>) {
        let mut ids = (0..self.store.len()).filter_map(|rank| self.store.id_at(rank));
        if let Some(id) = ids.find(|id| self.is_unlisted(*id)) {
            self.withdraw(id, handler);
        }
    }

    fn is_unlisted(&self, id: SlotId) -> bool {
        let held = self.store.entry(id).map(|entry| &entry.value);
        held.is_some_and(|held| !held.listed && held.is_present())
    }
}
