//! Requests, counted by what they asked for and how it went: the numbers that dashboards for Kubernetes look at.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;

use super::Sent;
use crate::histogram::Histogram;
use crate::resources::{Resource, Target};

/// The durations that are told apart, in seconds.
const DURATIONS: &[f64] = &[
    0.005, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0,
];
/// The sizes of answers that are told apart, in bytes: kube-apiserver's.
const SIZES: &[f64] = &[1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/// The durations of lists in the form of watches that are told apart, in seconds: kube-apiserver's.
const WATCH_LISTS: &[f64] = &[
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];
/// As many kinds of requests are told apart: more than there are verbs and resources, so that only kinds that come and go for
/// ever are not counted any more.
const MAX_KINDS: usize = 4096;

/// All requests for resources since the start.
#[derive(Debug, Default)]
pub(in crate::api) struct Requests {
    /// By the labels of what they asked for, as they are shown.
    kinds: Mutex<BTreeMap<String, Count>>,
    /// The events of watches, by the labels of the resource.
    watched: Mutex<BTreeMap<String, Arc<Sent>>>,
    /// How long lists took in the form of watches, by the labels of what they asked for.
    watch_lists: Mutex<BTreeMap<String, Arc<Histogram>>>,
}

#[derive(Debug)]
struct Count {
    codes: BTreeMap<u16, u64>,
    took: Histogram,
    /// How large the answers were.
    sizes: Histogram,
}

impl Default for Count {
    fn default() -> Self {
        Self {
            codes: BTreeMap::new(),
            took: Histogram::new(DURATIONS),
            sizes: Histogram::new(SIZES),
        }
    }
}

/// What is counted of an answer.
#[derive(Debug, Clone, Copy)]
pub(in crate::api) struct Answered {
    pub(in crate::api) status: StatusCode,
    pub(in crate::api) took: Duration,
    /// How many bytes it has, if it is the answer to a read and knows.
    pub(in crate::api) size: Option<u64>,
}

impl Requests {
    /// Counts a request that was answered. A watch is answered when it begins; how long it lasts is not counted.
    pub(in crate::api) fn count(&self, target: &Target, verb: &str, answered: Answered) {
        let labels = labels(target, verb);
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if kinds.len() >= MAX_KINDS && !kinds.contains_key(&labels) {
            return;
        }
        let count = kinds.entry(labels).or_default();
        *count.codes.entry(answered.status.as_u16()).or_default() += 1;
        if verb != "watch" {
            count.took.observe_time(answered.took);
        }
        if let Some(size) = answered.size {
            count.sizes.observe(size as f64);
        }
    }

    /// Where it is counted how long a list in the form of a watch took.
    pub(in crate::api) fn watch_list(&self, target: &Target) -> Arc<Histogram> {
        let resource = &target.resource;
        let labels = format!(
            "group=\"{}\",resource=\"{}\",scope=\"{}\",version=\"{}\"",
            resource.group,
            resource.plural,
            scope(target),
            resource.version,
        );
        let new = || Arc::new(Histogram::new(WATCH_LISTS));
        let lists = self.watch_lists.lock();
        let mut lists = lists.unwrap_or_else(PoisonError::into_inner);
        if lists.len() >= MAX_KINDS && !lists.contains_key(&labels) {
            return new();
        }
        lists.entry(labels).or_insert_with(new).clone()
    }

    /// Where the events of a watch on a resource are counted.
    pub(in crate::api) fn watched(&self, resource: &Resource) -> Arc<Sent> {
        let labels = format!(
            "group=\"{}\",resource=\"{}\",version=\"{}\"",
            resource.group, resource.plural, resource.version,
        );
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.len() >= MAX_KINDS && !watched.contains_key(&labels) {
            return Arc::default();
        }
        watched.entry(labels).or_default().clone()
    }

    /// Everything that was counted, in the text form of Prometheus.
    pub(super) fn write(&self, text: &mut String) {
        self.write_watched(text);
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let name = "apiserver_request_total";
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "# HELP {name} Requests answered.\n# TYPE {name} counter"
        );
        for (labels, count) in &*kinds {
            for (code, number) in &count.codes {
                let _ = writeln!(text, "{name}{{{labels},code=\"{code}\"}} {number}");
            }
        }
        let name = "apiserver_request_duration_seconds";
        let _ = writeln!(
            text,
            "# HELP {name} How long requests took, watches excepted.\n# TYPE {name} histogram"
        );
        for (labels, count) in &*kinds {
            count.took.write(name, labels, text);
        }
        let name = "apiserver_response_sizes";
        let _ = writeln!(
            text,
            "# HELP {name} How many bytes the answers to reads had.\n# TYPE {name} histogram"
        );
        for (labels, count) in &*kinds {
            if count.sizes.count() > 0 {
                count.sizes.write(name, labels, text);
            }
        }
        drop(kinds);
        let name = "apiserver_watch_list_duration_seconds";
        let _ = writeln!(
            text,
            "# HELP {name} How long lists took that came as watches.\n# TYPE {name} histogram"
        );
        let lists = self.watch_lists.lock();
        for (labels, took) in &*lists.unwrap_or_else(PoisonError::into_inner) {
            took.write(name, labels, text);
        }
    }
}

impl Requests {
    fn write_watched(&self, text: &mut String) {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let name = "apiserver_watch_events_total";
        let _ = writeln!(
            text,
            "# HELP {name} Events sent to watches.\n# TYPE {name} counter"
        );
        for (labels, sent) in &*watched {
            let _ = writeln!(text, "{name}{{{labels}}} {}", sent.events());
        }
        let name = "apiserver_watch_events_sizes";
        let _ = writeln!(
            text,
            "# HELP {name} How many bytes they had.\n# TYPE {name} histogram"
        );
        for (labels, sent) in &*watched {
            sent.write(name, labels, text);
        }
    }
}

/// What a request asked for, with the names that kube-apiserver gives to it.
fn labels(target: &Target, verb: &str) -> String {
    let resource = &target.resource;
    let verb = match verb {
        "create" => "POST".to_owned(),
        "update" => "PUT".to_owned(),
        other => other.to_ascii_uppercase(),
    };
    format!(
        "component=\"apiserver\",group=\"{}\",resource=\"{}\",scope=\"{}\",subresource=\"{}\",verb=\"{verb}\",version=\"{}\"",
        resource.group,
        resource.plural,
        scope(target),
        target.subresource.as_ref().map_or("", |sub| sub.name()),
        resource.version,
    )
}

/// How much of a resource a request asked for.
fn scope(target: &Target) -> &'static str {
    match (&target.name, &target.namespace) {
        (Some(_), _) => "resource",
        (None, Some(_)) => "namespace",
        (None, None) => "cluster",
    }
}
