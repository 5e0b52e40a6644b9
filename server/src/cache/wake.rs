//! How a watcher sleeps, and what it finds when it wakes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use atomic_waker::AtomicWaker;
use ringwatch_core::history::Mark;

/// The watcher has everything.
const NOTHING: u64 = u64::MAX;
/// The watcher reads the ring for itself.
const BY_ITSELF: u64 = u64::MAX - 1;

/// What a watcher has been called for, and its bell.
///
/// From when it first has everything, somebody else takes note of what concerns it: it need not look at changes
/// that it was not called for. So its cost follows what it gets, however much else happens.
#[derive(Debug)]
pub(super) struct Wake {
    /// The place of the first change it was called for, or one of the two above.
    ///
    /// Calls are made with the ring locked for writing, and all other changes with the ring locked for reading: the
    /// lock orders them, so relaxed access is enough.
    first: AtomicU64,
    /// The place behind the last change it was called for.
    end: AtomicU64,
    bell: AtomicWaker,
}

/// What has happened to a watcher since it last had everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    /// It never had, so nobody took note.
    Unknown,
    /// Nothing that concerns it.
    Nothing,
    /// Some changes between these places may concern it, and none outside.
    Between(Mark, Mark),
}

impl Wake {
    pub(super) fn new() -> Self {
        Self {
            first: AtomicU64::new(BY_ITSELF),
            end: AtomicU64::new(0),
            bell: AtomicWaker::new(),
        }
    }

    /// The change at `mark` may concern the watcher. `true` if its bell must be [rung](Self::ring).
    pub(super) fn call(&self, mark: Mark) -> bool {
        let first = self.first.load(Ordering::Relaxed);
        if first == BY_ITSELF {
            return false;
        }
        self.end.store(mark.plus(1).to_bits(), Ordering::Relaxed);
        if first == NOTHING {
            self.first.store(mark.to_bits(), Ordering::Relaxed);
        }
        // If it was called before, the bell was rung then.
        first == NOTHING
    }

    /// Wakes the watcher's task.
    pub(super) fn ring(&self) {
        self.bell.wake();
    }

    /// What the watcher was called for.
    pub(super) fn called(&self) -> Called {
        match self.first.load(Ordering::Relaxed) {
            NOTHING => Called::Nothing,
            BY_ITSELF => Called::Unknown,
            first => {
                let end = self.end.load(Ordering::Relaxed);
                Called::Between(Mark::from_bits(first), Mark::from_bits(end))
            }
        }
    }

    /// The watcher has everything.
    pub(super) fn settle(&self) {
        self.first.store(NOTHING, Ordering::Relaxed);
    }

    /// Whom to wake. A bell that was rung before is not heard: look at [`called`](Self::called) afterwards.
    pub(super) fn listen(&self, waker: &Waker) {
        self.bell.register(waker);
    }
}
