//! The history as a cache can know it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringwatch_core::revision::Revision;

use super::history::{Change, History, State};

/// A stretch of revisions that the cache knows as a difference only, since it had to list anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bridge {
    /// The last revision that it knew before.
    pub after: Revision,
    /// The revision of the list.
    pub until: Revision,
}

impl Bridge {
    /// Whether a revision lies where nothing is known.
    pub(super) fn contains(&self, revision: Revision) -> bool {
        self.after < revision && revision < self.until
    }
}

/// Changes that a watch tells together.
#[derive(Debug)]
pub(super) struct Group {
    /// It replaces everything after this.
    pub(super) after: Revision,
    pub(super) revision: Revision,
    pub(super) changes: BTreeMap<Arc<str>, Change>,
}

/// What a cache that saw everything but the bridged stretches must tell.
#[derive(Debug)]
pub struct Timeline {
    pub(super) groups: Vec<Group>,
    pub(super) bridges: Vec<Bridge>,
    /// How many changes the ring holds.
    pub(super) capacity: usize,
}

impl Timeline {
    /// The history with the bridged stretches replaced by their differences, as a ring of so many changes tells it. Bridges come in
    /// order.
    pub fn new(history: &History, bridges: &[Bridge], capacity: usize) -> Self {
        let mut groups = Vec::new();
        let mut bridged = bridges.iter().peekable();
        let mut state = State::new();
        // The state before the bridge that is being crossed.
        let mut before: Option<State> = None;
        for (revision, changes) in &history.commits {
            while let Some(bridge) = bridged.next_if(|bridge| bridge.until < *revision) {
                groups.extend(difference(bridge, before.take(), &state));
            }
            if bridged
                .peek()
                .is_some_and(|bridge| bridge.after < *revision)
            {
                before.get_or_insert_with(|| state.clone());
            } else {
                groups.push(Group {
                    after: revision.previous(),
                    revision: *revision,
                    changes: by_key(changes.iter().cloned()),
                });
            }
            changes.iter().for_each(|change| change.apply(&mut state));
        }
        for bridge in bridged {
            groups.extend(difference(bridge, before.take(), &state));
        }
        Self {
            groups,
            bridges: bridges.to_vec(),
            capacity,
        }
    }

    /// The place of the group that a deletion shown at a revision belongs to, if it is one in a bridged stretch: nobody
    /// knows when it was, so it is shown at the revision before.
    pub(super) fn bridged_deletion(&self, key: &str, revision: Revision) -> Option<usize> {
        let place = self.first_after(revision);
        let group = self.groups.get(place)?;
        let change = group.changes.get(key)?;
        let here = self.is_bridged(group) && group.after == revision && change.after.is_none();
        here.then_some(place)
    }

    /// The revision that a change must be shown at.
    pub(super) fn shown_at(&self, group: usize, change: &Change) -> Revision {
        let group = &self.groups[group];
        match &change.after {
            Some(after) => after.revision,
            None if self.is_bridged(group) => group.after,
            None => group.revision,
        }
    }

    fn is_bridged(&self, group: &Group) -> bool {
        let mut bridges = self.bridges.iter();
        bridges.any(|bridge| (bridge.after, bridge.until) == (group.after, group.revision))
    }

    /// The place of the group that a shown revision belongs to.
    pub(super) fn group_at(&self, revision: Revision) -> Option<usize> {
        let place = self.first_after(revision.previous());
        let group = self.groups.get(place)?;
        (group.after < revision).then_some(place)
    }

    /// The place of the first group after a revision.
    pub(super) fn first_after(&self, revision: Revision) -> usize {
        self.groups
            .partition_point(|group| group.revision <= revision)
    }

    /// What there was at a revision.
    pub(super) fn state_at(&self, revision: Revision) -> State {
        let mut state = State::new();
        for group in self.groups.iter().take(self.first_after(revision)) {
            group
                .changes
                .values()
                .for_each(|change| change.apply(&mut state));
        }
        state
    }

    /// Whether the ring can have dropped a change after `position` by the time it was at `newest`.
    pub(super) fn can_have_lost(&self, position: Revision, newest: Revision) -> bool {
        let since = self.groups.get(self.first_after(position)..);
        let until = since.into_iter().flatten();
        let until = until.take_while(|group| group.revision <= newest);
        until.map(|group| group.changes.len()).sum::<usize>() > self.capacity
    }
}

/// `before` is `None` if nothing happened on the way.
fn difference(bridge: &Bridge, before: Option<State>, now: &State) -> Option<Group> {
    let before = before?;
    let keys = before.keys().chain(now.keys());
    let changes = keys.map(|key| Change {
        key: key.clone(),
        before: before.get(key).cloned(),
        after: now.get(key).cloned(),
    });
    let revision =
        |version: &Option<Arc<super::Version>>| version.as_ref().map(|version| version.revision);
    let changes =
        by_key(changes.filter(|change| revision(&change.before) != revision(&change.after)));
    (!changes.is_empty()).then_some(Group {
        after: bridge.after,
        revision: bridge.until,
        changes,
    })
}

fn by_key(changes: impl Iterator<Item = Change>) -> BTreeMap<Arc<str>, Change> {
    changes.map(|change| (change.key.clone(), change)).collect()
}
