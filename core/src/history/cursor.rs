//! Reading the ring: where a reader stands, and what it gets next.

use core::error::Error;
use core::fmt;

use super::{Entry, History};
use crate::revision::Revision;
use crate::slots::{Place, Slots};

/// A reader's place in a [`History`]: a plain value of 16 bytes that holds nothing back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(Position);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Before the entry with this index.
    Before(u64),
    /// In the future: after this revision, which the history has not reached. Where that is can
    /// be told only when it has; until then there is nothing to read.
    After(Revision),
}

/// A place between two entries that someone else can be sent to; see [`History::mark`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

impl Mark {
    /// The mark as a number, for keeping it in an atomic.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The place this many entries later.
    pub const fn plus(self, entries: usize) -> Self {
        Self(self.0.wrapping_add(entries as u64))
    }

    /// A mark from [`Mark::to_bits`]. Another number is a place that holds nothing useful, no more.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl Cursor {
    /// Moves the reader forward to a mark. Whoever calls this knows that nothing in between concerns
    /// the reader. A mark behind the reader, or one given to a reader that is
    /// [ahead](Cursor::is_ahead), changes nothing.
    pub fn skip_to(&mut self, mark: Mark) {
        if let Position::Before(index) = &mut self.0 {
            *index = mark.0.max(*index);
        }
    }

    /// Whether the reader is at the mark or behind it. One that is [ahead](Cursor::is_ahead) is nowhere yet.
    pub fn has_reached(&self, mark: Mark) -> bool {
        matches!(self.0, Position::Before(index) if index >= mark.0)
    }

    /// Whether the reader began in the future and the history has not been read up to there.
    pub fn is_ahead(&self) -> bool {
        matches!(self.0, Position::After(_))
    }
}

/// The reader missed changes that are no longer here. It must begin again from a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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

impl<C, S: Slots<Place<Entry<C>>>> History<C, S> {
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
        if revision > self.newest {
            return Ok(Cursor(Position::After(revision)));
        }
        Ok(Cursor(Position::Before(self.first_after(revision))))
    }

    /// The place after the newest entry, where the next one will be.
    ///
    /// An owner that knows which readers a change concerns (by an index over their predicates) sends them
    /// to the mark it took before the push, and all others past it.
    ///
    /// ```
    /// use ringwatch_core::{history::History, revision::Revision};
    ///
    /// let mut history = History::<&str, [_; 8]>::array();
    /// let mut idle = history.since(Revision::ZERO).unwrap();
    /// history.push(Revision::new(1), "none of the reader's business").unwrap();
    /// let mark = history.mark();
    /// history.push(Revision::new(2), "for the reader").unwrap();
    /// idle.skip_to(mark);
    /// assert_eq!(history.next(&mut idle).unwrap().unwrap().change, "for the reader");
    /// ```
    pub fn mark(&self) -> Mark {
        Mark(self.end)
    }

    /// The next change, or `None` if the reader has all of them.
    pub fn next(&self, cursor: &mut Cursor) -> Result<Option<&Entry<C>>, Expired> {
        let entry = self.peek(cursor)?;
        if entry.is_some() {
            self.pass(cursor);
        }
        Ok(entry)
    }

    /// Like [`History::next`], but the cursor stays before the entry.
    pub fn peek(&self, cursor: &mut Cursor) -> Result<Option<&Entry<C>>, Expired> {
        if let Position::After(revision) = cursor.0 {
            *cursor = self.since(revision)?;
        }
        match cursor.0 {
            Position::Before(index) if index < self.start => Err(Expired { floor: self.floor }),
            Position::Before(index) => Ok(self.entry(index)),
            Position::After(_) => Ok(None),
        }
    }

    /// Moves the cursor over the entry that [`History::peek`] showed.
    pub fn pass(&self, cursor: &mut Cursor) {
        if let Position::Before(index) = &mut cursor.0
            && *index < self.end
        {
            *index = index.wrapping_add(1);
        }
    }

    /// Up to where this reader has everything: the revision to continue from later, here or at another hop.
    ///
    /// Inside a transaction this is the revision before it, so that its changes are never torn
    /// apart; inside a relist's difference it is the revision before the gap.
    pub fn position(&self, cursor: &Cursor) -> Result<Revision, Expired> {
        let mut cursor = *cursor;
        let next = self.peek(&mut cursor)?;
        Ok(match (cursor.0, next) {
            (Position::After(revision), _) => revision,
            (Position::Before(_), None) => self.newest,
            (Position::Before(_), Some(entry)) => match self.gap {
                Some(gap) if gap.until == entry.revision => gap.after,
                _ => entry.revision.previous(),
            },
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
