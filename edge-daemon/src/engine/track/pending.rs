//! Changes that are not complete yet, one for each key: from what readers may have to what there will be.

use ringwatch_core::object::{Change, Object as _};
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;

use crate::engine::object::Object;
use crate::engine::shape::Shape;
use crate::engine::stored::Stored;

pub(super) struct Pending<S: Shape> {
    /// The first `len` are taken.
    places: S::Pending,
    len: usize,
    /// How many of them are deletions.
    deletions: usize,
    overflowed: bool,
    when: When,
    /// Counts the groups of changes, to tell what is of this one.
    group: u16,
}

/// Of when the changes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Never,
    /// All of one revision.
    At(Revision),
    Different,
}

impl<S: Shape> Pending<S> {
    /// Nothing, in these places, which are free.
    pub(super) const fn new(places: S::Pending) -> Self {
        Self {
            places,
            len: 0,
            deletions: 0,
            overflowed: false,
            when: When::Never,
            group: 0,
        }
    }

    /// Whether what there will be is what readers may have.
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0 && !self.overflowed
    }

    /// Whether there were more changes than places, so that they are not known.
    pub(super) const fn is_overflowed(&self) -> bool {
        self.overflowed
    }

    /// Whether all changes are of this revision: a transaction.
    pub(super) fn are_all_of(&self, revision: Revision) -> bool {
        self.when == When::At(revision)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Change<Object<S::Bytes>>> {
        let places = self.places.as_ref().iter().take(self.len);
        places.filter_map(Place::as_ref)
    }

    pub(super) fn find(&self, key: &str) -> Option<&Change<Object<S::Bytes>>> {
        self.iter()
            .find(|change| change.subject().key().as_str() == key)
    }

    pub(super) fn clear(&mut self) {
        if let Some(taken) = self.places.as_mut().get_mut(..self.len) {
            taken.fill_with(Place::default);
        }
        self.close();
        self.overflowed = false;
    }

    /// What comes from now on is another group.
    fn close(&mut self) {
        self.len = 0;
        self.deletions = 0;
        self.when = When::Never;
        self.group = self.group.wrapping_add(1);
    }

    /// The number of the group that is pending.
    pub(super) const fn group(&self) -> u16 {
        self.group
    }

    /// The first deletion after a key, in key order.
    pub(super) fn deleted_after(&self, key: Option<&str>) -> Option<&Object<S::Bytes>> {
        if self.deletions == 0 {
            return None;
        }
        let deleted = self.iter().filter(|change| change.current().is_none());
        let deleted = deleted.filter_map(Change::previous);
        deleted
            .filter(|object| key.is_none_or(|key| object.key().as_str() > key))
            .min_by(|one, other| one.key().cmp(&other.key()))
    }

    /// An object changes from `previous` to `current`, at `revision`. What was pending for its key becomes one with it.
    pub(super) fn record(
        &mut self,
        previous: Option<Stored<S::Bytes>>,
        current: Option<Object<S::Bytes>>,
        revision: Revision,
    ) {
        if self.overflowed {
            return;
        }
        self.when = match self.when {
            When::Never => When::At(revision),
            When::At(other) if other == revision => self.when,
            _ => When::Different,
        };
        // Most keys come once in a group, and need not be looked for.
        let again = match &previous {
            Some(previous) => previous.group == self.group,
            None => self.deletions > 0,
        };
        let previous = previous.map(|stored| stored.object);
        let Some(subject) = current.as_ref().or(previous.as_ref()) else {
            return;
        };
        let key = subject.key();
        let same = |place: &Place<Change<Object<S::Bytes>>>| {
            let change = place.as_ref();
            change.is_some_and(|change| change.subject().key() == key)
        };
        let taken = self.places.as_ref().iter().take(self.len);
        let found = if again {
            taken.clone().position(same)
        } else {
            None
        };
        let previous = match found.and_then(|index| self.remove(index)) {
            Some(Change::Put { previous, .. }) => previous,
            Some(Change::Delete { previous }) => Some(previous),
            None => previous,
        };
        let change = match (previous, current) {
            (None, None) => return,
            (Some(previous), None) => Change::Delete { previous },
            (Some(previous), Some(current)) if previous.revision() == current.revision() => return,
            (previous, Some(current)) => Change::Put { previous, current },
        };
        match self.places.as_mut().get_mut(self.len) {
            Some(place) => {
                self.deletions += usize::from(change.current().is_none());
                *place = Place::Taken(change);
                self.len += 1;
            }
            None => {
                self.clear();
                self.overflowed = true;
            }
        }
    }

    /// Takes a change out, and moves the later ones up: order is that of the upstream.
    fn remove(&mut self, index: usize) -> Option<Change<Object<S::Bytes>>> {
        let taken = self.places.as_mut().get_mut(index..self.len)?;
        let change = taken.first_mut()?.take()?;
        taken.rotate_left(1);
        self.len -= 1;
        self.deletions -= usize::from(change.current().is_none());
        Some(change)
    }

    /// Puts them into the order in which a difference is given: deletions, then the rest by revision.
    pub(super) fn sort(&mut self) {
        let rank = |place: &Place<Change<Object<S::Bytes>>>| {
            let current = place.as_ref().and_then(Change::current);
            current.map_or(Revision::ZERO, Object::revision_of)
        };
        if let Some(taken) = self.places.as_mut().get_mut(..self.len) {
            taken.sort_unstable_by_key(rank);
        }
    }

    /// Takes all of them, in order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Change<Object<S::Bytes>>> {
        let len = self.len;
        self.close();
        let places = self.places.as_mut().iter_mut().take(len);
        places.filter_map(Place::take)
    }
}
