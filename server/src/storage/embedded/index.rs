//! Which keys there are and were, in memory.
//!
//! The index knows every version since the last compaction, also those that are decided but not yet on the disk:
//! a reader names the revision it reads at, and sees nothing newer.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use ringwatch_core::revision::Revision;

use super::versions::{Held, Position, Version, Versions};

/// The keys and their versions.
#[derive(Debug)]
pub(super) struct Index {
    keys: BTreeMap<Arc<str>, Versions>,
    /// How many bytes of values are in memory, and may be.
    held: usize,
    budget: usize,
    /// Where the search for values to let go goes on. It circles over the keys: that needs no memory, and no write by readers, as
    /// an order of last use would.
    hand: Option<Arc<str>>,
}

impl Index {
    pub(super) fn new(budget: usize) -> Self {
        Self {
            keys: BTreeMap::new(),
            held: 0,
            budget,
            hand: None,
        }
    }

    /// The key as the index knows it, so that its text is in memory once.
    pub(super) fn key(&self, key: &str) -> Option<&Arc<str>> {
        self.keys.get_key_value(key).map(|(key, _)| key)
    }

    /// A key as it was decided last.
    pub(super) fn newest(&self, key: &str) -> Option<&Held> {
        let newest = self.keys.get(key)?.newest();
        (!newest.version.is_deletion()).then_some(newest)
    }

    /// A key as it was at a revision.
    pub(super) fn at(&self, key: &str, revision: Revision) -> Option<Held> {
        let (version, value) = self.keys.get(key)?.at(revision)?;
        Some(Held {
            version,
            value: value.cloned(),
        })
    }

    /// Adds the newest version of a key; what it was before.
    pub(super) fn push(&mut self, key: Arc<str>, newest: Held) -> Option<Held> {
        self.held += length(&newest);
        let before = match self.keys.get_mut(&key) {
            Some(versions) => Some(versions.push(newest)),
            None => {
                self.keys.insert(key, Versions::new(newest));
                None
            }
        };
        if let Some(before) = &before {
            self.held -= length(before);
        }
        before.filter(|before| !before.version.is_deletion())
    }

    /// Whether a value of that size can be kept without letting another go.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.held + bytes <= self.budget
    }

    /// Lets values go until the rest is within the budget.
    pub(super) fn shrink(&mut self) {
        // Once around finds everything there is.
        for _ in 0..2 {
            if self.held <= self.budget {
                return;
            }
            let start = self.hand.take();
            for (key, versions) in self.keys.range_mut::<str, _>(from(start.as_deref())) {
                self.held -= versions.let_go();
                if self.held <= self.budget {
                    self.hand = Some(key.clone());
                    return;
                }
            }
        }
    }

    /// Shows the keys with a prefix after a key, as they were at a revision, but looks at no more than `count`.
    /// Returns the last key looked at if there may be more.
    pub(super) fn scan(
        &self,
        prefix: &str,
        after: Option<&str>,
        revision: Revision,
        count: usize,
        mut show: impl FnMut(&Arc<str>, Version, Option<&Bytes>),
    ) -> Option<Arc<str>> {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let range = self.keys.range::<str, _>((start, Bound::Unbounded));
        let mut keys = range.take_while(|(key, _)| key.starts_with(prefix));
        let mut last = None;
        for (key, versions) in keys.by_ref().take(count) {
            if let Some((version, value)) = versions.at(revision) {
                show(key, version, value);
            }
            last = Some(key);
        }
        keys.next()?;
        last.cloned()
    }

    /// Removes what no state from `floor` on contains, from no more than `count` keys after a key; notes where it was
    /// in the log. Returns the last key looked at if there may be more.
    pub(super) fn sweep(
        &mut self,
        after: Option<&str>,
        floor: Revision,
        count: usize,
        doomed: &mut Vec<Position>,
    ) -> Option<Arc<str>> {
        let mut gone = Vec::new();
        let mut range = self.keys.range_mut::<str, _>(from(after));
        let mut last = None;
        for (key, versions) in range.by_ref().take(count) {
            if versions.prune(floor, doomed) {
                gone.push(key.clone());
            }
            last = Some(key.clone());
        }
        let more = range.next().is_some();
        for key in gone {
            self.keys.remove(&key);
        }
        last.filter(|_| more)
    }
}

fn from(after: Option<&str>) -> (Bound<&str>, Bound<&str>) {
    (
        after.map_or(Bound::Unbounded, Bound::Excluded),
        Bound::Unbounded,
    )
}

fn length(held: &Held) -> usize {
    held.value.as_ref().map_or(0, Bytes::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(index: &mut Index, key: &str, revision: u64, bytes: usize) {
        let revision = Revision::new(revision);
        let version = Version {
            position: Position::start_of(revision),
            created: revision,
        };
        let value = Some(vec![0; bytes].into());
        index.push(key.into(), Held { version, value });
    }

    #[test]
    fn values_in_memory_stay_within_the_budget() {
        let mut index = Index::new(100);
        for round in 0..10 {
            for key in ["a", "b", "c", "d", "e"] {
                push(&mut index, key, 2 + round, 30);
                index.shrink();
                let values = index.keys.values().map(|key| length(key.newest()));
                let held: usize = values.sum();
                assert_eq!(held, index.held);
                assert!((61..=100).contains(&held) || index.keys.len() < 3);
            }
        }
    }

    #[test]
    fn a_scan_stops_and_goes_on() {
        let mut index = Index::new(usize::MAX);
        for (key, revision) in [("/a/1", 2), ("/a/2", 3), ("/a/3", 9), ("/b/1", 4)] {
            push(&mut index, key, revision, 1);
        }
        let scan = |after: Option<&str>| {
            let mut keys = Vec::new();
            let show = |key: &Arc<str>, _, _: Option<&Bytes>| keys.push(key.to_string());
            let more = index.scan("/a/", after, Revision::new(5), 2, show);
            (keys, more)
        };
        assert_eq!(
            scan(None),
            (vec!["/a/1".into(), "/a/2".into()], Some("/a/2".into()))
        );
        assert_eq!(scan(Some("/a/2")), (vec![], None));
        // A start before the range is the start of the range.
        assert_eq!(scan(Some("/")).0.len(), 2);
    }
}
