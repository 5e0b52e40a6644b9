//! What a cache counts.
//!
//! Plain atomic numbers, one set per cache and no registry: whoever serves metrics asks each cache for its
//! [samples](super::Cache::metrics) and adds the labels that say which resource it is. Names are those of kube-apiserver where it has
//! the same number, `ringwatch_…` otherwise.
//!
//! Nothing is counted per change and watcher: what storage sends is counted by the batch, and what can be read off the state
//! is not counted at all.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringwatch_core::revision::Revision;

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
    pub(super) objects_evaluated: Counter,
    pub(super) objects_returned: Counter,
    /// Reads of the newest state: answered by the cache, not in time, and by storage.
    pub(super) consistent_reads: [Counter; 3],
    pub(super) checks: [Counter; 3],
    pub(super) watches_begun: Counter,
    /// By [`End`].
    pub(super) watches_ended: [Counter; 4],
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

    pub(super) fn listed(&self, took: Duration) {
        self.lists_done.add(1);
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

/// One number with its name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// What it is called.
    pub name: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// Whether it only grows.
    pub kind: Kind,
    /// What tells it from others of the same name, besides the resource.
    pub labels: &'static [(&'static str, &'static str)],
    /// The number.
    pub value: f64,
}

/// How a number behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, until the process ends.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// Revisions are shown without the digits that a float would lose, as kube-apiserver does.
const REVISION_SHOWN: u64 = 1_000_000_000_000_000;

/// Every number, those of one name together.
pub(super) fn samples(metrics: &Metrics, gauges: &Gauges) -> Vec<Sample> {
    let mut samples = Vec::with_capacity(32);
    let mut add = |kind, name, help, labels, value: f64| {
        samples.push(Sample {
            name,
            help,
            kind,
            labels,
            value,
        });
    };
    let received = metrics.events_received.get();
    let ended = metrics.watches_ended.each_ref().map(Counter::get);
    let open = metrics
        .watches_begun
        .get()
        .saturating_sub(ended.iter().sum());

    let mut count = |name, help, value: u64| add(Kind::Counter, name, help, &[], value as f64);
    count(
        "apiserver_watch_cache_events_received_total",
        "Changes received from storage.",
        received,
    );
    count(
        "apiserver_watch_cache_events_dispatched_total",
        "Changes entered for watches to read.",
        gauges.entered,
    );
    count(
        "apiserver_watch_cache_initializations_total",
        "Whole lists read from storage.",
        metrics.lists_done.get(),
    );
    count(
        "apiserver_watch_cache_initialization_errors_total",
        "Whole lists that failed.",
        metrics.lists_failed.get(),
    );
    count(
        "watch_cache_capacity_increase_total",
        "How often the ring was made larger.",
        gauges.grown,
    );
    count(
        "watch_cache_capacity_decrease_total",
        "How often the ring was made smaller.",
        gauges.shrunk,
    );
    count(
        "apiserver_terminated_watchers_total",
        "Watches that ended because changes were lost to them.",
        ended[End::Expired as usize],
    );
    count(
        "apiserver_storage_decode_errors_total",
        "Stored values that could not be decoded.",
        metrics.decode_errors.get(),
    );
    count(
        "apiserver_storage_list_total",
        "Lists served.",
        metrics.lists_served.get(),
    );
    count(
        "apiserver_storage_list_evaluated_objects_total",
        "Objects that lists looked at.",
        metrics.objects_evaluated.get(),
    );
    count(
        "apiserver_storage_list_returned_objects_total",
        "Objects that lists gave.",
        metrics.objects_returned.get(),
    );
    count(
        "ringwatch_relists_total",
        "Whole lists that replaced a state.",
        metrics.relists.get(),
    );
    count(
        "ringwatch_relist_changes_total",
        "Changes that were found by relists.",
        metrics.relist_changes.get(),
    );
    count(
        "ringwatch_storage_watches_opened_total",
        "Watches on storage that were opened.",
        metrics.watches_opened.get(),
    );

    let mut gauge = |name, help, value: f64| add(Kind::Gauge, name, help, &[], value);
    gauge(
        "apiserver_watch_cache_resource_version",
        "The newest revision, modulo 10^15.",
        (gauges.revision.get() % REVISION_SHOWN) as f64,
    );
    gauge(
        "watch_cache_capacity",
        "How many changes the ring holds.",
        gauges.capacity as f64,
    );
    gauge(
        "apiserver_resource_objects",
        "Objects in the cache.",
        gauges.objects as f64,
    );
    gauge(
        "ringwatch_quarantined_objects",
        "Stored values that are not served because they cannot be decoded.",
        gauges.quarantined as f64,
    );
    gauge("ringwatch_watches", "Open watches.", open as f64);
    let last_list = metrics.last_list.load(Ordering::Relaxed) as f64 / 1e6;
    gauge(
        "ringwatch_last_list_seconds",
        "How long the last whole list took.",
        last_list,
    );

    const READS: [&[(&str, &str)]; 3] = [
        &[("success", "true"), ("fallback", "false")],
        &[("success", "false"), ("fallback", "false")],
        &[("success", "true"), ("fallback", "true")],
    ];
    for (labels, reads) in READS.into_iter().zip(&metrics.consistent_reads) {
        let help = "Reads of the newest state.";
        add(
            Kind::Counter,
            "apiserver_watch_cache_consistent_read_total",
            help,
            labels,
            reads.get() as f64,
        );
    }
    const CHECKS: [&[(&str, &str)]; 3] = [
        &[("status", "success")],
        &[("status", "failure")],
        &[("status", "error")],
    ];
    for (labels, checks) in CHECKS.into_iter().zip(&metrics.checks) {
        let help = "Comparisons of the cache with storage.";
        add(
            Kind::Counter,
            "apiserver_storage_consistency_checks_total",
            help,
            labels,
            checks.get() as f64,
        );
    }
    const ENDS: [&[(&str, &str)]; 4] = [
        &[("reason", "timeout")],
        &[("reason", "expired")],
        &[("reason", "shutdown")],
        &[("reason", "left")],
    ];
    for (labels, ended) in ENDS.into_iter().zip(ended) {
        let help = "Watches that are over.";
        add(
            Kind::Counter,
            "ringwatch_watches_ended_total",
            help,
            labels,
            ended as f64,
        );
    }
    samples
}
