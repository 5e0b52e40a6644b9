//! How far a watch is with its end.

use std::sync::atomic::{AtomicU8, Ordering};

/// A watch that ends may have something to say first, and how it ended is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    Open,
    /// The last bookmark has been given.
    SaidGoodbye,
    TimedOut,
    Expired,
    ShutDown,
}

/// The stage of a watch, in one byte beside what the cache keeps of it anyway. Only the watch itself uses it.
#[derive(Debug, Default)]
pub(super) struct StageCell(AtomicU8);

impl StageCell {
    pub(super) fn get(&self) -> Stage {
        const ALL: [Stage; 5] = [
            Stage::Open,
            Stage::SaidGoodbye,
            Stage::TimedOut,
            Stage::Expired,
            Stage::ShutDown,
        ];
        let number = usize::from(self.0.load(Ordering::Relaxed));
        ALL.get(number).copied().unwrap_or(Stage::Open)
    }

    pub(super) fn set(&self, stage: Stage) {
        self.0.store(stage as u8, Ordering::Relaxed);
    }
}
