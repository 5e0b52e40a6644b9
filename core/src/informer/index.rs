//! Finding objects by a term instead of by key.
//!
//! ```
//! use ringwatch_core::informer::{ByTerm, Informer};
//! use ringwatch_core::revision::Revision;
//!
//! struct Lamp { room: u8, level: u8 }
//! let by_room = ByTerm::<_, u8, [_; 4]>::array(|lamp: &Lamp| Some(lamp.room));
//! let mut lamps = Informer::<heapless::String<8>, Lamp, [_; 4], _>::new(Default::default(), by_room);
//! for (key, room, level) in [("a", 1, 10), ("b", 2, 20), ("c", 1, 30)] {
//!     lamps.put(key, Revision::new(1), Lamp { room, level }, &mut ()).map_err(|r| r.reason).unwrap();
//! }
//! let levels: Vec<u8> = lamps.with_term(&1).map(|(_, lamp)| lamp.level).collect();
//! assert_eq!(levels, [10, 30]);
//! ```

use core::borrow::Borrow;

use super::{Held, Informer};
use crate::slots::{Place, Slots};
use crate::store::index::{Index, IndexFull};
use crate::store::{Slot, SlotId};

/// Keeps track of which places hold what.
pub trait TermIndex<T> {
    /// The value in a place changes from `before` to `after`. On an error nothing has changed.
    fn change(
        &mut self,
        id: SlotId,
        before: Option<&T>,
        after: Option<&T>,
    ) -> Result<(), IndexFull>;
}

/// No index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoIndex;

impl<T> TermIndex<T> for NoIndex {
    fn change(&mut self, _: SlotId, _: Option<&T>, _: Option<&T>) -> Result<(), IndexFull> {
        Ok(())
    }
}

/// An index by one term of each value, for example a label's value or an enum field.
#[derive(Debug)]
pub struct ByTerm<T, Term, S> {
    term: fn(&T) -> Option<Term>,
    index: Index<Term, S>,
}

impl<T, Term: Ord, S: Slots<Place<(Term, SlotId)>>> ByTerm<T, Term, S> {
    /// An index over storage of the caller's choice; `term` says under what a value is found.
    pub fn new(slots: S, term: fn(&T) -> Option<Term>) -> Self {
        Self {
            term,
            index: Index::new(slots),
        }
    }
}

impl<T, Term, const N: usize> ByTerm<T, Term, [Place<(Term, SlotId)>; N]> {
    /// An index in an array of `N` places.
    pub const fn array(term: fn(&T) -> Option<Term>) -> Self {
        Self {
            term,
            index: Index::array(),
        }
    }
}

impl<T, Term: Ord, S: Slots<Place<(Term, SlotId)>>> TermIndex<T> for ByTerm<T, Term, S> {
    fn change(
        &mut self,
        id: SlotId,
        before: Option<&T>,
        after: Option<&T>,
    ) -> Result<(), IndexFull> {
        let before = before.and_then(self.term);
        let after = after.and_then(self.term);
        if before == after {
            return Ok(());
        }
        // Taking out first makes the room for putting in; if there was nothing to take out, putting
        // in is the only thing that can fail.
        if let Some(before) = before {
            self.index.remove(&before, id);
        }
        after.map_or(Ok(()), |after| self.index.insert(after, id))
    }
}

impl<K, T, S, Term, I> Informer<K, T, S, ByTerm<T, Term, I>>
where
    K: Ord + Borrow<str> + for<'a> TryFrom<&'a str>,
    S: Slots<Slot<K, Held<T>>>,
    Term: Ord,
    I: Slots<Place<(Term, SlotId)>>,
{
    /// The keys and values that have this term, in no particular order.
    pub fn with_term(&self, term: &Term) -> impl Iterator<Item = (&str, &T)> {
        self.index
            .index
            .ids(term)
            .filter_map(|id| self.store.entry(id))
            .map(|entry| (entry.key.borrow(), &entry.value.value))
    }
}
