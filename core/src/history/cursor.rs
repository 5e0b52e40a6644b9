//! Reading the ring: where a reader stands, and what it gets next.

use core::error::Error;
use core::fmt;

use super::{Entry, History};
use crate::revision::Revision;
use crate::slots::Slots;

/// A reader's place in a [`History`]: a plain value of 16 bytes that holds nothing back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Index of the next entry to look at.
    next: u64,
    /// Entries up to this revision are passed over. Matters for readers that begin in the future.
    after: Revision,
}

impl Cursor {
    /// The revision that the reader named when it began.
    pub fn after(&self) -> Revision {
        self.after
    }
}

/// The reader missed changes that are no longer here. It must begin again from a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    /// The oldest revision that a reader may continue from now.
    pub floor: Revision,
}

impl fmt::Display for Expired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "too old resource version ({})", self.floor)
    }
}

impl Error for Expired {}

impl<C, S: Slots<Option<Entry<C>>>> History<C, S> {
    /// A cursor that yields every change after `revision`.
    ///
    /// A revision in the future is allowed: the cursor is silent until something newer comes.
    pub fn since(&self, revision: Revision) -> Result<Cursor, Expired> {
        if revision < self.floor {
            return Err(Expired { floor: self.floor });
        }
        if let Some(gap) = self.gap.filter(|gap| gap.contains(revision)) {
            return Err(Expired { floor: gap.until });
        }
        Ok(Cursor {
            next: self.first_after(revision),
            after: revision,
        })
    }

    /// The next change, or `None` if the reader has all of them.
    pub fn next(&self, cursor: &mut Cursor) -> Result<Option<&Entry<C>>, Expired> {
        let entry = self.peek(cursor)?;
        if entry.is_some() {
            self.pass(cursor);
        }
        Ok(entry)
    }

    /// Like [`History::next`], but the cursor stays before the entry (it may step over entries
    /// that are none of its business).
    pub fn peek(&self, cursor: &mut Cursor) -> Result<Option<&Entry<C>>, Expired> {
        if cursor.next < self.start {
            // What was evicted is no loss to a reader that waits for something later.
            if cursor.after < self.floor {
                return Err(Expired { floor: self.floor });
            }
            cursor.next = self.start;
        }
        while let Some(entry) = self.entry(cursor.next) {
            if entry.revision > cursor.after {
                return Ok(Some(entry));
            }
            cursor.next = cursor.next.wrapping_add(1);
        }
        Ok(None)
    }

    /// Moves the cursor over the entry that [`History::peek`] showed.
    pub fn pass(&self, cursor: &mut Cursor) {
        if cursor.next < self.end {
            cursor.next = cursor.next.wrapping_add(1);
        }
    }

    /// Up to where this reader has everything: the revision to continue from later, here or at another hop.
    ///
    /// Inside a transaction this is the revision before it, so that its changes are never torn
    /// apart; inside a relist's difference it is the revision before the gap.
    pub fn position(&self, cursor: &Cursor) -> Result<Revision, Expired> {
        let mut ahead = *cursor;
        let Some(entry) = self.peek(&mut ahead)? else {
            return Ok(self.newest.max(cursor.after));
        };
        let before = entry.revision.previous();
        Ok(match self.gap {
            Some(gap) if gap.until == entry.revision => gap.after.max(cursor.after),
            _ => before,
        })
    }

    /// Binary search: the index of the first entry after `revision`, or `end`.
    fn first_after(&self, revision: Revision) -> u64 {
        let (mut low, mut high) = (self.start, self.end);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.entry(middle) {
                Some(entry) if entry.revision <= revision => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }
}
