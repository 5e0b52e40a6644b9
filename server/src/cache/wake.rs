//! How a watcher sleeps, and what it finds when it wakes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use atomic_waker::AtomicWaker;
use ringwatch_core::history::Mark;

/// The watcher has everything and waits to be called.
const WAITING: u64 = u64::MAX;
/// The watcher reads, or its reader is busy: it will look at the ring by itself.
const READING: u64 = u64::MAX - 1;

/// What a watcher is doing, and its bell.
///
/// While it waits, it has everything up to the end of the ring, however far that is from where it last read:
/// nothing in between concerned it. Otherwise it would have been called, with the place of the first
/// change that does.
#[derive(Debug)]
pub(super) struct Wake {
    /// A mark if it was called, or one of the two above.
    ///
    /// Calls are made with the ring locked for writing, and all other changes with the ring locked for reading: the
    /// lock orders them, so relaxed access is enough.
    state: AtomicU64,
    bell: AtomicWaker,
}

/// What has happened to a watcher since it last looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    /// It was not waiting, so nobody took note.
    Unknown,
    /// Nothing that concerns it.
    Nothing,
    /// A change that may concern it, the first of them here.
    At(Mark),
}

impl Wake {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU64::new(READING),
            bell: AtomicWaker::new(),
        }
    }

    /// A change at `mark` may concern the watcher. `true` if its bell must be [rung](Self::ring).
    pub(super) fn call(&self, mark: Mark) -> bool {
        let waiting = self.state.load(Ordering::Relaxed) == WAITING;
        if waiting {
            self.state.store(mark.to_bits(), Ordering::Relaxed);
        }
        waiting
    }

    /// Wakes the watcher's task.
    pub(super) fn ring(&self) {
        self.bell.wake();
    }

    /// What the watcher was called for.
    pub(super) fn called(&self) -> Called {
        match self.state.load(Ordering::Relaxed) {
            WAITING => Called::Nothing,
            READING => Called::Unknown,
            mark => Called::At(Mark::from_bits(mark)),
        }
    }

    /// The watcher looks at the ring from here on.
    pub(super) fn read(&self) {
        self.state.store(READING, Ordering::Relaxed);
    }

    /// The watcher has everything.
    pub(super) fn wait(&self) {
        self.state.store(WAITING, Ordering::Relaxed);
    }

    /// Whom to wake. A bell that was rung before is not heard: look at [`called`](Self::called) afterwards.
    pub(super) fn listen(&self, waker: &Waker) {
        self.bell.register(waker);
    }
}
