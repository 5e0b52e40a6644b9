//! The removal of what a compaction made unreachable, a few keys at a time between batches.

use std::sync::Arc;

use super::shared::State;
use super::versions::Position;

/// How many keys one step looks at; with the state held, so it is short.
const KEYS_PER_STEP: usize = 512;

/// A walk over all keys, and whether it has to be done once more.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    running: bool,
    /// The last key looked at.
    after: Option<Arc<str>>,
    /// The floor was raised while the walk was on its way.
    again: bool,
}

impl Sweep {
    pub(super) fn is_running(&self) -> bool {
        self.running
    }

    /// The floor was raised.
    pub(super) fn start(&mut self) {
        // A walk that is on its way is not begun anew, or frequent compactions would never reach the last keys.
        self.again = self.running;
        self.running = true;
    }

    /// Looks at the next keys, if there is a reason to.
    pub(super) fn step(&mut self, state: &mut State, removed: &mut Vec<Position>) {
        if !self.running {
            return;
        }
        let after = self.after.take();
        self.after = state
            .index
            .sweep(after.as_deref(), state.floor, KEYS_PER_STEP, removed);
        if self.after.is_none() {
            self.running = std::mem::take(&mut self.again);
        }
    }
}
