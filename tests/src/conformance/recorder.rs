//! Writes to a space and remembers what a storage must say about it.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{Condition, KeyChange, KeyValue, Ttl, Write};

use super::store::{Store, bytes};
use crate::random::Random;

/// What a space holds.
pub(crate) type State = BTreeMap<Arc<str>, KeyValue>;

/// The changes of one revision, in key order: the trait leaves their order open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) revision: Revision,
    pub(crate) changes: Vec<KeyChange>,
}

impl Commit {
    pub(crate) fn new(revision: Revision, mut changes: Vec<KeyChange>) -> Self {
        changes.sort_by(|a, b| a.key.cmp(&b.key));
        Self { revision, changes }
    }

    /// Does to a state what the commit did.
    pub(crate) fn apply(&self, state: &mut State) {
        for change in &self.changes {
            match &change.current {
                Some(current) => drop(state.insert(change.key.clone(), current.clone())),
                None => drop(state.remove(&change.key)),
            }
        }
    }

    /// The part below a prefix; `None` if there is none.
    pub(crate) fn below(&self, prefix: &str) -> Option<Self> {
        let mut part = self.clone();
        part.changes.retain(|change| change.key.starts_with(prefix));
        (!part.changes.is_empty()).then_some(part)
    }
}

/// The only writer of a space.
pub(crate) struct Recorder<'a> {
    pub(crate) store: Store<'a>,
    /// What the space holds now.
    pub(crate) state: State,
    /// All commits, in order.
    pub(crate) commits: Vec<Commit>,
    /// The state after each commit.
    pub(crate) states: Vec<(Revision, State)>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(store: Store<'a>) -> Self {
        Self {
            store,
            state: State::new(),
            commits: Vec::new(),
            states: Vec::new(),
        }
    }

    /// Commits new values, or `None` for deletions, in one transaction.
    pub(crate) async fn write(&mut self, writes: &[(&str, Option<&str>)]) -> Revision {
        let writes = writes
            .iter()
            .map(|(name, value)| (*name, value.map(bytes)))
            .collect();
        self.write_bytes(writes).await
    }

    pub(crate) async fn write_bytes(&mut self, writes: Vec<(&str, Option<Bytes>)>) -> Revision {
        let writes: Vec<_> = writes
            .into_iter()
            .map(|(name, value)| {
                let key: Arc<str> = self.store.key(name).into();
                let before = self.state.get(&key);
                Write {
                    expected: before.map_or(Revision::ZERO, |before| before.mod_revision),
                    key,
                    value,
                    ttl: Ttl::None,
                }
            })
            .collect();
        let revision = self.store.commit(writes.clone()).await;
        let changes = writes
            .into_iter()
            .map(|write| self.change(write, revision))
            .collect();
        let commit = Commit::new(revision, changes);
        commit.apply(&mut self.state);
        self.commits.push(commit);
        self.states.push((revision, self.state.clone()));
        revision
    }

    /// Transactions of one to three creations, updates and deletions, the same for the same seed.
    pub(crate) async fn random(&mut self, seed: u64, transactions: usize) {
        const NAMES: [&str; 7] = ["a", "a-b/x", "a/x", "a/y", "b", "b.c", "c/d/e"];
        let mut random = Random::new(seed);
        for number in 0..transactions {
            let first = random.below(NAMES.len());
            let value = format!("value {number}");
            let writes: Vec<_> = (0..=random.below(3))
                .map(|offset| {
                    let name = NAMES[(first + offset) % NAMES.len()];
                    let exists = self.state.contains_key(self.store.key(name).as_str());
                    let deleted = exists && random.below(3) == 0;
                    (name, (!deleted).then_some(value.as_str()))
                })
                .collect();
            self.write(&writes).await;
        }
    }

    fn change(&self, write: Write, revision: Revision) -> KeyChange {
        let previous = self.state.get(&write.key).cloned();
        KeyChange {
            current: write.value.map(|value| KeyValue {
                key: write.key.clone(),
                value,
                mod_revision: revision,
                create_revision: previous.as_ref().map_or(revision, |p| p.create_revision),
                condition: Condition::Sound,
            }),
            key: write.key,
            previous,
        }
    }
}

/// A state as a list shows it.
pub(crate) fn items(state: &State) -> Vec<KeyValue> {
    state.values().cloned().collect()
}

/// A list as a state.
pub(crate) fn state(items: Vec<KeyValue>) -> State {
    items
        .into_iter()
        .map(|item| (item.key.clone(), item))
        .collect()
}
