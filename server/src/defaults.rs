//! What the server puts into an object that says nothing: the defaults of the common kinds.
//!
//! They are the values that kube-apiserver would show, so that clients find the fields they rely on and an applied object does
//! not differ from its file for ever. Most are a table; what depends on something else is a function below it.
//! Applying them again changes nothing.

use base64ct::{Base64, Encoding};
use serde_json::{Map, Value, json};

use crate::definitions::Custom;
use crate::resources::Resource;
use crate::schema::pattern::{at, at_mut, set_default};
use crate::validation::Invalid;

mod definition;
mod pods;

/// Where a kind has a pod's spec, if it has one.
pub fn pod_spec_path(kind: &str) -> Option<&'static str> {
    match kind {
        "Pod" => Some("spec"),
        "PodTemplate" => Some("template.spec"),
        "ReplicationController"
        | "Deployment"
        | "ReplicaSet"
        | "DaemonSet"
        | "StatefulSet"
        | "Job" => Some("spec.template.spec"),
        "CronJob" => Some("spec.jobTemplate.spec.template.spec"),
        _ => None,
    }
}

/// Fills in what an object of a built-in kind leaves open. To be done before every validation: at create and at update.
pub fn apply(resource: &Resource, object: &mut Value) {
    if resource.is_custom() {
        return;
    }
    let kind = &*resource.kind;
    for (of, pattern, default) in TABLE {
        if *of == kind {
            let default = serde_json::from_str(default).unwrap_or_default();
            set_default(object, pattern, &default);
        }
    }
    if let Some(spec) = pod_spec_path(kind).and_then(|path| at_mut(object, path)) {
        pods::apply(spec);
    }
    match kind {
        "Pod" => pods::requests_from_limits(object),
        "Secret" => move_string_data(object),
        "Service" => service(object),
        "Deployment" | "DaemonSet" | "StatefulSet" => rolling_update(kind, object),
        "ReplicationController" => replication_controller(object),
        "Job" => job(object),
        "NetworkPolicy" => policy_types(object),
        "CustomResourceDefinition" => definition::apply(object),
        _ => {}
    }
}

/// Fills in what an object of a custom kind leaves open. To be done where [`apply`] is.
///
/// # Errors
///
/// What to say if the object would become too large.
pub fn apply_custom(resource: &Resource, object: &mut Value) -> Result<(), Invalid> {
    match resource.custom().map(Custom::schema) {
        Some(Ok(Some(schema))) => schema.fill(object),
        _ => Ok(()),
    }
}

/// Puts in what the server decides when an object is changed.
pub fn prepare_update(resource: &Resource, object: &mut Value) {
    if resource.kind == "CustomResourceDefinition" && !resource.is_custom() {
        definition::note_storage_version(object);
    }
}

/// Puts in what the server decides when an object is created: a status to begin with, and names that follow from
/// the object. `metadata.name` and `metadata.uid` must be set.
pub fn prepare_create(resource: &Resource, object: &mut Value) {
    if resource.is_custom() {
        if let (true, Some(map)) = (resource.has_status(), object.as_object_mut()) {
            map.remove("status");
        }
        return;
    }
    // The status is written through its own path. A node alone may come with one: it is its own reporter.
    let cleared = resource.has_status() && resource.kind != "Node";
    if let (true, Some(map)) = (cleared, object.as_object_mut()) {
        map.remove("status");
    }
    match &*resource.kind {
        "Pod" => {
            let class = pods::qos_class(object);
            insert(
                object,
                "status",
                json!({"phase": "Pending", "qosClass": class}),
            );
        }
        "Namespace" => namespace(object),
        "CustomResourceDefinition" => definition::prepare_create(object),
        "Service" => insert(object, "status", json!({"loadBalancer": {}})),
        "PersistentVolume" | "PersistentVolumeClaim" => {
            insert(object, "status", json!({"phase": "Pending"}))
        }
        "Job" => job_selector(object),
        "Ingress" => insert(object, "status", json!({"loadBalancer": {}})),
        "ReplicaSet" | "ReplicationController" => insert(object, "status", json!({"replicas": 0})),
        "DaemonSet" => insert(
            object,
            "status",
            DAEMON_SET_STATUS
                .iter()
                .map(|name| (*name, 0))
                .collect::<Value>(),
        ),
        "StatefulSet" => insert(
            object,
            "status",
            json!({"replicas": 0, "availableReplicas": 0}),
        ),
        "Deployment" | "CronJob" | "ResourceQuota" => insert(object, "status", json!({})),
        _ => {}
    }
}

/// The counters that a daemon set always shows.
const DAEMON_SET_STATUS: [&str; 4] = [
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberMisscheduled",
    "numberReady",
];

/// Kind, place and value as JSON. What stands in a pod's spec is in [`pods`].
const TABLE: &[(&str, &str, &str)] = &[
    ("ReplicationController", "spec.replicas", "1"),
    ("ReplicaSet", "spec.replicas", "1"),
    ("Deployment", "spec.replicas", "1"),
    ("Deployment", "spec.strategy!.type", "\"RollingUpdate\""),
    ("Deployment", "spec.revisionHistoryLimit", "10"),
    ("Deployment", "spec.progressDeadlineSeconds", "600"),
    (
        "DaemonSet",
        "spec.updateStrategy!.type",
        "\"RollingUpdate\"",
    ),
    ("DaemonSet", "spec.revisionHistoryLimit", "10"),
    ("StatefulSet", "spec.replicas", "1"),
    (
        "StatefulSet",
        "spec.podManagementPolicy",
        "\"OrderedReady\"",
    ),
    (
        "StatefulSet",
        "spec.updateStrategy!.type",
        "\"RollingUpdate\"",
    ),
    ("StatefulSet", "spec.revisionHistoryLimit", "10"),
    (
        "StatefulSet",
        "spec.persistentVolumeClaimRetentionPolicy!.whenDeleted",
        "\"Retain\"",
    ),
    (
        "StatefulSet",
        "spec.persistentVolumeClaimRetentionPolicy!.whenScaled",
        "\"Retain\"",
    ),
    (
        "StatefulSet",
        "spec.volumeClaimTemplates[*].apiVersion",
        "\"v1\"",
    ),
    (
        "StatefulSet",
        "spec.volumeClaimTemplates[*].kind",
        "\"PersistentVolumeClaim\"",
    ),
    (
        "StatefulSet",
        "spec.volumeClaimTemplates[*].spec.volumeMode",
        "\"Filesystem\"",
    ),
    (
        "StatefulSet",
        "spec.volumeClaimTemplates[*].status",
        "{\"phase\":\"Pending\"}",
    ),
    ("Job", "spec.parallelism", "1"),
    ("Job", "spec.backoffLimit", "6"),
    ("Job", "spec.completionMode", "\"NonIndexed\""),
    ("Job", "spec.suspend", "false"),
    ("Job", "spec.manualSelector", "false"),
    ("CronJob", "spec.concurrencyPolicy", "\"Allow\""),
    ("CronJob", "spec.suspend", "false"),
    ("CronJob", "spec.successfulJobsHistoryLimit", "3"),
    ("CronJob", "spec.failedJobsHistoryLimit", "1"),
    ("Service", "spec.type", "\"ClusterIP\""),
    ("Service", "spec.sessionAffinity", "\"None\""),
    ("Service", "spec.ports[*].protocol", "\"TCP\""),
    ("Secret", "type", "\"Opaque\""),
    (
        "PersistentVolume",
        "spec.persistentVolumeReclaimPolicy",
        "\"Retain\"",
    ),
    ("PersistentVolume", "spec.volumeMode", "\"Filesystem\""),
    ("PersistentVolume", "spec.hostPath.type", "\"\""),
    ("PersistentVolumeClaim", "spec.volumeMode", "\"Filesystem\""),
    ("Endpoints", "subsets[*].ports[*].protocol", "\"TCP\""),
    ("EndpointSlice", "ports[*].name", "\"\""),
    ("EndpointSlice", "ports[*].protocol", "\"TCP\""),
    (
        "NetworkPolicy",
        "spec.ingress[*].ports[*].protocol",
        "\"TCP\"",
    ),
    (
        "NetworkPolicy",
        "spec.egress[*].ports[*].protocol",
        "\"TCP\"",
    ),
];

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Some(map) = object.as_object_mut() {
        map.insert(key.into(), value);
    }
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// `stringData` is for writing only: it is put over `data`, and gone.
fn move_string_data(secret: &mut Value) {
    let Some(map) = secret.as_object_mut() else {
        return;
    };
    let Some(Value::Object(plain)) = map.remove("stringData") else {
        return;
    };
    if plain.is_empty() {
        return;
    }
    let data = map.entry("data").or_insert_with(|| Map::new().into());
    let Value::Object(data) = data else { return };
    for (key, value) in plain {
        if let Value::String(text) = value {
            data.insert(key, Base64::encode_string(text.as_bytes()).into());
        }
    }
}

fn service(service: &mut Value) {
    let Some(spec) = service.get_mut("spec") else {
        return;
    };
    let of = text(spec, "type").to_owned();
    if of != "ExternalName" {
        set_default(spec, "internalTrafficPolicy", &"Cluster".into());
    }
    if of == "NodePort" || of == "LoadBalancer" {
        set_default(spec, "externalTrafficPolicy", &"Cluster".into());
    }
    if of == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", &true.into());
    }
    if text(spec, "sessionAffinity") == "ClientIP" {
        set_default(
            spec,
            "sessionAffinityConfig!.clientIP!.timeoutSeconds",
            &10800.into(),
        );
    }
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(number) = port.get("port").cloned() {
            set_default(port, "targetPort", &number);
        }
    }
}

fn rolling_update(kind: &str, object: &mut Value) {
    let (strategy, defaults) = match kind {
        "Deployment" => (
            "strategy",
            [("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))],
        ),
        "DaemonSet" => (
            "updateStrategy",
            [("maxUnavailable", json!(1)), ("maxSurge", json!(0))],
        ),
        _ => (
            "updateStrategy",
            [("partition", json!(0)), ("partition", json!(0))],
        ),
    };
    let strategy = object
        .get_mut("spec")
        .and_then(|spec| spec.get_mut(strategy));
    if let Some(strategy) = strategy.filter(|strategy| strategy["type"] == "RollingUpdate") {
        for (name, default) in defaults {
            set_default(strategy, &format!("rollingUpdate!.{name}"), &default);
        }
    }
}

/// The one controller that may leave its selector, and its own labels, to its template.
fn replication_controller(object: &mut Value) {
    let Some(labels) = at(object, "spec.template.metadata.labels").cloned() else {
        return;
    };
    set_default(object, "spec.selector", &labels);
    set_default(object, "metadata!.labels", &labels);
}

fn job(object: &mut Value) {
    let Some(spec) = object.get_mut("spec") else {
        return;
    };
    // A job that says neither how many nor how many at once does one thing. `parallelism` has been defaulted to 1 by now.
    if spec["parallelism"] == 1 {
        set_default(spec, "completions", &1.into());
    }
    let policy = if spec.get("podFailurePolicy").is_some() {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    set_default(spec, "podReplacementPolicy", &policy.into());
}

/// A job's pods are told from others by its uid, unless it brings its own selector.
fn job_selector(job: &mut Value) {
    insert(job, "status", json!({}));
    if at(job, "spec.manualSelector") == Some(&true.into()) {
        return;
    }
    let [uid, name] = ["metadata.uid", "metadata.name"].map(|path| text(job, path).to_owned());
    if uid.is_empty() {
        return;
    }
    let labels = [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ];
    for (label, value) in labels {
        let template = at_mut(job, "spec.template");
        if let Some(Value::Object(metadata)) = template.map(|template| {
            set_default(template, "metadata!.labels", &json!({}));
            &mut template["metadata"]["labels"]
        }) {
            metadata
                .entry(label)
                .or_insert_with(|| value.as_str().into());
        }
    }
    let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
    set_default(job, "spec.selector", &selector);
}

fn policy_types(policy: &mut Value) {
    let Some(spec) = policy.get_mut("spec") else {
        return;
    };
    let egress = spec
        .get("egress")
        .and_then(Value::as_array)
        .is_some_and(|rules| !rules.is_empty());
    let types = if egress {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    set_default(spec, "policyTypes", &types);
}

fn namespace(namespace: &mut Value) {
    insert(namespace, "status", json!({"phase": "Active"}));
    set_default(namespace, "spec!.finalizers", &json!([]));
    let name = text(namespace, "metadata.name").to_owned();
    let finalizers = at_mut(namespace, "spec.finalizers").and_then(Value::as_array_mut);
    if let Some(finalizers) = finalizers.filter(|list| !list.contains(&"kubernetes".into())) {
        finalizers.push("kubernetes".into());
    }
    // The label's name has dots in it, so it is no pattern.
    set_default(namespace, "metadata!.labels", &json!({}));
    if let Some(Value::Object(labels)) = at_mut(namespace, "metadata.labels") {
        labels.insert("kubernetes.io/metadata.name".into(), name.into());
    }
}
