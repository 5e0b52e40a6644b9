//! How long to wait before trying again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// Waiting times that double with each failure, each drawn from the whole span between nothing and
/// the limit, so that many clients of a store that comes back do not all come at once.
#[derive(Debug, Clone, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The time to wait now. `random` is between 0 and 1.
    pub(super) fn next(&mut self, random: f64) -> Duration {
        let limit = FIRST
            .saturating_mul(2u32.saturating_pow(self.failures))
            .min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        limit.mul_f64(random.clamp(0.0, 1.0))
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_double_up_to_the_longest_and_start_over_after_success() {
        let mut backoff = Backoff::default();
        let limits: Vec<_> = (0..9).map(|_| backoff.next(1.0).as_millis()).collect();
        assert_eq!(limits, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        for _ in 0..100 {
            assert!(backoff.next(1.0) <= LONGEST);
        }
        assert_eq!(backoff.next(0.5), LONGEST / 2);
        assert_eq!(backoff.next(0.0), Duration::ZERO);
        backoff.succeeded();
        assert_eq!(backoff.next(1.0), FIRST);
    }
}
