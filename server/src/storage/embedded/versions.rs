//! The versions of one key: when it was what.

use std::sync::Arc;

use bytes::Bytes;
use ringwatch_core::revision::Revision;

use crate::storage::{Condition, KeyValue};

/// Where a version is in the log: its revision, and its place among the writes of that revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) revision: Revision,
    pub(super) place: u32,
}

impl Position {
    /// Before every write of this revision, or at the first.
    pub(super) fn start_of(revision: Revision) -> Self {
        Self { revision, place: 0 }
    }

    /// Directly after this one.
    pub(super) fn next(self) -> Self {
        Self {
            place: self.place + 1,
            ..self
        }
    }
}

/// What a key became at a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) position: Position,
    /// When the key came into being; [`Revision::ZERO`] if this version is a deletion.
    pub(super) created: Revision,
}

impl Version {
    pub(super) fn is_deletion(self) -> bool {
        self.created == Revision::ZERO
    }

    pub(super) fn with(self, key: Arc<str>, value: Bytes) -> KeyValue {
        KeyValue {
            key,
            value,
            mod_revision: self.position.revision,
            create_revision: self.created,
            condition: Condition::Sound,
        }
    }
}

/// A version with its value, if that is in memory. `None` is read from the log.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) version: Version,
    pub(super) value: Option<Bytes>,
}

/// All known versions of a key.
#[derive(Debug)]
pub(super) struct Versions {
    newest: Held,
    /// In order. Most keys have none after a compaction, and an empty `Vec` owns no memory.
    older: Vec<Version>,
}

impl Versions {
    pub(super) fn new(first: Held) -> Self {
        Self {
            newest: first,
            older: Vec::new(),
        }
    }

    /// The newest version, which may be a deletion.
    pub(super) fn newest(&self) -> &Held {
        &self.newest
    }

    /// Adds a version and hands back what was the newest before.
    pub(super) fn push(&mut self, newest: Held) -> Held {
        self.older.push(self.newest.version);
        std::mem::replace(&mut self.newest, newest)
    }

    /// Forgets the value of the newest version; how many bytes that were.
    pub(super) fn let_go(&mut self) -> usize {
        self.newest.value.take().map_or(0, |value| value.len())
    }

    /// What the key was at a revision, with the value if it is at hand; `None` if it did not exist.
    pub(super) fn at(&self, revision: Revision) -> Option<(Version, Option<&Bytes>)> {
        let found = if self.newest.version.position.revision <= revision {
            (self.newest.version, self.newest.value.as_ref())
        } else {
            let end = self
                .older
                .partition_point(|version| version.position.revision <= revision);
            (*self.older.get(end.checked_sub(1)?)?, None)
        };
        (!found.0.is_deletion()).then_some(found)
    }

    /// Removes what no state from `floor` on contains, and notes where it was. `true`: nothing is left.
    pub(super) fn prune(&mut self, floor: Revision, doomed: &mut Vec<Position>) -> bool {
        if self.newest.version.position.revision <= floor {
            doomed.extend(self.older.iter().map(|version| version.position));
            self.older = Vec::new();
            let gone = self.newest.version.is_deletion();
            if gone {
                doomed.push(self.newest.version.position);
            }
            return gone;
        }
        let end = self
            .older
            .partition_point(|version| version.position.revision <= floor);
        // The last of those is what the key was at the floor, unless it was not.
        let keep = end
            .checked_sub(1)
            .filter(|&last| !self.older[last].is_deletion())
            .unwrap_or(end);
        doomed.extend(self.older.drain(..keep).map(|version| version.position));
        if self.older.is_empty() {
            self.older = Vec::new();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(revision: u64, created: u64) -> Held {
        Held {
            version: Version {
                position: Position::start_of(Revision::new(revision)),
                created: Revision::new(created),
            },
            value: None,
        }
    }

    /// Created at 2, changed at 5, deleted at 7, created at 9.
    fn versions() -> Versions {
        let mut versions = Versions::new(held(2, 2));
        versions.push(held(5, 2));
        versions.push(held(7, 0));
        versions.push(held(9, 9));
        versions
    }

    fn revision_at(versions: &Versions, revision: u64) -> u64 {
        versions
            .at(Revision::new(revision))
            .map_or(0, |(version, _)| version.position.revision.get())
    }

    #[test]
    fn the_past_is_found() {
        let versions = versions();
        let found: Vec<_> = (1..=10).map(|at| revision_at(&versions, at)).collect();
        assert_eq!(found, [0, 2, 2, 2, 5, 5, 0, 0, 9, 9]);
    }

    #[test]
    fn pruning_keeps_every_state_from_the_floor_on() {
        for floor in 1..=10 {
            let (whole, mut pruned) = (versions(), versions());
            let mut doomed = Vec::new();
            assert!(!pruned.prune(Revision::new(floor), &mut doomed));
            for at in floor..=10 {
                assert_eq!(revision_at(&pruned, at), revision_at(&whole, at));
            }
            let expected = [0, 0, 0, 0, 1, 1, 3, 3, 3, 3][floor as usize - 1];
            assert_eq!(doomed.len(), expected, "floor {floor}");
        }
    }

    #[test]
    fn a_deleted_key_goes_once_its_deletion_is_below_the_floor() {
        let mut versions = Versions::new(held(2, 2));
        versions.push(held(3, 0));
        let mut doomed = Vec::new();
        assert!(!versions.prune(Revision::new(2), &mut doomed));
        assert!(doomed.is_empty());
        assert!(versions.prune(Revision::new(3), &mut doomed));
        assert_eq!(doomed.len(), 2);
    }
}
