//! How long to wait before trying again: longer each time, and never all at once.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Exponential backoff with full jitter: a random time up to a limit that doubles. Many who were cut off at once do not come
/// back at once.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    limit: Duration,
    /// A new hasher is seeded at random: random enough for jitter.
    random: RandomState,
    tries: u64,
}

impl Backoff {
    /// Waits up to `first` at first, and never more than `most`.
    pub fn new(first: Duration, most: Duration) -> Self {
        Self {
            first,
            most,
            limit: first,
            random: RandomState::new(),
            tries: 0,
        }
    }

    /// How long to wait now.
    pub fn delay(&mut self) -> Duration {
        self.tries += 1;
        let limit = self.limit;
        self.limit = (limit * 2).min(self.most);
        let fraction = self.random.hash_one(self.tries) as f64 / u64::MAX as f64;
        limit.mul_f64(fraction)
    }

    /// It worked: begin small again.
    pub fn reset(&mut self) {
        self.limit = self.first;
    }
}

/// `period` and a random part of `most` more, so that those who began together do not go on together.
pub fn jittered(period: Duration, most: Duration) -> Duration {
    period + Backoff::new(most, most).delay()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_to_the_limit_and_begins_again() {
        let (first, most) = (Duration::from_millis(10), Duration::from_millis(100));
        let mut backoff = Backoff::new(first, most);
        assert!(backoff.delay() <= first);
        let longest = (0..1_000).map(|_| backoff.delay()).max().unwrap();
        assert!(longest <= most && longest > most / 2, "{longest:?}");
        backoff.reset();
        assert!(backoff.delay() <= first);
    }
}
