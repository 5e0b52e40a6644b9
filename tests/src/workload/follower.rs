//! The true history, from the storage itself.

use std::sync::Arc;

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{Changes, Storage, WatchItem};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::devices::PREFIX;
use crate::recorder::History;

/// Follows a storage from when the resource was empty.
///
/// Each change must begin where the last one to its key ended, so a watch that loses or repeats something is noticed here
/// and does not become the truth.
pub struct Follower {
    task: JoinHandle<History>,
    newest: watch::Receiver<Revision>,
    wanted: watch::Sender<Revision>,
}

impl Follower {
    /// Begins to follow.
    ///
    /// # Panics
    ///
    /// If the storage does not answer.
    pub async fn start(storage: &Arc<dyn Storage>) -> Self {
        let start = storage.revision().await.expect("a revision");
        let changes = storage.watch(PREFIX, start).await.expect("a watch");
        let (newest, seen) = watch::channel(start);
        let (wanted, until) = watch::channel(Revision::new(u64::MAX));
        Self {
            task: tokio::spawn(follow(History::new(start), changes, newest, until)),
            newest: seen,
            wanted,
        }
    }

    /// How far it is.
    pub fn newest(&self) -> Revision {
        *self.newest.borrow()
    }

    /// Waits until it has a change, so that the storage may forget it.
    ///
    /// # Panics
    ///
    /// If the storage contradicted itself.
    pub async fn reached(&self, revision: Revision) {
        let mut newest = self.newest.clone();
        let reached = newest.wait_for(|newest| *newest >= revision).await;
        reached.expect("a history without contradictions");
    }

    /// Follows until `revision`, which is that of a change, and gives what happened.
    ///
    /// # Panics
    ///
    /// If the storage contradicted itself.
    pub async fn until(self, revision: Revision) -> History {
        self.wanted.send_replace(revision);
        self.task.await.expect("a history without contradictions")
    }
}

async fn follow(
    mut history: History,
    mut changes: Changes,
    newest: watch::Sender<Revision>,
    mut until: watch::Receiver<Revision>,
) -> History {
    loop {
        if history.newest() >= *until.borrow_and_update() {
            return history;
        }
        let item = tokio::select! {
            item = changes.next() => item,
            _ = until.changed() => continue,
        };
        match item {
            Some(Ok(WatchItem::Progress(_))) => {}
            Some(Ok(WatchItem::Changes { revision, changes })) => {
                for change in &changes {
                    let before = change.previous.as_ref().map(|before| before.mod_revision);
                    let known = history.revision_of(&change.key);
                    assert_eq!(before, known, "{} at {revision}", change.key);
                }
                let changes = changes
                    .into_iter()
                    .map(|change| (change.key, change.current.map(|current| current.value)));
                let newer = history.push(revision, changes);
                assert!(newer, "{revision} comes after {}", history.newest());
                newest.send_replace(revision);
            }
            other => panic!("the watch ended: {other:?}"),
        }
    }
}
