//! A running watch: follows the log from its own position and never makes the writer wait.
//!
//! A watch that keeps up reads the last changes from memory; one that is behind reads the log.

use std::sync::Arc;

use ringwatch_core::revision::Revision;
use tokio::sync::watch;

use super::read::blocking;
use super::recent::Change;
use super::record::Record;
use super::shared::{Shared, closed};
use super::versions::{Held, Position};
use crate::storage::{ChangeSender, KeyChange, KeyValue, StorageError, WatchItem};

/// How many transactions or records one step looks at.
const STEP: usize = 256;

/// A position in the log, and who is told.
pub(super) struct Watch {
    pub(super) shared: Arc<Shared>,
    pub(super) prefix: Arc<str>,
    /// Everything up to here has been sent.
    pub(super) position: Revision,
    pub(super) sender: ChangeSender,
}

/// What was found, and up to where.
struct Found {
    items: Vec<WatchItem>,
    through: Revision,
}

impl Watch {
    /// Runs until the reader is gone, the store is closed, or the history is.
    pub(super) async fn run(mut self, mut committed: watch::Receiver<Revision>) {
        let mut asked = false;
        loop {
            let newest = *committed.borrow_and_update();
            if self.position < newest {
                match self.step(newest).await {
                    Ok(true) => continue,
                    Ok(false) => return,
                    Err(error) => {
                        self.sender.send(Err(error)).await;
                        return;
                    }
                }
            }
            // A watch from the future has nothing to say until the future is there.
            if asked && self.position == newest {
                asked = false;
                if !self.sender.send(Ok(WatchItem::Progress(newest))).await {
                    return;
                }
            }
            tokio::select! {
                changed = committed.changed() => if changed.is_err() {
                    self.sender.send(Err(closed())).await;
                    return;
                },
                present = self.sender.asked() => {
                    if !present {
                        return;
                    }
                    asked = true;
                }
            }
        }
    }

    /// Sends the next changes up to `newest`. `false`: nobody is there.
    async fn step(&mut self, newest: Revision) -> Result<bool, StorageError> {
        let found = match self.recent(newest)? {
            Some(found) => found,
            None => {
                let (shared, prefix, after) =
                    (self.shared.clone(), self.prefix.clone(), self.position);
                blocking(move || logged(&shared, &prefix, after, newest)).await?
            }
        };
        if !self.sender.send_all(found.items).await {
            return Ok(false);
        }
        self.position = found.through;
        tokio::task::yield_now().await;
        Ok(true)
    }

    /// The next changes, as far as they are in memory; `None` if the very next are not.
    fn recent(&self, newest: Revision) -> Result<Option<Found>, StorageError> {
        let transactions: Vec<_> = {
            let state = self.shared.state();
            state.check(self.position)?;
            let Some(recent) = state.recent.after(self.position) else {
                return Ok(None);
            };
            recent
                .take_while(|next| next.revision <= newest)
                .take(STEP)
                .cloned()
                .collect()
        };
        let mut found = Found {
            items: Vec::new(),
            through: self.position,
        };
        for transaction in transactions {
            let watched = transaction
                .changes
                .iter()
                .filter(|change| change.key.starts_with(&*self.prefix));
            let Some(changes) = watched.map(in_memory).collect() else {
                break;
            };
            found.push(transaction.revision, changes);
            found.through = transaction.revision;
        }
        Ok((found.through > self.position).then_some(found))
    }
}

impl Found {
    fn push(&mut self, revision: Revision, changes: Vec<KeyChange>) {
        if !changes.is_empty() {
            self.items.push(WatchItem::Changes { revision, changes });
        }
    }
}

/// A change with its values, if they are in memory.
fn in_memory(change: &Change) -> Option<KeyChange> {
    let with_value = |held: &Held| {
        let value = held.value.clone()?;
        Some(held.version.with(change.key.clone(), value))
    };
    let current = if change.current.version.is_deletion() {
        None
    } else {
        Some(with_value(&change.current)?)
    };
    let previous = match &change.previous {
        None => None,
        Some(held) => Some(with_value(held)?),
    };
    Some(KeyChange {
        key: change.key.clone(),
        current,
        previous,
    })
}

/// The next changes from the log. Blocks.
fn logged(
    shared: &Shared,
    prefix: &str,
    after: Revision,
    newest: Revision,
) -> Result<Found, StorageError> {
    let from = Position::start_of(Revision::new(after.get() + 1));
    let records = shared.with_log(|log| log.scan(from, newest, STEP))?;
    let full = records.len() >= STEP;
    let last = records.last().map(|(position, _)| position.revision);
    let mut found = Found {
        items: Vec::new(),
        // Less than was asked for is all there is.
        through: last.filter(|_| full).unwrap_or(newest),
    };
    for records in records.chunk_by(|(a, _), (b, _)| a.revision == b.revision) {
        let mut changes = Vec::new();
        for (position, bytes) in records {
            let record = Record::decode(*position, bytes)?;
            if record.key().starts_with(prefix) {
                changes.push(change(shared, record)?);
            }
        }
        found.push(records[0].0.revision, changes);
    }
    // Only now is it certain that nothing was removed while it was read.
    shared.state().check(after)?;
    Ok(found)
}

fn change(shared: &Shared, record: Record) -> Result<KeyChange, StorageError> {
    let before = record.version.position.revision.previous();
    let (key, held) = {
        let state = shared.state();
        let key = state.index.key(record.key()).cloned();
        (key, state.index.at(record.key(), before))
    };
    let key = key.unwrap_or_else(|| record.key().into());
    let previous: Option<KeyValue> = match held {
        None => None,
        Some(held) => {
            let value = shared.value(&held, before)?;
            Some(held.version.with(key.clone(), value))
        }
    };
    let version = record.version;
    let current = (!version.is_deletion()).then(|| version.with(key.clone(), record.value));
    Ok(KeyChange {
        key,
        current,
        previous,
    })
}
