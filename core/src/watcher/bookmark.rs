//! When a watch says how far it has come although nothing happened.

use core::time::Duration;

use crate::time::Instant;

/// How long before the deadline the last bookmark is sent, so that a client resumes close to where
/// the stream ended.
const BEFORE_DEADLINE: Duration = Duration::from_secs(2);

/// Fires every period, and once shortly before the deadline.
#[derive(Debug, Clone)]
pub(super) struct BookmarkTimer {
    every: Option<Duration>,
    /// The moment of the last bookmark; `None` once it was sent, or if there is no deadline.
    last: Option<Instant>,
    next: Option<Instant>,
}

impl BookmarkTimer {
    pub(super) fn new(every: Option<Duration>, deadline: Option<Instant>, now: Instant) -> Self {
        let last = deadline.and_then(|deadline| deadline.checked_sub(BEFORE_DEADLINE));
        let mut timer = Self {
            every,
            // A watch shorter than that gets none.
            last: last.filter(|last| *last > now),
            next: None,
        };
        timer.schedule(now, deadline.is_some());
        timer
    }

    /// When it fires next.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Whether it fires now; if so, the next time is set.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        if self.next.is_none_or(|next| now < next) {
            return false;
        }
        let ends = self.last.is_some();
        self.last = self.last.filter(|last| *last > now);
        self.schedule(now, ends);
        true
    }

    /// `ends`: there is a deadline, so nothing fires after `last`.
    fn schedule(&mut self, now: Instant, ends: bool) {
        self.next = match (self.every, self.last) {
            (None, _) => None,
            (Some(_), None) if ends => None,
            (Some(every), None) => Some(now + every),
            (Some(every), Some(last)) => Some(last.min(now + every)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Option<Duration> = Some(Duration::from_secs(60));

    fn at(seconds: u64) -> Instant {
        Instant::from_millis(seconds * 1_000)
    }

    /// The seconds at which a timer fires that is asked every second for `until` seconds.
    fn fired(mut timer: BookmarkTimer, until: u64) -> std::vec::Vec<u64> {
        (0..=until)
            .filter(|second| timer.is_due(at(*second)))
            .collect()
    }

    #[test]
    fn fires_every_period_and_before_the_deadline() {
        assert_eq!(
            fired(BookmarkTimer::new(MINUTE, None, at(0)), 200),
            [60, 120, 180]
        );
        assert_eq!(
            fired(BookmarkTimer::new(MINUTE, Some(at(130)), at(0)), 200),
            [60, 120, 128]
        );
        assert_eq!(
            fired(BookmarkTimer::new(MINUTE, Some(at(10)), at(0)), 200),
            [8]
        );
    }

    #[test]
    fn stays_silent_when_not_wanted_or_too_short() {
        assert!(fired(BookmarkTimer::new(None, Some(at(130)), at(0)), 200).is_empty());
        assert!(fired(BookmarkTimer::new(MINUTE, Some(at(2)), at(0)), 200).is_empty());
        assert!(fired(BookmarkTimer::new(MINUTE, Some(at(1)), at(0)), 200).is_empty());
    }
}
