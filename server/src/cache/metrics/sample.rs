//! The numbers with their names, for whoever shows them.

use std::sync::atomic::Ordering;

use super::{Counter, End, Gauges, Metrics};

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
    pub labels: Labels,
    /// The number.
    pub value: f64,
}

/// Names and values of labels.
pub type Labels = &'static [(&'static str, &'static str)];

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

/// In the order of [`ConsistentRead`](super::ConsistentRead).
const READS: &[Labels] = &[
    &[("success", "true"), ("fallback", "false")],
    &[("success", "false"), ("fallback", "false")],
    &[("success", "true"), ("fallback", "true")],
];

/// In the order of [`Check`](super::Check).
const CHECKS: &[Labels] = &[
    &[("status", "success")],
    &[("status", "failure")],
    &[("status", "error")],
];

const WATCH: Labels = &[("component", "apiserver"), ("verb", "WATCH")];

/// In the order of [`End`].
const ENDS: &[Labels] = &[
    &[("reason", "timeout")],
    &[("reason", "expired")],
    &[("reason", "shutdown")],
    &[("reason", "left")],
];

/// Every number, those of one name together.
pub(in crate::cache) fn samples(metrics: &Metrics, gauges: &Gauges) -> Vec<Sample> {
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
        "apiserver_storage_events_received_total",
        "The same: each comes to one cache.",
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
        "apiserver_init_events_total",
        "Objects given to watches as the state that they begin with.",
        metrics.initial_events.get(),
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
        "apiserver_storage_list_fetched_objects_total",
        "Objects in the scope of lists.",
        metrics.objects_fetched.get(),
    );
    count(
        "apiserver_storage_list_evaluated_objects_total",
        "Objects of those that selectors were applied to.",
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
    add(
        Kind::Gauge,
        "apiserver_longrunning_requests",
        "Requests that last: open watches.",
        WATCH,
        open as f64,
    );
    let mut gauge = |name, help, value: f64| add(Kind::Gauge, name, help, &[], value);
    let last_list = metrics.last_list.load(Ordering::Relaxed) as f64 / 1e6;
    gauge(
        "ringwatch_last_list_seconds",
        "How long the last whole list took.",
        last_list,
    );

    let mut family = |name, help, labels: &[Labels], values: &[u64]| {
        for (labels, value) in labels.iter().zip(values) {
            add(Kind::Counter, name, help, labels, *value as f64);
        }
    };
    family(
        "apiserver_watch_cache_consistent_read_total",
        "Reads of the newest state.",
        READS,
        &metrics.consistent_reads.each_ref().map(Counter::get),
    );
    family(
        "apiserver_storage_consistency_checks_total",
        "Comparisons of the cache with storage.",
        CHECKS,
        &metrics.checks.each_ref().map(Counter::get),
    );
    family(
        "ringwatch_watches_ended_total",
        "Watches that are over.",
        ENDS,
        &ended,
    );
    samples
}
