//! Requests, counted by what they asked for and how it went: the numbers that dashboards for Kubernetes look at.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;

use super::Sent;
use crate::resources::{Resource, Target};

/// The upper bounds of the durations that are told apart, in seconds.
const BOUNDS: [f64; 12] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0,
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
}

#[derive(Debug, Default)]
struct Count {
    codes: BTreeMap<u16, u64>,
    /// How many took up to each bound and not the one before; the last for those that took longer.
    took: [u64; BOUNDS.len() + 1],
    seconds: f64,
}

impl Requests {
    /// Counts a request that was answered. A watch is answered when it begins; how long it lasts is not counted.
    pub(in crate::api) fn count(
        &self,
        target: &Target,
        verb: &str,
        status: StatusCode,
        took: Duration,
    ) {
        let labels = labels(target, verb);
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if kinds.len() >= MAX_KINDS && !kinds.contains_key(&labels) {
            return;
        }
        let count = kinds.entry(labels).or_default();
        *count.codes.entry(status.as_u16()).or_default() += 1;
        if verb != "watch" {
            let seconds = took.as_secs_f64();
            let bound = BOUNDS.iter().position(|bound| seconds <= *bound);
            if let Some(bucket) = count.took.get_mut(bound.unwrap_or(BOUNDS.len())) {
                *bucket += 1;
            }
            count.seconds += seconds;
        }
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
            let mut below = 0;
            let bounds = BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
            for (bound, number) in bounds.zip(count.took) {
                below += number;
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {below}");
            }
            let _ = writeln!(text, "{name}_sum{{{labels}}} {}", count.seconds);
            let _ = writeln!(text, "{name}_count{{{labels}}} {below}");
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
            "# HELP {name} How many bytes they had.\n# TYPE {name} summary"
        );
        for (labels, sent) in &*watched {
            let (events, bytes) = (sent.events(), sent.bytes());
            let _ = writeln!(text, "{name}_sum{{{labels}}} {bytes}");
            let _ = writeln!(text, "{name}_count{{{labels}}} {events}");
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
    let scope = match (&target.name, &target.namespace) {
        (Some(_), _) => "resource",
        (None, Some(_)) => "namespace",
        (None, None) => "cluster",
    };
    format!(
        "component=\"apiserver\",group=\"{}\",resource=\"{}\",scope=\"{scope}\",subresource=\"{}\",verb=\"{verb}\",version=\"{}\"",
        resource.group,
        resource.plural,
        target.subresource.as_ref().map_or("", |sub| sub.name()),
        resource.version,
    )
}
