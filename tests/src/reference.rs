//! A storage that is simple enough to be right: every state it ever had, in a list.
//!
//! The conformance suite is checked against it, and other tests use it where any storage will do. It keeps
//! everything in memory, copies the whole state with each commit, and promises nothing about speed.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use async_trait::async_trait;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{
    ChangeSender, Changes, Condition, Got, KeyChange, KeyValue, List, Outcome, Page, Storage,
    StorageError, Ttl, WatchItem, Write,
};
use tokio::{sync::watch, time::Instant};

/// What exists at one revision.
type State = BTreeMap<Arc<str>, KeyValue>;

/// The storage. A clone is another handle to the same one.
#[derive(Clone, Debug)]
pub struct Reference {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Never held across an await.
    history: Mutex<History>,
    /// The newest revision, to wake the watches.
    newest: watch::Sender<Revision>,
}

#[derive(Debug)]
struct History {
    /// The state at revision `n` is `states[n]`.
    states: Vec<State>,
    /// The oldest revision that may be read.
    floor: usize,
    /// When keys are to go.
    deadlines: BTreeMap<Arc<str>, Instant>,
}

impl Reference {
    /// An empty store at revision 1, where a new etcd begins.
    pub fn new() -> Self {
        let history = Mutex::new(History {
            states: vec![State::new(), State::new()],
            floor: 0,
            deadlines: BTreeMap::new(),
        });
        let newest = watch::Sender::new(Revision::new(1));
        Self {
            shared: Arc::new(Shared { history, newest }),
        }
    }
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Storage for Reference {
    async fn get(&self, key: &str) -> Result<Got, StorageError> {
        let history = self.shared.history();
        Ok(Got {
            found: history.newest().get(key).cloned(),
            revision: history.revision(),
        })
    }

    async fn list(&self, list: &List) -> Result<Page, StorageError> {
        let history = self.shared.history();
        let revision = list.at.unwrap_or(history.revision());
        let start = match &list.after {
            Some(after) if *after >= list.prefix => Bound::Excluded(after.as_str()),
            _ => Bound::Included(list.prefix.as_str()),
        };
        let mut items: Vec<_> = history
            .at(revision)?
            .range::<str, _>((start, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(&list.prefix))
            .map(|(_, found)| found.clone())
            .collect();
        let limit = if list.limit == 0 {
            items.len()
        } else {
            list.limit
        };
        let remaining = items.len().saturating_sub(limit) as u64;
        items.truncate(limit);
        Ok(Page {
            items,
            revision,
            remaining,
        })
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<Outcome, StorageError> {
        let mut history = self.shared.history();
        let outcome = history.commit(&writes)?;
        if let Outcome::Committed(revision) = outcome {
            self.shared.newest.send_replace(revision);
            for write in writes {
                if let Some(deadline) = history.deadlines.get(&write.key) {
                    let shared = Arc::downgrade(&self.shared);
                    tokio::spawn(expire(shared, write.key, *deadline));
                }
            }
        }
        Ok(outcome)
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<Changes, StorageError> {
        let (sender, changes) = Changes::channel();
        let newest = self.shared.newest.subscribe();
        let shared = Arc::downgrade(&self.shared);
        tokio::spawn(feed(shared, newest, prefix.to_owned(), after, sender));
        Ok(changes)
    }

    async fn revision(&self) -> Result<Revision, StorageError> {
        Ok(self.shared.history().revision())
    }

    async fn compact(&self, revision: Revision) -> Result<(), StorageError> {
        let mut history = self.shared.history();
        history.at(revision)?;
        history.floor = revision.get() as usize;
        Ok(())
    }

    fn compacted(&self) -> Revision {
        Revision::new(self.shared.history().floor as u64)
    }
}

impl Shared {
    fn history(&self) -> MutexGuard<'_, History> {
        // A state is put into the list whole, so a panic elsewhere leaves nothing half done.
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    fn revision(&self) -> Revision {
        Revision::new(self.states.len() as u64 - 1)
    }

    fn newest(&self) -> &State {
        &self.states[self.states.len() - 1]
    }

    fn at(&self, revision: Revision) -> Result<&State, StorageError> {
        let wanted = revision.get() as usize;
        if wanted < self.floor {
            return Err(StorageError::Compacted {
                floor: Some(Revision::new(self.floor as u64)),
            });
        }
        self.states.get(wanted).ok_or(StorageError::Future {
            newest: Some(self.revision()),
        })
    }

    fn commit(&mut self, writes: &[Write]) -> Result<Outcome, StorageError> {
        let keys: BTreeSet<_> = writes.iter().map(|write| &write.key).collect();
        if keys.is_empty() || keys.len() < writes.len() {
            return Err(StorageError::Refused(
                "no write, or a key that occurs twice".into(),
            ));
        }
        let current: Vec<_> = writes
            .iter()
            .map(|write| self.newest().get(&write.key).cloned())
            .collect();
        let as_expected = |(write, found): (&Write, &Option<KeyValue>)| {
            let there = found.as_ref().map_or(Revision::ZERO, |f| f.mod_revision);
            write.expected == there
        };
        if !writes.iter().zip(&current).all(as_expected) {
            return Ok(Outcome::Conflict {
                current,
                revision: self.revision(),
            });
        }
        let mut state = self.newest().clone();
        let revision = Revision::new(self.states.len() as u64);
        for (write, before) in writes.iter().zip(current) {
            match (&write.value, write.ttl) {
                (Some(_), Ttl::Keep) => {}
                (Some(_), Ttl::After(ttl)) => {
                    let deadline = Instant::now() + ttl;
                    self.deadlines.insert(write.key.clone(), deadline);
                }
                (None, _) | (_, Ttl::None) => drop(self.deadlines.remove(&write.key)),
            }
            match &write.value {
                None => drop(state.remove(&write.key)),
                Some(value) => {
                    let now = KeyValue {
                        key: write.key.clone(),
                        value: value.clone(),
                        mod_revision: revision,
                        create_revision: before.map_or(revision, |before| before.create_revision),
                        condition: Condition::Sound,
                    };
                    state.insert(write.key.clone(), now);
                }
            }
        }
        self.states.push(state);
        Ok(Outcome::Committed(revision))
    }

    /// What the transaction at `revision` changed below `prefix`.
    fn changes(&self, prefix: &str, revision: Revision) -> Result<Vec<KeyChange>, StorageError> {
        let before = self.at(revision.previous())?;
        let after = self.at(revision)?;
        let keys: BTreeSet<_> = below(before, prefix).chain(below(after, prefix)).collect();
        Ok(keys
            .into_iter()
            .map(|key| KeyChange {
                key: key.clone(),
                current: after.get(key).cloned(),
                previous: before.get(key).cloned(),
            })
            .filter(|change| change.current != change.previous)
            .collect())
    }
}

/// The keys that begin with `prefix`.
fn below<'a>(state: &'a State, prefix: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
    state
        .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
        .map(|(key, _)| key)
        .take_while(move |key| key.starts_with(prefix))
}

/// Yields the changes one revision at a time, for as long as someone watches.
async fn feed(
    shared: Weak<Shared>,
    mut newest: watch::Receiver<Revision>,
    prefix: String,
    after: Revision,
    mut sender: ChangeSender,
) {
    let mut done = after;
    let mut progress_wanted = false;
    loop {
        let reached = *newest.borrow_and_update();
        while done < reached {
            let next = Revision::new(done.get() + 1);
            let changes = match shared.upgrade() {
                Some(shared) => shared.history().changes(&prefix, next),
                None => return,
            };
            let item = changes.map(|changes| WatchItem::Changes {
                revision: next,
                changes,
            });
            let nothing =
                matches!(&item, Ok(WatchItem::Changes { changes, .. }) if changes.is_empty());
            let failed = item.is_err();
            if !nothing && !sender.send(item).await || failed {
                return;
            }
            done = next;
        }
        if progress_wanted {
            let progress = WatchItem::Progress(done.min(reached));
            if !sender.send(Ok(progress)).await {
                return;
            }
        }
        tokio::select! {
            changed = newest.changed() => {
                if changed.is_err() {
                    return;
                }
                progress_wanted = false;
            }
            // The answer comes after what was committed before the question: the loop looks there first.
            asked = sender.asked() => {
                if !asked {
                    return;
                }
                progress_wanted = true;
            }
        }
    }
}

/// Deletes the key at its deadline, unless a later write has given it another.
async fn expire(shared: Weak<Shared>, key: Arc<str>, deadline: Instant) {
    tokio::time::sleep_until(deadline).await;
    let Some(shared) = shared.upgrade() else {
        return;
    };
    let mut history = shared.history();
    if history.deadlines.get(&key) != Some(&deadline) {
        return;
    }
    let Some(written) = history.newest().get(&key).map(|found| found.mod_revision) else {
        return;
    };
    if let Ok(Outcome::Committed(revision)) = history.commit(&[Write::delete(key, written)]) {
        shared.newest.send_replace(revision);
    }
}
