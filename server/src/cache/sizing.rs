//! How large the ring should be: large enough for the changes of the last minute and a bit, within bounds.

use std::collections::VecDeque;
use std::time::Duration;

use ringwatch_core::history::Mark;
use ringwatch_core::time::Instant;

/// How long a change should stay in the ring: a client's last bookmark is at most a minute old, and it
/// needs a moment to come back.
pub const FRESH: Duration = Duration::from_secs(75);

/// Bounds for the number of changes that a ring holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Never fewer than this; the size to begin with.
    pub lower: usize,
    /// Never more than this.
    pub upper: usize,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            lower: 100,
            upper: 102_400,
        }
    }
}

impl Capacity {
    /// A ring that keeps its size.
    pub const fn fixed(capacity: usize) -> Self {
        Self {
            lower: capacity,
            upper: capacity,
        }
    }
}

/// Remembers when the changes in the ring came, roughly, and advises on its size.
#[derive(Debug)]
pub(super) struct Sizing {
    bounds: Capacity,
    /// Every so many changes, where the ring was and when. Enough to tell ages to a few percent, for a few bytes.
    samples: VecDeque<(Mark, Instant)>,
}

/// How many samples cover a full ring.
const SAMPLES: usize = 64;

impl Sizing {
    pub(super) fn new(bounds: Capacity) -> Self {
        Self {
            bounds,
            samples: VecDeque::new(),
        }
    }

    /// Notes that a change is about to come to `mark`, and says whether the ring should have another
    /// capacity before it does. `held` of `capacity` places are taken.
    pub(super) fn advise(
        &mut self,
        mark: Mark,
        now: Instant,
        held: usize,
        capacity: usize,
    ) -> Option<usize> {
        if self.bounds.lower == self.bounds.upper {
            return None;
        }
        self.sample(mark, now, capacity);
        if held < capacity {
            return None;
        }
        let oldest = self.age_of(capacity, mark, now)?;
        if oldest < FRESH {
            let larger = (capacity * 2).min(self.bounds.upper);
            return (larger > capacity).then_some(larger);
        }
        let quarter = self.age_of(capacity / 4, mark, now)?;
        let smaller = (capacity / 2).max(self.bounds.lower);
        (quarter > FRESH && smaller < capacity).then_some(smaller)
    }

    fn sample(&mut self, mark: Mark, now: Instant, capacity: usize) {
        let step = (capacity / SAMPLES).max(1) as u64;
        let last = self.samples.back().map(|(mark, _)| mark.to_bits());
        if last.is_none_or(|last| mark.to_bits() >= last + step) {
            self.samples.push_back((mark, now));
        }
        let oldest = mark.to_bits().saturating_sub(capacity as u64);
        // One sample from before the oldest entry stays: it tells that entry's age.
        while self
            .samples
            .get(1)
            .is_some_and(|(mark, _)| mark.to_bits() <= oldest)
        {
            self.samples.pop_front();
        }
    }

    /// About how old the change is that came `back` changes before `mark`.
    fn age_of(&self, back: usize, mark: Mark, now: Instant) -> Option<Duration> {
        let at = mark.to_bits().saturating_sub(back as u64);
        let after = self
            .samples
            .partition_point(|(mark, _)| mark.to_bits() <= at);
        let (_, then) = self.samples.get(after.saturating_sub(1))?;
        Some(now.since(*then))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The capacity after a change every `gap` milliseconds, `count` times, from `capacity`.
    fn after(capacity: usize, gap: u64, count: u64) -> usize {
        let mut sizing = Sizing::new(Capacity {
            lower: 100,
            upper: 3_200,
        });
        let (mut now, mut held, mut capacity) = (0, 0, capacity);
        for mark in 0..count {
            now += gap;
            let at = Instant::from_millis(now);
            capacity = sizing
                .advise(Mark::from_bits(mark), at, held, capacity)
                .unwrap_or(capacity);
            held = (held + 1).min(capacity);
        }
        capacity
    }

    #[test]
    fn grows_until_the_ring_covers_the_window() {
        // 10 changes a second: 75 s are 750 changes, covered by 800.
        assert_eq!(after(100, 100, 5_000), 800);
        // More than fits: up to the bound.
        assert_eq!(after(100, 1, 50_000), 3_200);
        // A quiet resource stays small.
        assert_eq!(after(100, 2_000, 1_000), 100);
    }

    #[test]
    fn shrinks_when_a_quarter_would_do() {
        // One change a second: 75 changes cover the window, a quarter of 800 is more than twice that.
        assert_eq!(after(800, 1_000, 3_000), 200);
    }

    #[test]
    fn a_fixed_ring_never_changes() {
        let mut sizing = Sizing::new(Capacity::fixed(10));
        for mark in 0..1_000 {
            let advice = sizing.advise(Mark::from_bits(mark), Instant::from_millis(0), 10, 10);
            assert_eq!(advice, None);
        }
    }
}
