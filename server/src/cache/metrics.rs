//! What a cache counts.
//!
//! Plain atomic numbers, one set per cache and no registry: whoever serves metrics asks each cache for its
//! [samples](super::Cache::metrics) and adds the labels that say which resource it is. Names are those of kube-apiserver where it has
//! the same number, `ringwatch_…` otherwise.
//!
//! Nothing is counted per change and watcher: what storage sends is counted by the batch, and what can be read off the state
//! is not counted at all.

mod durations;
mod sample;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringwatch_core::revision::Revision;

pub(crate) use durations::Distribution;
use durations::Durations;
pub(super) use sample::samples;
pub use sample::{Kind, Labels, Sample};

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The numbers of one cache.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Changes that storage's watch has sent.
    pub(super) events_received: Counter,
    /// Values that could not be decoded, each time one was met.
    pub(super) decode_errors: Counter,
    pub(super) lists_done: Counter,
    pub(super) lists_failed: Counter,
    /// How long the last whole list took, in microseconds.
    pub(super) last_list: AtomicU64,
    /// Lists after the first, that is, changes that did not come by a watch.
    pub(super) relists: Counter,
    /// How many changes relists have found.
    pub(super) relist_changes: Counter,
    pub(super) watches_opened: Counter,
    pub(super) lists_served: Counter,
    /// Objects in the scope of lists; of those, objects that may match; of those, objects that do.
    pub(super) objects_fetched: Counter,
    pub(super) objects_evaluated: Counter,
    pub(super) objects_returned: Counter,
    /// Reads of the newest state: answered by the cache, not in time, and by storage.
    pub(super) consistent_reads: [Counter; 3],
    pub(super) checks: [Counter; 3],
    pub(super) watches_begun: Counter,
    /// Objects of the states that watches began with, each time one was given.
    pub(super) initial_events: Counter,
    /// By [`End`].
    pub(super) watches_ended: [Counter; 4],
    pub(super) durations: Durations,
}

/// How a read of the newest state went: an index into [`Metrics::consistent_reads`].
#[derive(Debug, Clone, Copy)]
pub(super) enum ConsistentRead {
    Cached = 0,
    TimedOut = 1,
    FromStorage = 2,
}

/// How a self-check went: an index into [`Metrics::checks`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Check {
    Agreed = 0,
    Disagreed = 1,
    Failed = 2,
}

/// Why a watch is over: an index into [`Metrics::watches_ended`].
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    TimedOut = 0,
    Expired = 1,
    ShuttingDown = 2,
    /// Its reader went away.
    Left = 3,
}

impl Metrics {
    pub(super) fn consistent_read(&self, read: ConsistentRead) {
        self.consistent_reads[read as usize].add(1);
    }

    pub(super) fn checked(&self, check: Check) {
        self.checks[check as usize].add(1);
    }

    pub(super) fn watch_ended(&self, end: End) {
        self.watches_ended[end as usize].add(1);
    }

    /// How long things took.
    pub(super) fn distributions(&self) -> [Distribution<'_>; 4] {
        self.durations.distributions()
    }

    pub(super) fn listed(&self, took: Duration) {
        self.lists_done.add(1);
        self.durations.initialization.observe_time(took);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.last_list.store(micros, Ordering::Relaxed);
    }
}

/// What is read off a cache at the moment of asking.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gauges {
    pub(super) revision: Revision,
    pub(super) objects: usize,
    pub(super) quarantined: usize,
    pub(super) capacity: usize,
    /// Changes that were ever entered into the ring.
    pub(super) entered: u64,
    pub(super) grown: u64,
    pub(super) shrunk: u64,
}
