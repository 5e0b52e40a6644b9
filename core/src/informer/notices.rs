//! Telling the handler now, or remembering what to tell it later.

use core::borrow::Borrow;
use core::mem;

use super::{Handler, Held, Informer, TermIndex};
use crate::revision::Revision;
use crate::slots::Slots;
use crate::store::{Slot, SlotId};

/// What the handler has yet to be told about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    /// Nothing.
    None,
    /// It does not know the object.
    Added,
    /// It knows an older value.
    Updated,
    /// It thinks that the object is still there.
    Deleted,
}

impl<T> Held<T> {
    /// Whether the object is part of the view, and not only waiting for its deletion to be told.
    pub(super) fn is_present(&self) -> bool {
        self.notice != Notice::Deleted
    }
}

impl<K, T, S, X> Informer<K, T, S, X>
where
    K: Ord + Borrow<str> + for<'a> TryFrom<&'a str>,
    S: Slots<Slot<K, Held<T>>>,
    X: TermIndex<T>,
{
    /// Tells the handler what was held back, for as long as it is ready. Returns how much is left.
    pub fn flush(&mut self, handler: &mut impl Handler<T>) -> usize {
        while self.waiting > 0 && handler.is_ready() {
            let Some(id) = self.next_waiting() else { break };
            self.turn = Some(id);
            self.tell(id, handler);
        }
        self.waiting
    }

    /// Replaces the value in a place and tells of it, now or later.
    pub(super) fn overwrite(
        &mut self,
        id: SlotId,
        revision: Revision,
        value: T,
        handler: &mut impl Handler<T>,
    ) {
        let ready = handler.is_ready();
        let Some(entry) = self.store.entry_mut(id) else {
            return;
        };
        entry.revision = revision;
        let held = &mut entry.value;
        held.listed = true;
        let old = mem::replace(&mut held.value, value);
        match held.notice {
            Notice::None if ready => {
                handler.on_update(entry.key.borrow(), Some(&old), &held.value);
            }
            Notice::None => {
                held.notice = Notice::Updated;
                self.waiting += 1;
            }
            Notice::Added | Notice::Updated => {}
            // Deleted and made anew before the handler heard of it.
            Notice::Deleted => {
                held.notice = Notice::Updated;
                self.tombstones -= 1;
            }
        }
    }

    /// Takes an object out of the view and tells of it, now or later.
    pub(super) fn withdraw(&mut self, id: SlotId, handler: &mut impl Handler<T>) {
        let ready = handler.is_ready();
        let Some(entry) = self.store.entry_mut(id) else {
            return;
        };
        if !entry.value.is_present() {
            return;
        }
        self.digest.remove(entry.key.borrow(), entry.revision);
        // Taking out cannot fail for want of room.
        let _ = self.index.change(id, Some(&entry.value.value), None);
        match entry.value.notice {
            // The handler never heard of it, so there is nothing to tell.
            Notice::Added => {
                self.waiting -= 1;
                self.store.remove_id(id);
            }
            Notice::None if ready => {
                if let Some(entry) = self.store.remove_id(id) {
                    handler.on_delete(entry.key.borrow(), &entry.value.value);
                }
            }
            before => {
                entry.value.notice = Notice::Deleted;
                self.tombstones += 1;
                self.waiting += usize::from(before == Notice::None);
            }
        }
    }

    fn tell(&mut self, id: SlotId, handler: &mut impl Handler<T>) {
        let Some(entry) = self.store.entry_mut(id) else {
            return;
        };
        self.waiting -= 1;
        let key = entry.key.borrow();
        let held = &mut entry.value;
        match mem::replace(&mut held.notice, Notice::None) {
            Notice::None => {}
            Notice::Added => handler.on_add(key, &held.value),
            Notice::Updated => handler.on_update(key, None, &held.value),
            Notice::Deleted => {
                handler.on_delete(key, &held.value);
                self.tombstones -= 1;
                self.store.remove_id(id);
            }
        }
    }

    /// The next place with a notice, going round.
    fn next_waiting(&self) -> Option<SlotId> {
        let waits = |id: &SlotId| {
            let entry = self.store.entry(*id);
            entry.is_some_and(|entry| entry.value.notice != Notice::None)
        };
        let after_turn = |id: &SlotId| self.turn.is_none_or(|turn| *id > turn);
        let mut later = self.store.ids().filter(after_turn);
        later.find(waits).or_else(|| self.store.ids().find(waits))
    }
}
