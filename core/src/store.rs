//! The store: the latest value of each key, in key order, in fixed memory.
//!
//! A value stays in the slot it was put into, and the [`SlotId`] names it until it is removed;
//! only small order numbers move when keys come and go. So a large value is never copied around,
//! an [index](index::Index) can point at it, and an update costs a binary search.
//!
//! ```text
//!   slot     0        1        2        3
//!   entry   c/x      a/x      (free)   b/x
//!   order    1        3        0        2        the first three: slots by key; the rest: free slots
//! ```
//!
//! | operation | cost with n entries |
//! |---|---|
//! | get, update | log n comparisons |
//! | insert, remove | log n comparisons, up to n order numbers move |
//! | [replace](Store::replace) | one walk over both, plus the inserts and removals |
//!
//! ```
//! use ringwatch_core::{revision::Revision, store::Store};
//!
//! let mut store = Store::<&str, u32, [_; 2]>::array();
//! store.put("b", Revision::new(1), 20).unwrap();
//! store.put("a", Revision::new(2), 10).unwrap();
//! let put = store.put("b", Revision::new(3), 21).unwrap();
//! assert_eq!(put.previous.unwrap().value, 20);
//! assert!(store.put("c", Revision::new(4), 30).is_err(), "full: the value comes back");
//!
//! let values: Vec<u32> = store.iter().map(|entry| entry.value).collect();
//! assert_eq!(values, [10, 21]);
//! // Paging: the last key of a page is where the next one continues.
//! assert_eq!(store.after(Some("a")).next().unwrap().key, "b");
//! ```

pub mod index;
mod replace;

pub use replace::{Difference, Listed, ReplaceError};

use core::borrow::Borrow;
use core::error::Error;
use core::fmt;
use core::marker::PhantomData;

use crate::revision::Revision;
use crate::slots::{Place, Slots};

/// What the store holds for one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<K, V> {
    /// The key.
    pub key: K,
    /// The revision of the change that put the value here.
    pub revision: Revision,
    /// The value.
    pub value: V,
}

/// One place of a [`Store`].
#[derive(Debug, Clone)]
pub struct Slot<K, V> {
    entry: Place<Entry<K, V>>,
    /// An element of the order that is laid over all slots; not about this slot's own entry. It is kept as
    /// the difference to its rank, so that all zeros are a valid empty order: a store in a `static`
    /// then costs no flash and no set-up.
    order: u32,
}

impl<K, V> Slot<K, V> {
    /// A free place.
    pub const FREE: Self = Self {
        entry: Place::Free,
        order: 0,
    };

    /// The slot that stands at `rank` in the order, if `self` is the slot with that number.
    fn ordered(&self, rank: usize) -> u32 {
        self.order.wrapping_add(rank as u32)
    }

    fn set_ordered(&mut self, rank: usize, id: u32) {
        self.order = id.wrapping_sub(rank as u32);
    }
}

impl<K, V> Default for Slot<K, V> {
    fn default() -> Self {
        Self::FREE
    }
}

/// The place of an entry, valid until the entry is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(u32);

/// What [`Store::put`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put<K, V> {
    /// Where the value is now.
    pub id: SlotId,
    /// What was there before, if the key was known.
    pub previous: Option<Entry<K, V>>,
}

/// Every place is taken; the entry comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full<K, V>(pub Entry<K, V>);

impl<K, V> fmt::Display for Full<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("store is full")
    }
}

impl<K: fmt::Debug, V: fmt::Debug> Error for Full<K, V> {}

/// A change to one key, as a source of changes reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update<K, V> {
    /// The key has this value now.
    Put(K, V),
    /// The key is gone.
    Delete(K),
}

/// A bounded map in key order, over storage of the caller's choice.
#[derive(Debug)]
pub struct Store<K, V, S> {
    slots: S,
    len: usize,
    revision: Revision,
    _entry: PhantomData<fn() -> (K, V)>,
}

impl<K: Ord, V, S: Slots<Slot<K, V>>> Store<K, V, S> {
    /// An empty store. The storage is emptied; at most 2³² places are used.
    pub fn new(mut slots: S) -> Self {
        slots.as_mut().fill_with(Slot::default);
        Self {
            slots,
            len: 0,
            revision: Revision::ZERO,
            _entry: PhantomData,
        }
    }

    /// How many entries fit.
    pub fn capacity(&self) -> usize {
        self.slots.as_ref().len()
    }

    /// How many entries are held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no entry is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Up to which revision the store contains every change.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Notes that nothing else happened up to `revision`.
    pub fn advance(&mut self, revision: Revision) {
        self.revision = self.revision.max(revision);
    }

    /// Notes that the content is that of `revision`, be it earlier than before: after a list from a source that
    /// is behind, or that counts anew.
    pub fn set_revision(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// Takes out everything, and begins at [`Revision::ZERO`] again.
    pub fn clear(&mut self) {
        self.slots.as_mut().fill_with(Slot::default);
        self.len = 0;
        self.revision = Revision::ZERO;
    }

    /// The entry of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&Entry<K, V>>
    where
        K: Borrow<Q>,
    {
        self.entry(self.find(key)?)
    }

    /// Where a key's entry is.
    pub fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Option<SlotId>
    where
        K: Borrow<Q>,
    {
        self.search(key).ok().map(|(_, id)| id)
    }

    /// The entry in a place.
    pub fn entry(&self, id: SlotId) -> Option<&Entry<K, V>> {
        self.slots.as_ref().get(id.0 as usize)?.entry.as_ref()
    }

    /// The value in a place, to be changed without a new revision.
    pub fn value_mut(&mut self, id: SlotId) -> Option<&mut V> {
        self.entry_mut(id).map(|entry| &mut entry.value)
    }

    /// All values, in no particular order, to be changed without a new revision.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let entries = self.slots.as_mut().iter_mut();
        entries.filter_map(|slot| slot.entry.as_mut().map(|entry| &mut entry.value))
    }

    /// The entry in a place, to be changed by those who leave the key alone.
    pub(crate) fn entry_mut(&mut self, id: SlotId) -> Option<&mut Entry<K, V>> {
        self.slots.as_mut().get_mut(id.0 as usize)?.entry.as_mut()
    }

    /// Applies one change of a source and returns the previous value.
    pub fn apply(
        &mut self,
        revision: Revision,
        update: Update<K, V>,
    ) -> Result<Option<V>, Full<K, V>> {
        let previous = match update {
            Update::Put(key, value) => self.put(key, revision, value)?.previous,
            Update::Delete(key) => self.remove(&key),
        };
        self.advance(revision);
        Ok(previous.map(|entry| entry.value))
    }

    /// Puts a value in, or changes it. The entry's revision need not be newer than the store's.
    pub fn put(&mut self, key: K, revision: Revision, value: V) -> Result<Put<K, V>, Full<K, V>> {
        let entry = Entry {
            key,
            revision,
            value,
        };
        match self.search(&entry.key) {
            Ok((_, id)) => {
                let slot = self.slots.as_mut().get_mut(id.0 as usize);
                let previous = slot.and_then(|slot| slot.entry.replace(entry));
                Ok(Put { id, previous })
            }
            Err(rank) => match self.insert(rank, entry) {
                Ok(id) => Ok(Put { id, previous: None }),
                Err(entry) => Err(Full(entry)),
            },
        }
    }

    /// Takes a key's entry out.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<Entry<K, V>>
    where
        K: Borrow<Q>,
    {
        let (rank, _) = self.search(key).ok()?;
        self.remove_at(rank)
    }

    /// Takes out the entry in a place.
    pub fn remove_id(&mut self, id: SlotId) -> Option<Entry<K, V>> {
        let (rank, _) = self.search(&self.entry(id)?.key).ok()?;
        self.remove_at(rank)
    }

    /// All entries in key order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Entry<K, V>> {
        self.ranks(0)
    }

    /// The entries whose key comes after `key` (all of them for `None`): where a page ended is
    /// where the next one begins, whether or not that key is still there.
    pub fn after<Q: Ord + ?Sized>(
        &self,
        key: Option<&Q>,
    ) -> impl ExactSizeIterator<Item = &Entry<K, V>>
    where
        K: Borrow<Q>,
    {
        let first = key.map_or(0, |key| match self.search(key) {
            Ok((rank, _)) => rank + 1,
            Err(rank) => rank,
        });
        self.ranks(first)
    }

    /// Every place that holds an entry, in no particular order.
    pub fn ids(&self) -> impl Iterator<Item = SlotId> {
        let places = (0..=u32::MAX).zip(self.slots.as_ref());
        places
            .filter(|(_, slot)| slot.entry.as_ref().is_some())
            .map(|(id, _)| SlotId(id))
    }

    fn ranks(&self, first: usize) -> impl ExactSizeIterator<Item = &Entry<K, V>> {
        Ranked {
            slots: self.slots.as_ref(),
            rank: first,
            len: self.len,
        }
    }

    /// The place of the entry that comes after `rank` others.
    pub(crate) fn id_at(&self, rank: usize) -> Option<SlotId> {
        ranked(self.slots.as_ref(), self.len, rank).map(|(id, _)| id)
    }

    fn at(&self, rank: usize) -> Option<&Entry<K, V>> {
        ranked(self.slots.as_ref(), self.len, rank).map(|(_, entry)| entry)
    }

    /// The rank and place of a key, or the rank it would get.
    fn search<Q: Ord + ?Sized>(&self, key: &Q) -> Result<(usize, SlotId), usize>
    where
        K: Borrow<Q>,
    {
        let slots = self.slots.as_ref();
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            let Some((id, entry)) = ranked(slots, self.len, middle) else {
                return Err(middle);
            };
            match entry.key.borrow().cmp(key) {
                core::cmp::Ordering::Less => low = middle + 1,
                core::cmp::Ordering::Equal => return Ok((middle, id)),
                core::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    fn insert(&mut self, rank: usize, entry: Entry<K, V>) -> Result<SlotId, Entry<K, V>> {
        let slots = self.slots.as_mut();
        // The first order number after those in use names a free slot.
        let Some(id) = slots.get(self.len).map(|slot| slot.ordered(self.len)) else {
            return Err(entry);
        };
        match slots.get_mut(id as usize) {
            Some(slot) => slot.entry = Place::Taken(entry),
            None => return Err(entry),
        }
        // Each order number from `rank` on moves one up; the new one takes their place.
        let mut moving = id;
        for (rank, slot) in slots.iter_mut().enumerate().take(self.len + 1).skip(rank) {
            let displaced = slot.ordered(rank);
            slot.set_ordered(rank, moving);
            moving = displaced;
        }
        self.len += 1;
        Ok(SlotId(id))
    }

    fn remove_at(&mut self, rank: usize) -> Option<Entry<K, V>> {
        let id = self.id_at(rank)?;
        let slots = self.slots.as_mut();
        let entry = slots.get_mut(id.0 as usize)?.entry.take();
        // From the end down to `rank`, each order number moves one down; the freed one goes last.
        let mut moving = id.0;
        for (rank, slot) in slots.iter_mut().enumerate().take(self.len).skip(rank).rev() {
            let displaced = slot.ordered(rank);
            slot.set_ordered(rank, moving);
            moving = displaced;
        }
        self.len -= 1;
        entry
    }
}

impl<K, V, const N: usize> Store<K, V, [Slot<K, V>; N]> {
    /// An empty store in an array of `N` places.
    pub const fn array() -> Self {
        Self {
            slots: [const { Slot::FREE }; N],
            len: 0,
            revision: Revision::ZERO,
            _entry: PhantomData,
        }
    }
}

/// The entry with this rank in key order.
fn ranked<K, V>(slots: &[Slot<K, V>], len: usize, rank: usize) -> Option<(SlotId, &Entry<K, V>)> {
    if rank >= len {
        return None;
    }
    let id = slots.get(rank)?.ordered(rank);
    let entry = slots.get(id as usize)?.entry.as_ref()?;
    Some((SlotId(id), entry))
}

/// Entries in key order from a rank on.
struct Ranked<'a, K, V> {
    slots: &'a [Slot<K, V>],
    rank: usize,
    len: usize,
}

impl<'a, K, V> Iterator for Ranked<'a, K, V> {
    type Item = &'a Entry<K, V>;

    fn next(&mut self) -> Option<Self::Item> {
        let (_, entry) = ranked(self.slots, self.len, self.rank)?;
        self.rank += 1;
        Some(entry)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.len.saturating_sub(self.rank);
        (left, Some(left))
    }
}

impl<K, V> ExactSizeIterator for Ranked<'_, K, V> {}
