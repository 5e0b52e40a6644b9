//! Replacing the content by a list, and saying exactly what that changed.
//!
//! This is what a relist turns into: instead of ending every watch, the difference between what was
//! held and what the list says is handed out as changes.
//!
//! ```
//! use ringwatch_core::revision::Revision;
//! use ringwatch_core::store::{Difference, Listed, Store};
//!
//! let r = Revision::new;
//! let mut store = Store::<&str, u8, [_; 3]>::array();
//! for (key, value) in [("gone", 1), ("kept", 2), ("stale", 3)] {
//!     store.put(key, r(1), value).unwrap();
//! }
//! let list = [
//!     Listed { key: "kept", revision: r(1), value: 2 },
//!     Listed { key: "new", revision: r(8), value: 4 },
//!     Listed { key: "stale", revision: r(7), value: 5 },
//! ];
//! let mut seen = Vec::new();
//! store.replace(r(9), list.iter().copied(), |difference| {
//!     seen.push(match difference {
//!         Difference::Removed(entry) => format!("removed {}", entry.key),
//!         Difference::Added(entry) => format!("added {}", entry.key),
//!         Difference::Changed { current, .. } => format!("changed {}", current.key),
//!     });
//! }).unwrap();
//! assert_eq!(seen, ["removed gone", "added new", "changed stale"]);
//! assert_eq!(store.revision(), r(9));
//! ```

use core::error::Error;
use core::fmt;

use super::{Entry, Slot, Store};
use crate::revision::Revision;
use crate::slots::Slots;

/// An item of a list: the same as a stored entry.
pub type Listed<K, V> = Entry<K, V>;

/// One difference between the content before and after a replace.
#[derive(Debug, PartialEq, Eq)]
pub enum Difference<'a, K, V> {
    /// The key is not in the list.
    Removed(Entry<K, V>),
    /// The key is new.
    Added(&'a Entry<K, V>),
    /// The key's revision differs.
    Changed {
        /// What was held.
        previous: Entry<K, V>,
        /// What the list says.
        current: &'a Entry<K, V>,
    },
}

/// Why a list cannot be taken over. The store is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ReplaceError {
    /// The list is longer than the store.
    TooLong {
        /// How many entries fit.
        capacity: usize,
    },
    /// The item at this position does not come after the one before it.
    Unsorted {
        /// Counted from 0.
        position: usize,
    },
}

impl fmt::Display for ReplaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { capacity } => write!(f, "list has more than {capacity} items"),
            Self::Unsorted { position } => {
                write!(
                    f,
                    "item {position} of the list is not after the one before it"
                )
            }
        }
    }
}

impl Error for ReplaceError {}

impl<K: Ord, V, S: Slots<Slot<K, V>>> Store<K, V, S> {
    /// Makes the content equal to `list`, which is in key order, and reports each difference.
    ///
    /// Removals are reported first, in key order, then additions and changes, in key order. An item
    /// whose revision is the one held counts as unchanged. The list is walked three times, hence
    /// `Clone`: once to check it, so that an error leaves everything as it was; once to remove,
    /// so that there is room; once to put.
    pub fn replace<I>(
        &mut self,
        revision: Revision,
        list: I,
        mut report: impl FnMut(Difference<'_, K, V>),
    ) -> Result<(), ReplaceError>
    where
        I: IntoIterator<Item = Listed<K, V>>,
        I::IntoIter: Clone,
    {
        let list = list.into_iter();
        self.check(list.clone())?;
        self.remove_absent(list.clone(), &mut report);
        for (rank, item) in list.enumerate() {
            self.put_at(rank, item, &mut report);
        }
        self.revision = revision;
        Ok(())
    }

    fn check(&self, list: impl Iterator<Item = Listed<K, V>>) -> Result<(), ReplaceError> {
        let mut before: Option<K> = None;
        for (position, item) in list.enumerate() {
            if position >= self.capacity() {
                return Err(ReplaceError::TooLong {
                    capacity: self.capacity(),
                });
            }
            if before.is_some_and(|before| before >= item.key) {
                return Err(ReplaceError::Unsorted { position });
            }
            before = Some(item.key);
        }
        Ok(())
    }

    fn remove_absent(
        &mut self,
        list: impl Iterator<Item = Listed<K, V>>,
        report: &mut impl FnMut(Difference<'_, K, V>),
    ) {
        let mut list = list.peekable();
        let mut rank = 0;
        while let Some(held) = self.at(rank) {
            while list.next_if(|item| item.key < held.key).is_some() {}
            if list.peek().is_some_and(|item| item.key == held.key) {
                rank += 1;
            } else if let Some(entry) = self.remove_at(rank) {
                report(Difference::Removed(entry));
            }
        }
    }

    /// Puts the list's item with this rank. Everything held is in the list by now and the items before
    /// are in place, so the item is either at this rank or belongs there.
    fn put_at(
        &mut self,
        rank: usize,
        item: Listed<K, V>,
        report: &mut impl FnMut(Difference<'_, K, V>),
    ) {
        match self.at(rank) {
            Some(held) if held.key == item.key => {
                if held.revision == item.revision {
                    return;
                }
                let Some(id) = self.id_at(rank) else { return };
                let slot = self.slots.as_mut().get_mut(id.0 as usize);
                if let Some(current) = slot.and_then(|slot| slot.entry.as_mut()) {
                    let previous = core::mem::replace(current, item);
                    report(Difference::Changed { previous, current });
                }
            }
            _ => {
                // There is room: the list was counted, and nothing else is left in the store.
                if self.insert(rank, item).is_ok()
                    && let Some(entry) = self.at(rank)
                {
                    report(Difference::Added(entry));
                }
            }
        }
    }
}
