//! On which occasions a watch speaks of itself.

use super::Options;
use super::bookmark::BookmarkTimer;
use crate::time::Instant;

/// When a watch says how far it has come, and when it is over.
pub trait Occasions {
    /// Whether the watch is over.
    fn is_over(&self, now: Instant) -> bool;

    /// When it speaks next although nothing happens.
    fn next(&self) -> Option<Instant>;

    /// Whether it speaks between events.
    fn are_wanted(&self) -> bool;

    /// Whether it says when the initial objects are complete.
    fn mark_initial(&self) -> bool;

    /// The initial objects are complete: whether it speaks again soon.
    fn hasten(&mut self, now: Instant) -> bool;

    /// Whether it speaks now; if so, the next time is set.
    fn are_due(&mut self, now: Instant) -> bool;
}

/// As the reader [asked](Options).
#[derive(Debug, Clone)]
pub struct Timed {
    bookmarks: BookmarkTimer,
    /// [`Instant::NEVER`] for none.
    deadline: Instant,
    initial_events_end: bool,
}

impl Timed {
    pub(super) fn new(options: Options, now: Instant) -> Self {
        let deadline = options.deadline.unwrap_or(Instant::NEVER);
        Self {
            bookmarks: BookmarkTimer::new(options.bookmark_every, deadline, now),
            deadline,
            initial_events_end: options.initial_events_end,
        }
    }
}

impl Occasions for Timed {
    fn is_over(&self, now: Instant) -> bool {
        now >= self.deadline
    }

    fn next(&self) -> Option<Instant> {
        let deadline = Some(self.deadline).filter(|deadline| *deadline != Instant::NEVER);
        let moments = [self.bookmarks.next(), deadline];
        moments.into_iter().flatten().min()
    }

    fn are_wanted(&self) -> bool {
        self.bookmarks.is_wanted()
    }

    fn mark_initial(&self) -> bool {
        self.initial_events_end
    }

    fn hasten(&mut self, now: Instant) -> bool {
        self.bookmarks.hasten(self.deadline, now)
    }

    fn are_due(&mut self, now: Instant) -> bool {
        self.bookmarks.is_due(self.deadline, now)
    }
}

/// Only when the initial objects are complete: for an owner that keeps time by itself. Takes no memory.
#[derive(Debug, Clone, Copy)]
pub struct Untimed;

impl Occasions for Untimed {
    fn is_over(&self, _: Instant) -> bool {
        false
    }

    fn next(&self) -> Option<Instant> {
        None
    }

    fn are_wanted(&self) -> bool {
        false
    }

    fn mark_initial(&self) -> bool {
        true
    }

    fn hasten(&mut self, _: Instant) -> bool {
        false
    }

    fn are_due(&mut self, _: Instant) -> bool {
        false
    }
}
