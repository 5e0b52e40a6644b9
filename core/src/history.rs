//! The history ring: the last changes of one resource, in revision order, in fixed memory.
//!
//! Writers push and never wait; the oldest entries make room. Readers hold a [`Cursor`], a plain
//! value, and pull. A reader that falls behind hears of it as [`Expired`], which is the only way
//! to lose a change.
//!
//! ```text
//!        floor                                newest
//!          │  start                  end        │
//!   ───────┼────┬────┬────┬────┬────┬───────────┼──►  revision
//!   evicted│ 12 │ 15 │ 15 │ 19 │ 20 │  progress │
//!          │    └────┴────┴────┴────┘           │
//!          │            ▲ cursor                │
//! ```
//!
//! - `start` and `end` count entries since the beginning of time and never fall, so a cursor made
//!   before an eviction, a reset or a move to other storage can tell what happened.
//! - The *floor* is the oldest revision a reader may continue from: every change after it is here.
//! - Changes of one revision (an etcd transaction) are pushed together by [`History::push_all`], and
//!   [`History::position`] never lies between them.
//! - After a relist, [`History::bridge`] enters the difference as one group and remembers the gap that it
//!   spans: readers from before the gap go on, nobody may begin inside it.
//!
//! ```
//! use ringwatch_core::history::{Expired, History};
//! use ringwatch_core::revision::Revision;
//!
//! let mut history = History::<&str, [_; 2]>::array();
//! history.push(Revision::new(5), "a created").unwrap();
//! let mut cursor = history.since(Revision::new(4)).unwrap();
//! assert_eq!(history.next(&mut cursor).unwrap().unwrap().change, "a created");
//! assert!(history.next(&mut cursor).unwrap().is_none());
//!
//! history.push(Revision::new(8), "a changed").unwrap();
//! history.push(Revision::new(9), "b created").unwrap();
//! // The ring holds two: the entry of revision 5 is gone, so only readers that saw it may go on.
//! assert_eq!(history.since(Revision::new(4)), Err(Expired { floor: Revision::new(5) }));
//! assert_eq!(history.next(&mut cursor).unwrap().unwrap().change, "a changed");
//! ```

mod cursor;
mod storage;

pub use cursor::{Cursor, Expired, Mark};

use core::error::Error;
use core::fmt;
use core::marker::PhantomData;

use crate::revision::Revision;
use crate::slots::{Place, Slots};

/// One change and when it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<C> {
    /// The revision of the change; entries of one transaction share it.
    pub revision: Revision,
    /// What changed.
    pub change: C,
}

/// A ring of the last changes, over storage of the caller's choice.
#[derive(Debug)]
pub struct History<C, S> {
    slots: S,
    /// Index of the oldest entry held; falls never, not even on reset.
    start: u64,
    /// Index after the newest entry.
    end: u64,
    /// The slot of `start`. Kept beside the counters so that no access divides: a 64-bit division
    /// is a library call on 32-bit targets.
    head: usize,
    floor: Revision,
    newest: Revision,
    gap: Option<Gap>,
    _change: PhantomData<fn() -> C>,
}

/// A stretch of revisions that was never seen change by change, only as a difference of two states.
#[derive(Debug, Clone, Copy)]
struct Gap {
    /// The last revision known completely.
    after: Revision,
    /// The revision of the list that ended the gap; its entries carry this revision.
    until: Revision,
}

impl Gap {
    /// Whether a reader at this revision would have begun between two states that are known.
    fn contains(&self, revision: Revision) -> bool {
        self.after < revision && revision < self.until
    }
}

impl<C, S: Slots<Place<Entry<C>>>> History<C, S> {
    /// An empty history that knows of everything since [`Revision::ZERO`].
    ///
    /// The storage is emptied. Follow with [`History::reset`] if it begins with a list.
    pub fn new(mut slots: S) -> Self {
        slots.as_mut().fill_with(Place::default);
        Self::over(slots)
    }

    /// How many entries fit.
    pub fn capacity(&self) -> usize {
        self.slots.as_ref().len()
    }

    /// How many entries are held.
    pub fn len(&self) -> usize {
        // At most the capacity, so it fits.
        self.end.saturating_sub(self.start) as usize
    }

    /// Whether no entry is held.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The newest revision known: of a change, or of [progress](History::advance).
    pub fn newest(&self) -> Revision {
        self.newest
    }

    /// The oldest revision that a reader may continue from.
    pub fn floor(&self) -> Revision {
        self.floor
    }

    /// Enters one change and, if the ring is full, drops the oldest.
    pub fn push(&mut self, revision: Revision, change: C) -> Result<(), NotNewer> {
        self.push_all(revision, core::iter::once(change))
    }

    /// Enters the changes of one transaction, which share a revision.
    ///
    /// They become visible together. If there are more of them than places, readers from before
    /// this revision are [expired](Expired).
    pub fn push_all(
        &mut self,
        revision: Revision,
        changes: impl IntoIterator<Item = C>,
    ) -> Result<(), NotNewer> {
        self.push_evicting(revision, changes, drop)
    }

    /// As [`push_all`](History::push_all), but hands over what gives way instead of dropping it: an owner that
    /// holds a lock need not free memory while others wait.
    pub fn push_evicting(
        &mut self,
        revision: Revision,
        changes: impl IntoIterator<Item = C>,
        mut evicted: impl FnMut(Entry<C>),
    ) -> Result<(), NotNewer> {
        if revision <= self.newest {
            return Err(NotNewer {
                newest: self.newest,
            });
        }
        self.newest = revision;
        for change in changes {
            if let Some(oldest) = self.append(Entry { revision, change }) {
                evicted(oldest);
            }
        }
        Ok(())
    }

    /// Notes that nothing else happened up to `revision`. Older progress is ignored.
    pub fn advance(&mut self, revision: Revision) {
        self.newest = self.newest.max(revision);
    }

    /// Enters what a relist at `revision` found different, so that readers stay.
    ///
    /// The changes form one group at `revision`. What happened one by one since the newest known
    /// revision is lost, so nobody may begin in between; readers that are further back get the history they
    /// missed and then the difference. One such gap is remembered: with a second one, everything up to the end of the first is
    /// forgotten.
    ///
    /// A reader may be cut off in the middle of the difference and know no better than to go on from the revision that it
    /// was shown last. So give deletions first, which are shown at the revision [before the
    /// gap](History::before_gap), and then what was put, by revision: wherever the reader stops, going on from there is either
    /// whole or refused.
    pub fn bridge(
        &mut self,
        revision: Revision,
        changes: impl IntoIterator<Item = C>,
    ) -> Result<(), NotNewer> {
        if revision <= self.newest {
            return Err(NotNewer {
                newest: self.newest,
            });
        }
        let gap = Gap {
            after: self.newest,
            until: revision,
        };
        if let Some(older) = self.gap.replace(gap) {
            self.forget_until(older.until);
        }
        self.push_all(revision, changes)
    }

    /// Drops everything up to a revision. Readers that had not come so far are expired.
    fn forget_until(&mut self, revision: Revision) {
        while self
            .entry(self.start)
            .is_some_and(|oldest| oldest.revision <= revision)
        {
            self.evict();
        }
        self.floor = self.floor.max(revision);
    }

    /// If the entry is part of a relist's difference: the last revision before it that is known completely.
    pub fn before_gap(&self, entry: &Entry<C>) -> Option<Revision> {
        let gap = self.gap.filter(|gap| gap.until == entry.revision)?;
        Some(gap.after)
    }

    /// The stretch that was only seen as a difference, if one is remembered: the last revision before it that is known completely, and the one
    /// at which it ended.
    pub fn gap(&self) -> Option<(Revision, Revision)> {
        self.gap.map(|gap| (gap.after, gap.until))
    }

    /// Whether a state at this revision is known: it is not part of a stretch that was only seen as a difference.
    pub fn is_exact(&self, revision: Revision) -> bool {
        self.gap
            .is_none_or(|gap| revision < gap.after || gap.until <= revision)
    }

    /// Forgets everything and begins again with the state at `revision`.
    ///
    /// Every cursor made before is expired unless it waits for a revision at or after this one.
    pub fn reset(&mut self, revision: Revision) {
        self.slots.as_mut().fill_with(Place::default);
        // One index is left out: a cursor that had read everything would otherwise still look valid.
        self.end = self.end.wrapping_add(1);
        self.start = self.end;
        self.head = 0;
        self.floor = revision;
        self.newest = revision;
        self.gap = None;
    }

    /// The entries held, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry<C>> {
        let slots = self.slots.as_ref();
        let (wrapped, first) = slots.split_at_checked(self.head).unwrap_or((slots, &[]));
        first.iter().chain(wrapped).filter_map(Place::as_ref)
    }

    /// Drops the oldest entry, if there is one, as if another had come in its place. Whether there was one.
    pub fn forget_oldest(&mut self) -> bool {
        !self.is_empty() && self.evict().is_some()
    }

    /// Enters an entry and gives the one that has to go for it.
    fn append(&mut self, entry: Entry<C>) -> Option<Entry<C>> {
        let full = self.len() >= self.capacity() && !self.is_empty();
        let evicted = if full { self.evict() } else { None };
        let slot = self.slot(self.end);
        self.end = self.end.wrapping_add(1);
        match self.slots.as_mut().get_mut(slot) {
            Some(place) => {
                *place = Place::Taken(entry);
                evicted
            }
            // No storage at all: the entry is evicted as it comes.
            None => {
                self.start = self.end;
                self.floor = entry.revision;
                Some(entry)
            }
        }
    }

    /// Takes the oldest entry out. Its revision becomes the floor: who has seen all of it misses
    /// nothing, who has not misses this entry. That holds for transactions too, whose other entries may still be here.
    fn evict(&mut self) -> Option<Entry<C>> {
        let after = self.slot(self.start.wrapping_add(1));
        let oldest = self.slots.as_mut().get_mut(self.head);
        let oldest = oldest.and_then(Place::take);
        if let Some(oldest) = &oldest {
            self.floor = self.floor.max(oldest.revision);
        }
        self.start = self.start.wrapping_add(1);
        self.head = after;
        oldest
    }

    /// The slot of an index between `start` and `start + capacity`.
    fn slot(&self, index: u64) -> usize {
        let slot = self.head + index.wrapping_sub(self.start) as usize;
        if slot >= self.capacity() {
            slot - self.capacity()
        } else {
            slot
        }
    }

    fn entry(&self, index: u64) -> Option<&Entry<C>> {
        if index < self.start || index >= self.end {
            return None;
        }
        self.slots.as_ref().get(self.slot(index))?.as_ref()
    }
}

impl<C, const N: usize> History<C, [Place<Entry<C>>; N]> {
    /// An empty history in an array of `N` places.
    pub const fn array() -> Self {
        Self::over([const { Place::Free }; N])
    }
}

impl<C, S> History<C, S> {
    /// A history that begins in these places, which are free.
    const fn over(slots: S) -> Self {
        Self {
            slots,
            start: 0,
            end: 0,
            head: 0,
            floor: Revision::ZERO,
            newest: Revision::ZERO,
            gap: None,
            _change: PhantomData,
        }
    }
}

/// A change came with a revision that is not newer than what is known. Nothing was entered.
///
/// Either it was delivered twice, or the source went back in time; a relist settles both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NotNewer {
    /// The newest revision known.
    pub newest: Revision,
}

impl fmt::Display for NotNewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "change is not newer than revision {}", self.newest)
    }
}

impl Error for NotNewer {}
