//! Events that were sent, counted by every thread for itself.
//!
//! A change that a thousand watches wait for is sent by all threads at once. A number that they all add to would travel between
//! processors for every event, which took a fiftieth of the time of sending it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::histogram;

/// How many counters there are: threads beyond that share them, which is right and only slower.
const LANES: usize = 4;

/// Events that were sent to the watches of a resource.
#[derive(Debug, Default)]
pub(in crate::api) struct Sent([Lane; LANES]);

/// The sizes that are told apart: up to 1024 bytes and up to twice as much each, as kube-apiserver does.
const SIZES: [f64; 8] = [
    1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131_072.0,
];

/// The counters of one thread, in memory that no other one writes to.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Lane {
    /// By their size, the last for those beyond.
    events: [AtomicU64; SIZES.len() + 1],
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
        if let Some(lane) = self.0.get(LANE.with(|lane| *lane))
            && let Some(events) = lane.events.get(place(bytes))
        {
            events.fetch_add(1, Relaxed);
            lane.bytes.fetch_add(bytes as u64, Relaxed);
        }
    }

    /// How many events there were.
    pub(super) fn events(&self) -> u64 {
        self.by_size().sum()
    }

    /// How many there were of each size.
    fn by_size(&self) -> impl Iterator<Item = u64> {
        (0..=SIZES.len()).map(|place| {
            let counts = self.0.iter().filter_map(|lane| lane.events.get(place));
            counts.map(|count| count.load(Relaxed)).sum()
        })
    }

    /// How many bytes they had.
    fn bytes(&self) -> u64 {
        self.0.iter().map(|lane| lane.bytes.load(Relaxed)).sum()
    }

    /// Appends their sizes in the text form of Prometheus.
    pub(super) fn write(&self, name: &str, labels: &str, text: &mut String) {
        let bytes = self.bytes() as f64;
        histogram::write(name, labels, &SIZES, self.by_size(), bytes, text);
    }
}

/// Where an event of so many bytes is counted: by the position of its highest bit, which is one instruction.
fn place(bytes: usize) -> usize {
    const FIRST: u32 = 10;
    let bits = usize::BITS - bytes.saturating_sub(1).leading_zeros();
    (bits.saturating_sub(FIRST) as usize).min(SIZES.len())
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

    #[test]
    fn a_size_is_counted_at_the_first_bound_that_holds_it() {
        for bytes in [
            0,
            1,
            1023,
            1024,
            1025,
            2048,
            2049,
            131_072,
            131_073,
            usize::MAX,
        ] {
            let expected = SIZES.iter().position(|bound| bytes as f64 <= *bound);
            assert_eq!(place(bytes), expected.unwrap_or(SIZES.len()), "{bytes}");
        }
    }
}
