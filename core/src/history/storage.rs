//! Moving the ring to other storage, larger or smaller, while readers stay.

use core::marker::PhantomData;
use core::mem;

use super::{Entry, History};
use crate::slots::{Place, Slots};

impl<C, S: Slots<Place<Entry<C>>>> History<C, S> {
    /// Moves to storage of another kind. Indexes keep their values, so cursors stay valid.
    ///
    /// Nothing is lost if the new storage has room; otherwise the oldest entries are evicted as
    /// they would be by a push, and the floor rises.
    pub fn migrate<T: Slots<Place<Entry<C>>>>(mut self, mut slots: T) -> History<C, T> {
        self.move_entries(slots.as_mut());
        History {
            slots,
            start: self.start,
            end: self.end,
            head: 0,
            floor: self.floor,
            newest: self.newest,
            gap: self.gap,
            _change: PhantomData,
        }
    }

    /// Moves to other storage of the same kind, in place, and hands back the old one, emptied.
    pub fn resize(&mut self, mut slots: S) -> S {
        self.move_entries(slots.as_mut());
        self.head = 0;
        mem::replace(&mut self.slots, slots)
    }

    /// Fills `target` from its beginning with the entries, oldest first.
    fn move_entries(&mut self, target: &mut [Place<Entry<C>>]) {
        while self.len() > target.len() {
            self.evict();
        }
        let mut index = self.start;
        for place in target {
            let slot = self.slot(index);
            *place = match self.slots.as_mut().get_mut(slot) {
                Some(from) if index < self.end => mem::take(from),
                _ => Place::Free,
            };
            index = index.wrapping_add(1);
        }
    }
}
