//! What the writer and the readers share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use tokio::sync::watch;

use super::index::Index;
use super::log::Log;
use super::recent::Recent;
use super::record::Record;
use super::versions::{Held, Position};
use crate::storage::StorageError;

/// The state in memory.
#[derive(Debug)]
pub(super) struct State {
    pub(super) index: Index,
    pub(super) recent: Recent,
    /// The oldest state that is known. Raised before anything is removed: what was read is right if the floor is
    /// not above its revision afterwards.
    pub(super) floor: Revision,
}

impl State {
    /// Whether the state at a revision is known.
    pub(super) fn check(&self, revision: Revision) -> Result<(), StorageError> {
        if revision < self.floor {
            return Err(StorageError::Compacted {
                floor: Some(self.floor),
            });
        }
        Ok(())
    }
}

/// The state, the log and how far they are committed.
pub(super) struct Shared {
    /// Plain maps under a lock, not a persistent map, which copies nodes with every write. The writer holds it for the
    /// decisions of one batch or one step of a sweep (under a millisecond), a reader for one chunk of keys, and none of them
    /// across an `await` or a read from the disk.
    state: RwLock<State>,
    /// `None` once the store is closed. Readers hold it while they read, so that closing waits for them and then truly
    /// releases the folder. Only closing writes.
    log: RwLock<Option<Box<dyn Log>>>,
    /// The newest revision that is acknowledged or about to be. Readers look at nothing after it.
    committed: watch::Receiver<Revision>,
    /// Whether a write has failed: there will be no other.
    failed: AtomicBool,
}

impl Shared {
    pub(super) fn new(
        state: State,
        log: Box<dyn Log>,
        committed: watch::Receiver<Revision>,
    ) -> Self {
        Self {
            state: RwLock::new(state),
            log: RwLock::new(Some(log)),
            committed,
            failed: AtomicBool::new(false),
        }
    }

    pub(super) fn is_writable(&self) -> bool {
        !self.failed.load(Ordering::Relaxed)
    }

    /// A write has failed.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn committed(&self) -> Revision {
        *self.committed.borrow()
    }

    /// To be woken by commits, and by the end of the writer.
    pub(super) fn subscribe(&self) -> watch::Receiver<Revision> {
        self.committed.clone()
    }

    // A panic while the lock is held can only be in the writer. What it left is after the committed revision, where
    // nobody looks, so readers may go on.

    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the log, unless the store is closed.
    pub(super) fn with_log<T>(
        &self,
        act: impl FnOnce(&dyn Log) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let log = self.log.read().unwrap_or_else(PoisonError::into_inner);
        match &*log {
            Some(log) => act(log.as_ref()),
            None => Err(closed()),
        }
    }

    /// Closes the log.
    pub(super) fn close(&self) {
        self.log
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    /// The value of a version of a state at `revision`, from memory or from the log. Blocks.
    pub(super) fn value(&self, held: &Held, revision: Revision) -> Result<Bytes, StorageError> {
        match &held.value {
            Some(value) => Ok(value.clone()),
            None => self.stored(held.version.position, revision),
        }
    }

    fn stored(&self, position: Position, revision: Revision) -> Result<Bytes, StorageError> {
        if let Some(bytes) = self.with_log(|log| log.read(position))? {
            return Ok(Record::decode(position, &bytes)?.value);
        }
        self.state().check(revision)?;
        let revision = position.revision;
        Err(StorageError::Damaged(format!(
            "the record at revision {revision} is missing"
        )))
    }
}

/// The answer after the end.
pub(super) fn closed() -> StorageError {
    StorageError::Unavailable("the store is closed".into())
}
