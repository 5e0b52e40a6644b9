//! Rules that are a line each.

use serde_json::Value;

use super::Faults;
use crate::schema::path::FieldPath;
use crate::schema::pattern::{at, visit};

/// What must hold of a field.
pub(super) enum Rule {
    /// It is there, and not empty. With what the message says more.
    Required(&'static str),
    /// It is there, whatever it holds: free-form JSON, of which nobody knows what is empty. With what the message says more.
    Present(&'static str),
    /// It is absent or one of these.
    OneOf(&'static [&'static str]),
    /// It is absent or a number from 0.
    NotNegative,
    /// It is absent or a number from 1.
    Positive,
    /// It is absent, or a number from 1 to 65535.
    Port,
}

use Rule::{NotNegative, OneOf, Port, Positive, Present, Required};

/// Kind, place and rule. What stands in a pod's spec is in [`super::pods`].
const TABLE: &[(&str, &str, Rule)] = &[
    (
        "Service",
        "spec.type",
        OneOf(&["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]),
    ),
    (
        "Service",
        "spec.sessionAffinity",
        OneOf(&["ClientIP", "None"]),
    ),
    ("Service", "spec.ports[*].protocol", OneOf(PROTOCOLS)),
    (
        "Service",
        "spec.externalTrafficPolicy",
        OneOf(&["Cluster", "Local"]),
    ),
    (
        "Service",
        "spec.internalTrafficPolicy",
        OneOf(&["Cluster", "Local"]),
    ),
    ("ReplicationController", "spec.replicas", NotNegative),
    ("ReplicaSet", "spec.replicas", NotNegative),
    ("Deployment", "spec.replicas", NotNegative),
    ("Deployment", "spec.minReadySeconds", NotNegative),
    ("Deployment", "spec.revisionHistoryLimit", NotNegative),
    (
        "Deployment",
        "spec.strategy.type",
        OneOf(&["Recreate", "RollingUpdate"]),
    ),
    ("StatefulSet", "spec.replicas", NotNegative),
    (
        "StatefulSet",
        "spec.podManagementPolicy",
        OneOf(&["OrderedReady", "Parallel"]),
    ),
    (
        "StatefulSet",
        "spec.updateStrategy.type",
        OneOf(&["OnDelete", "RollingUpdate"]),
    ),
    (
        "DaemonSet",
        "spec.updateStrategy.type",
        OneOf(&["OnDelete", "RollingUpdate"]),
    ),
    ("DaemonSet", "spec.minReadySeconds", NotNegative),
    ("Job", "spec.parallelism", NotNegative),
    ("Job", "spec.completions", NotNegative),
    ("Job", "spec.backoffLimit", NotNegative),
    ("Job", "spec.activeDeadlineSeconds", NotNegative),
    ("Job", "spec.ttlSecondsAfterFinished", NotNegative),
    (
        "Job",
        "spec.completionMode",
        OneOf(&["Indexed", "NonIndexed"]),
    ),
    (
        "Job",
        "spec.podReplacementPolicy",
        OneOf(&["Failed", "TerminatingOrFailed"]),
    ),
    ("CronJob", "spec.schedule", Required("")),
    (
        "CronJob",
        "spec.concurrencyPolicy",
        OneOf(&["Allow", "Forbid", "Replace"]),
    ),
    ("CronJob", "spec.startingDeadlineSeconds", NotNegative),
    ("CronJob", "spec.successfulJobsHistoryLimit", NotNegative),
    ("CronJob", "spec.failedJobsHistoryLimit", NotNegative),
    ("PersistentVolume", "spec.capacity", Required("")),
    ("PersistentVolume", "spec.accessModes", Required("")),
    (
        "PersistentVolume",
        "spec.persistentVolumeReclaimPolicy",
        OneOf(&["Delete", "Recycle", "Retain"]),
    ),
    (
        "PersistentVolume",
        "spec.volumeMode",
        OneOf(&["Block", "Filesystem"]),
    ),
    (
        "PersistentVolumeClaim",
        "spec.accessModes",
        Required("at least 1 access mode is required"),
    ),
    (
        "PersistentVolumeClaim",
        "spec.accessModes[*]",
        OneOf(ACCESS_MODES),
    ),
    (
        "PersistentVolumeClaim",
        "spec.volumeMode",
        OneOf(&["Block", "Filesystem"]),
    ),
    ("Lease", "spec.leaseDurationSeconds", Positive),
    ("Lease", "spec.leaseTransitions", NotNegative),
    ("EndpointSlice", "addressType", Required("")),
    (
        "EndpointSlice",
        "addressType",
        OneOf(&["FQDN", "IPv4", "IPv6"]),
    ),
    ("EndpointSlice", "ports[*].port", Port),
    ("EndpointSlice", "ports[*].protocol", OneOf(PROTOCOLS)),
    (
        "EndpointSlice",
        "endpoints[*].addresses",
        Required("must contain at least 1 address"),
    ),
    ("Endpoints", "subsets[*].ports[*].port", Port),
    (
        "Endpoints",
        "subsets[*].ports[*].protocol",
        OneOf(PROTOCOLS),
    ),
    ("Ingress", "spec.rules[*].http.paths", Required("")),
    (
        "Ingress",
        "spec.rules[*].http.paths[*].pathType",
        Required("pathType must be specified"),
    ),
    (
        "Ingress",
        "spec.rules[*].http.paths[*].pathType",
        OneOf(&["Exact", "ImplementationSpecific", "Prefix"]),
    ),
    (
        "NetworkPolicy",
        "spec.policyTypes[*]",
        OneOf(&["Egress", "Ingress"]),
    ),
    ("ControllerRevision", "data", Present("data is mandatory")),
    ("ControllerRevision", "revision", NotNegative),
];

/// The protocols of a port.
pub(super) const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

const ACCESS_MODES: &[&str] = &[
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// Kind and place of what can never change.
const IMMUTABLE: &[(&str, &str)] = &[
    ("Secret", "type"),
    ("Deployment", "spec.selector"),
    ("ReplicaSet", "spec.selector"),
    ("DaemonSet", "spec.selector"),
    ("Job", "spec.selector"),
    ("Job", "spec.completionMode"),
    ("ControllerRevision", "data"),
    ("EndpointSlice", "addressType"),
];

pub(super) fn check(kind: &str, object: &Value, faults: &mut Faults) {
    for (of, pattern, rule) in TABLE {
        if *of == kind {
            apply(rule, object, &FieldPath::Root, pattern, faults);
        }
    }
}

/// Holds one rule against every place that a pattern names.
pub(super) fn apply(
    rule: &Rule,
    value: &Value,
    path: &FieldPath<'_>,
    pattern: &str,
    faults: &mut Faults,
) {
    visit(
        value,
        path,
        pattern,
        &mut |path, value| match (rule, value) {
            (Required(detail), value) if value.is_none_or(is_empty) => {
                faults.required(path, detail)
            }
            (Present(detail), value) if value.is_none_or(Value::is_null) => {
                faults.required(path, detail)
            }
            (Required(_) | Present(_), _) | (_, None) => {}
            (OneOf(values), Some(value)) => {
                let text = value.as_str().unwrap_or_default();
                if !values.contains(&text) && !text.is_empty() {
                    faults.unsupported(path, value, values);
                }
            }
            (NotNegative, Some(value)) if value.as_i64().is_some_and(|number| number < 0) => {
                faults.invalid(path, value, "must be greater than or equal to 0");
            }
            (Positive, Some(value)) if value.as_i64().is_some_and(|number| number < 1) => {
                faults.invalid(path, value, "must be greater than 0");
            }
            (Port, Some(value)) if !is_port(value) => {
                faults.invalid(path, value, "must be between 1 and 65535, inclusive");
            }
            (NotNegative | Positive | Port, Some(_)) => {}
        },
    );
}

pub(super) fn check_update(kind: &str, object: &Value, old: &Value, faults: &mut Faults) {
    for (of, path) in IMMUTABLE {
        let [now, before] = [at(object, path), at(old, path)];
        if *of == kind && now != before {
            faults.immutable(path, now);
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a number can be a port.
pub(super) fn is_port(value: &Value) -> bool {
    value
        .as_i64()
        .is_some_and(|number| (1..=65535).contains(&number))
}
