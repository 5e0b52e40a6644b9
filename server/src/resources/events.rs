//! Two views of the same events.
//!
//! `events.k8s.io` came later than the events of the core group and calls some of their fields by other names.
//! Both are kept in one place, in the core form, and an event written through one is read through the other.

use serde_json::{Map, Value};

/// The fields that differ: their names in the core group, and in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// From the core form to that of `events.k8s.io`.
pub fn to_events_group(event: &mut Map<String, Value>) {
    for (core, events) in NAMES {
        rename(event, core, events);
    }
    event.insert("apiVersion".into(), "events.k8s.io/v1".into());
}

/// From the form of `events.k8s.io` to the core form, in which events are stored.
pub fn to_core(event: &mut Map<String, Value>) {
    for (core, events) in NAMES {
        rename(event, events, core);
    }
    event.insert("apiVersion".into(), "v1".into());
}

fn rename(object: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = object.remove(from) {
        object.insert(to.into(), value);
    }
}
