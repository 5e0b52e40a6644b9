//! When a watch says how far it has come although nothing happened.

use core::time::Duration;

use crate::time::Instant;

/// How long before the deadline the last bookmark is sent, so that a client resumes close to where
/// the stream ended.
const BEFORE_DEADLINE: Duration = Duration::from_secs(2);

/// How soon after the end of the initial objects the next bookmark may be sent: a reader that took long to take them learns how far the
/// rest has come meanwhile.
const AFTER_INITIAL: Duration = Duration::from_secs(1);

/// Fires every period, and once shortly before the deadline of the watch; sooner for once if that is asked for.
///
/// A server has one for each of its watchers, so it is kept small: it does not know the deadline but is told, and a
/// moment that does not come is [`Instant::NEVER`].
#[derive(Debug, Clone)]
pub(super) struct BookmarkTimer {
    next: Instant,
    /// The period in milliseconds; 0 if no bookmarks are wanted.
    every: u32,
}

impl BookmarkTimer {
    pub(super) fn new(every: Option<Duration>, deadline: Instant, now: Instant) -> Self {
        let every = every.map_or(0, |every| (now + every).since(now).as_millis());
        let mut timer = Self {
            next: Instant::NEVER,
            every: u32::try_from(every).unwrap_or(u32::MAX),
        };
        timer.schedule(deadline, now);
        timer
    }

    /// Whether it fires at all.
    pub(super) fn is_wanted(&self) -> bool {
        self.every > 0
    }

    /// Fires soon, if it fires at all and not before that anyway. Whether it does.
    pub(super) fn hasten(&mut self, deadline: Instant, now: Instant) -> bool {
        let soon = now + AFTER_INITIAL;
        let last = deadline.checked_sub(BEFORE_DEADLINE).unwrap_or(now);
        let hastened = self.every > 0 && soon < self.next && soon < last;
        if hastened {
            self.next = soon;
        }
        hastened
    }

    /// When it fires next.
    pub(super) fn next(&self) -> Option<Instant> {
        Some(self.next).filter(|next| *next != Instant::NEVER)
    }

    /// Whether it fires now; if so, the next time is set.
    pub(super) fn is_due(&mut self, deadline: Instant, now: Instant) -> bool {
        let due = now >= self.next && self.next != Instant::NEVER;
        if due {
            self.schedule(deadline, now);
        }
        due
    }

    fn schedule(&mut self, deadline: Instant, now: Instant) {
        let last = match deadline {
            Instant::NEVER => Instant::NEVER,
            deadline => deadline.checked_sub(BEFORE_DEADLINE).unwrap_or(now),
        };
        // Once the last one is due there is no other, and a watch too short for it gets none.
        self.next = if self.every == 0 || now >= last {
            Instant::NEVER
        } else {
            last.min(now + Duration::from_millis(self.every.into()))
        };
    }
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;

    const MINUTE: Option<Duration> = Some(Duration::from_secs(60));

    fn at(seconds: u64) -> Instant {
        Instant::from_millis(seconds * 1_000)
    }

    /// The seconds at which a timer fires that is asked every second for `until` seconds.
    fn fired(every: Option<Duration>, deadline: Instant, until: u64) -> Vec<u64> {
        let mut timer = BookmarkTimer::new(every, deadline, at(0));
        (0..=until)
            .filter(|second| timer.is_due(deadline, at(*second)))
            .collect()
    }

    #[test]
    fn fires_every_period_and_before_the_deadline() {
        assert_eq!(fired(MINUTE, Instant::NEVER, 200), [60, 120, 180]);
        assert_eq!(fired(MINUTE, at(130), 200), [60, 120, 128]);
        assert_eq!(fired(MINUTE, at(10), 200), [8]);
    }

    #[test]
    fn fires_soon_for_once_if_the_watch_lasts_long_enough() {
        let fired = |deadline| {
            let mut timer = BookmarkTimer::new(MINUTE, deadline, at(0));
            let hastened = timer.hasten(deadline, at(0));
            let fired = (0..=200).filter(|second| timer.is_due(deadline, at(*second)));
            (hastened, fired.collect::<Vec<_>>())
        };
        assert_eq!(fired(Instant::NEVER), (true, vec![1, 61, 121, 181]));
        assert_eq!(fired(at(10)), (true, vec![1, 8]));
        assert_eq!(fired(at(3)), (false, vec![1]));
        assert_eq!(fired(at(2)), (false, vec![]));
        let mut never = BookmarkTimer::new(None, Instant::NEVER, at(0));
        assert!(!never.hasten(Instant::NEVER, at(0)));
    }

    #[test]
    fn stays_silent_when_not_wanted_or_too_short() {
        assert!(fired(None, at(130), 200).is_empty());
        assert!(fired(MINUTE, at(2), 200).is_empty());
        assert!(fired(MINUTE, at(1), 200).is_empty());
    }
}
