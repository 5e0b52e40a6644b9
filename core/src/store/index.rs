//! A secondary index: from a term (a label's value, a field's value) to the entries that have it.
//!
//! It is kept beside a [`Store`](super::Store) by whoever owns both, and answers which entries
//! are worth looking at; it is a pre-filter, the whole predicate still decides.
//!
//! ```
//! use ringwatch_core::revision::Revision;
//! use ringwatch_core::store::{Store, index::Index};
//!
//! let mut rooms = Store::<&str, &str, [_; 4]>::array();
//! let mut by_room = Index::<&str, [_; 4]>::array();
//! for (key, room) in [("lamp", "kitchen"), ("radio", "kitchen"), ("bell", "hall")] {
//!     let id = rooms.put(key, Revision::new(1), room).unwrap().id;
//!     by_room.insert(room, id).unwrap();
//! }
//! let keys: Vec<_> = by_room.ids(&"kitchen").filter_map(|id| rooms.entry(id)).map(|e| e.key).collect();
//! assert_eq!(keys, ["lamp", "radio"]);
//! ```

use core::cmp::Ordering;
use core::error::Error;
use core::fmt;
use core::marker::PhantomData;

use super::SlotId;
use crate::slots::{Place, Slots};

/// A bounded set of (term, place), over storage of the caller's choice.
#[derive(Debug)]
pub struct Index<T, S> {
    /// Sorted and dense: the first `len` places are taken.
    slots: S,
    len: usize,
    _term: PhantomData<fn() -> T>,
}

/// Every place of the index is taken; nothing was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct IndexFull;

impl fmt::Display for IndexFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("index is full")
    }
}

impl Error for IndexFull {}

impl<T: Ord, S: Slots<Place<(T, SlotId)>>> Index<T, S> {
    /// An empty index. The storage is emptied.
    pub fn new(mut slots: S) -> Self {
        slots.as_mut().fill_with(Place::default);
        Self {
            slots,
            len: 0,
            _term: PhantomData,
        }
    }

    /// How many pairs are held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no pair is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Enters a pair; one that is already there stays as it is.
    pub fn insert(&mut self, term: T, id: SlotId) -> Result<(), IndexFull> {
        let rank = match self.search(&term, id) {
            Ok(_) => return Ok(()),
            Err(rank) => rank,
        };
        let taken = self
            .slots
            .as_mut()
            .get_mut(rank..=self.len)
            .ok_or(IndexFull)?;
        // The free place comes to the front, the rest moves one up.
        taken.rotate_right(1);
        if let Some(place) = taken.first_mut() {
            *place = Place::Taken((term, id));
        }
        self.len += 1;
        Ok(())
    }

    /// Takes a pair out; one that is not there is ignored.
    pub fn remove(&mut self, term: &T, id: SlotId) {
        let Ok(rank) = self.search(term, id) else {
            return;
        };
        if let Some(taken) = self.slots.as_mut().get_mut(rank..self.len) {
            taken.rotate_left(1);
            if let Some(place) = taken.last_mut() {
                *place = Place::Free;
            }
            self.len -= 1;
        }
    }

    /// The entries that have this term, in no particular order.
    pub fn ids(&self, term: &T) -> impl Iterator<Item = SlotId> {
        let first = self.partition(|held, _| held < term);
        self.slots
            .as_ref()
            .iter()
            .take(self.len)
            .skip(first)
            .filter_map(Place::as_ref)
            .take_while(move |(held, _)| held == term)
            .map(|(_, id)| *id)
    }

    /// Whether a pair could still be entered.
    pub fn has_room(&self) -> bool {
        self.len < self.slots.as_ref().len()
    }

    fn search(&self, term: &T, id: SlotId) -> Result<usize, usize> {
        let rank =
            self.partition(|held, held_id| held.cmp(term).then(held_id.cmp(&id)) == Ordering::Less);
        match self.slots.as_ref().get(rank) {
            Some(Place::Taken((held, held_id)))
                if rank < self.len && held == term && *held_id == id =>
            {
                Ok(rank)
            }
            _ => Err(rank),
        }
    }

    fn partition(&self, before: impl Fn(&T, SlotId) -> bool) -> usize {
        let taken = self.slots.as_ref().get(..self.len).unwrap_or(&[]);
        taken.partition_point(|pair| pair.as_ref().is_some_and(|(term, id)| before(term, *id)))
    }
}

impl<T, const N: usize> Index<T, [Place<(T, SlotId)>; N]> {
    /// An empty index in an array of `N` places.
    pub const fn array() -> Self {
        Self {
            slots: [const { Place::Free }; N],
            len: 0,
            _term: PhantomData,
        }
    }
}
