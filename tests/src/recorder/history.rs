//! What really happened, commit by commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use serde_json::Value;

/// One value of one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The key in storage.
    pub key: Arc<str>,
    /// When it was written.
    pub revision: Revision,
    /// What was written; null if it was no JSON.
    pub json: Value,
}

/// What there was: the version of each key.
pub(super) type State = BTreeMap<Arc<str>, Arc<Version>>;

/// A key, before and after.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) key: Arc<str>,
    pub(super) before: Option<Arc<Version>>,
    pub(super) after: Option<Arc<Version>>,
}

impl Change {
    pub(super) fn apply(&self, state: &mut State) {
        match &self.after {
            Some(after) => drop(state.insert(self.key.clone(), after.clone())),
            None => drop(state.remove(&self.key)),
        }
    }
}

/// All commits to one resource, in order, since it was empty.
#[derive(Debug, Clone)]
pub struct History {
    pub(super) start: Revision,
    pub(super) commits: Vec<(Revision, Vec<Change>)>,
    state: State,
}

impl History {
    /// Nothing has happened up to `start`.
    pub fn new(start: Revision) -> Self {
        Self {
            start,
            commits: Vec::new(),
            state: State::new(),
        }
    }

    /// The revision of the last commit.
    pub fn newest(&self) -> Revision {
        self.commits
            .last()
            .map_or(self.start, |(newest, _)| *newest)
    }

    /// How many changes there were.
    pub fn len(&self) -> usize {
        self.commits.iter().map(|(_, changes)| changes.len()).sum()
    }

    /// Whether nothing has happened.
    pub fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// The revision of a key's last change; `None` if there is no such key now.
    pub fn revision_of(&self, key: &str) -> Option<Revision> {
        self.state.get(key).map(|version| version.revision)
    }

    /// How many keys there are now.
    pub fn keys(&self) -> usize {
        self.state.len()
    }

    /// Whether a commit at this revision changed exactly these keys.
    pub fn holds(&self, revision: Revision, keys: &[Arc<str>]) -> bool {
        let found = self.commits.binary_search_by_key(&revision, |(at, _)| *at);
        let changes = found.ok().and_then(|place| self.commits.get(place));
        changes.is_some_and(|(_, changes)| {
            changes.len() == keys.len() && changes.iter().all(|change| keys.contains(&change.key))
        })
    }

    /// Adds a commit: each key's new value, or `None` if it was deleted. Gives `false`, and adds nothing, if it is not newer
    /// than the last one.
    pub fn push(
        &mut self,
        revision: Revision,
        changes: impl IntoIterator<Item = (Arc<str>, Option<Bytes>)>,
    ) -> bool {
        if revision <= self.newest() {
            return false;
        }
        let changes = changes.into_iter().map(|(key, value)| {
            let after = value.map(|value| {
                Arc::new(Version {
                    key: key.clone(),
                    revision,
                    json: serde_json::from_slice(&value).unwrap_or_default(),
                })
            });
            let change = Change {
                before: self.state.get(&key).cloned(),
                after,
                key,
            };
            change.apply(&mut self.state);
            change
        });
        let changes = changes.collect();
        self.commits.push((revision, changes));
        true
    }
}
