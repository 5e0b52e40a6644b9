//! How long the things take that a cache does for its readers.

use crate::histogram::Histogram;

use super::Labels;

/// kube-apiserver's bounds for the wait of a read.
const READ_WAIT: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0,
];
/// From a kind without objects to a hundred thousand of them far away.
const LIST: &[f64] = &[
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];
/// From a change that comes alone to a batch of large ones.
const DISPATCH: &[f64] = &[
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.005, 0.025, 0.1, 0.5,
];

/// The durations of one cache.
#[derive(Debug)]
pub(in crate::cache) struct Durations {
    /// How long reads waited for a revision.
    pub(in crate::cache) read_wait: Histogram,
    /// From the question for all objects to the state that is made of them.
    pub(in crate::cache) initialization: Histogram,
    /// Lists as storage gave them.
    pub(in crate::cache) storage_list: Histogram,
    /// From a change that storage has handed over to all who watch it having been called. Measured by the batch.
    pub(in crate::cache) storage_to_cache: Histogram,
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            read_wait: Histogram::new(READ_WAIT),
            initialization: Histogram::new(LIST),
            storage_list: Histogram::new(LIST),
            storage_to_cache: Histogram::new(DISPATCH),
        }
    }
}

/// A histogram with its name.
pub(crate) struct Distribution<'a> {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// What tells it from others of the same name, besides the resource.
    pub(crate) labels: Labels,
    pub(crate) histogram: &'a Histogram,
}

impl Durations {
    /// All of them, for whoever shows them.
    pub(in crate::cache) fn distributions(&self) -> [Distribution<'_>; 4] {
        [
            Distribution {
                name: "apiserver_storage_list_duration_seconds",
                help: "How long storage took to list.",
                labels: &[],
                histogram: &self.storage_list,
            },
            Distribution {
                name: "apiserver_watch_cache_initialization_duration_seconds",
                help: "How long it took to read and decode all objects.",
                labels: &[],
                histogram: &self.initialization,
            },
            Distribution {
                name: "apiserver_watch_cache_read_wait_seconds",
                help: "How long reads waited for a revision.",
                labels: &[],
                histogram: &self.read_wait,
            },
            Distribution {
                name: "apiserver_watch_events_dispatch_duration_seconds",
                help: "How long it took from storage to the watches being called.",
                labels: &[("stage", "storage_to_cache")],
                histogram: &self.storage_to_cache,
            },
        ]
    }
}
