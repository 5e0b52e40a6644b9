//! Events that were sent, counted by every thread for itself.
//!
//! A change that a thousand watches wait for is sent by all threads at once. A number that they all add to would travel between
//! processors for every event, which took a fiftieth of the time of sending it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// How many counters there are: threads beyond that share them, which is right and only slower.
const LANES: usize = 4;

/// Events that were sent to the watches of a resource.
#[derive(Debug, Default)]
pub(in crate::api) struct Sent([Lane; LANES]);

/// The counters of one thread, in memory that no other one writes to.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Lane {
    events: AtomicU64,
    bytes: AtomicU64,
}

thread_local! {
    /// Which lane is this thread's.
    static LANE: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Relaxed) % LANES
    };
}

impl Sent {
    /// Counts an event of so many bytes.
    pub(in crate::api) fn count(&self, bytes: usize) {
        if let Some(lane) = self.0.get(LANE.with(|lane| *lane)) {
            lane.events.fetch_add(1, Relaxed);
            lane.bytes.fetch_add(bytes as u64, Relaxed);
        }
    }

    /// How many events there were.
    pub(super) fn events(&self) -> u64 {
        self.0.iter().map(|lane| lane.events.load(Relaxed)).sum()
    }

    /// How many bytes they had.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|lane| lane.bytes.load(Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_threads_count_is_added_up() {
        let sent = Sent::default();
        thread::scope(|scope| {
            for _ in 0..2 * LANES {
                scope.spawn(|| (0..100).for_each(|_| sent.count(7)));
            }
        });
        assert_eq!(sent.events(), 200 * LANES as u64);
        assert_eq!(sent.bytes(), 1400 * LANES as u64);
    }
}
