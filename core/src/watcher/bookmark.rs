//! When a watch says how far it has come although nothing happened.

use core::time::Duration;

use crate::time::Instant;

/// How long before the deadline the last bookmark is sent, so that a client resumes close to where
/// the stream ended.
const BEFORE_DEADLINE: Duration = Duration::from_secs(2);

/// Fires every period, and once shortly before the deadline.
///
/// A server has one for each of its watchers, so it is kept small: moments that do not come are
/// [`Instant::NEVER`].
#[derive(Debug, Clone)]
pub(super) struct BookmarkTimer {
    /// The period in milliseconds; 0 if no bookmarks are wanted.
    every: u64,
    /// When the last bookmark is due, if there is a deadline.
    last: Instant,
    next: Instant,
}

impl BookmarkTimer {
    pub(super) fn new(every: Option<Duration>, deadline: Option<Instant>, now: Instant) -> Self {
        let last = deadline.map(|deadline| deadline.checked_sub(BEFORE_DEADLINE).unwrap_or(now));
        let mut timer = Self {
            every: every.map_or(0, |every| (now + every).since(now).as_millis() as u64),
            last: last.unwrap_or(Instant::NEVER),
            next: Instant::NEVER,
        };
        timer.schedule(now);
        timer
    }

    /// When it fires next.
    pub(super) fn next(&self) -> Option<Instant> {
        Some(self.next).filter(|next| *next != Instant::NEVER)
    }

    /// Whether it fires now; if so, the next time is set.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let due = now >= self.next && self.next != Instant::NEVER;
        if due {
            self.schedule(now);
        }
        due
    }

    fn schedule(&mut self, now: Instant) {
        // Once the last one is due there is no other, and a watch too short for it gets none.
        self.next = if self.every == 0 || now >= self.last {
            Instant::NEVER
        } else {
            self.last.min(now + Duration::from_millis(self.every))
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
