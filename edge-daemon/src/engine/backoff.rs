//! How long to wait before the next attempt.

use core::time::Duration;

/// How long something has to work before what was before is forgotten: who comes up and falls over at once is as good as away.
const GOOD: Duration = Duration::from_secs(10);

/// Full jitter: each wait is anything from nothing to a limit that doubles, so that many who were cut off at once come back spread out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    attempts: u32,
}

impl Backoff {
    /// Waits of up to `first`, then twice that, up to `most`.
    pub const fn new(first: Duration, most: Duration) -> Self {
        Self {
            first,
            most,
            attempts: 0,
        }
    }

    /// An attempt has failed; how long to wait. `random` is anything, evenly spread.
    pub fn wait(&mut self, random: u32) -> Duration {
        let limit = self.first.saturating_mul(1 << self.attempts.min(20));
        let limit = limit.min(self.most);
        self.attempts = self.attempts.saturating_add(1);
        limit.mul_f64(f64::from(random) / f64::from(u32::MAX))
    }

    /// It works again.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }

    /// It has worked for so long, and is over. Waits begin anew only if that was a good while.
    pub fn worked_for(&mut self, time: Duration) {
        if time >= GOOD {
            self.reset();
        }
    }

    /// How many attempts in a row have failed.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_spread_and_bounded() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        assert_eq!(backoff.wait(0), Duration::ZERO);
        assert_eq!(backoff.wait(u32::MAX), Duration::from_millis(200));
        assert!((199..=200).contains(&backoff.wait(u32::MAX / 2).as_millis()));
        for _ in 0..100 {
            assert!(backoff.wait(u32::MAX) <= Duration::from_secs(1));
        }
        backoff.worked_for(Duration::from_millis(9_999));
        assert_eq!(backoff.wait(u32::MAX), Duration::from_secs(1));
        backoff.worked_for(GOOD);
        assert_eq!(backoff.wait(u32::MAX), Duration::from_millis(100));
        backoff.reset();
        assert_eq!(backoff.wait(u32::MAX), Duration::from_millis(100));
    }
}
