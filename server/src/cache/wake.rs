//! How a watcher sleeps, and what it finds when it wakes.

use std::sync::atomic::{AtomicU64, Ordering};

use ringwatch_core::history::Mark;
use tokio::sync::Notify;

/// No change waits for the watcher.
const NOTHING: u64 = u64::MAX;

/// The bell of one watcher, and where in the ring the first change is that it was rung for.
///
/// While nothing is pending, the watcher has everything up to the end of the ring, however far that is from where
/// it last read: nothing in between concerned it.
#[derive(Debug)]
pub(super) struct Wake {
    /// Written by the owner of the ring with the ring locked for writing, and taken by the watcher with the
    /// ring locked for reading: the lock orders them, so relaxed access is enough.
    pending: AtomicU64,
    bell: Notify,
}

impl Wake {
    pub(super) fn new() -> Self {
        Self {
            pending: AtomicU64::new(NOTHING),
            bell: Notify::new(),
        }
    }

    /// A change at `mark` may concern the watcher.
    pub(super) fn announce(&self, mark: Mark) {
        // If one is pending already, the bell was rung for it and has not been answered.
        if self.pending.load(Ordering::Relaxed) == NOTHING {
            self.pending.store(mark.to_bits(), Ordering::Relaxed);
            self.bell.notify_one();
        }
    }

    /// Where the first pending change is. Nothing is pending afterwards.
    pub(super) fn take(&self) -> Option<Mark> {
        match self.pending.swap(NOTHING, Ordering::Relaxed) {
            NOTHING => None,
            mark => Some(Mark::from_bits(mark)),
        }
    }

    /// Waits for the bell.
    pub(super) async fn rung(&self) {
        self.bell.notified().await;
    }
}
