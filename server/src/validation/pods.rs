//! What a pod's spec must be, wherever it stands.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::{label_faults, port_name_faults};
use super::tables::{PROTOCOLS, Rule, apply};
use super::{Faults, Reason};
use crate::schema::path::FieldPath;

use Rule::{OneOf, Port, Required};

/// Place in the spec and rule; `CONTAINER` is every container and every init container.
const TABLE: &[(&str, Rule)] = &[
    ("containers", Required("")),
    ("restartPolicy", OneOf(&["Always", "Never", "OnFailure"])),
    (
        "dnsPolicy",
        OneOf(&["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]),
    ),
    ("CONTAINER.image", Required("")),
    (
        "CONTAINER.imagePullPolicy",
        OneOf(&["Always", "IfNotPresent", "Never"]),
    ),
    (
        "CONTAINER.terminationMessagePolicy",
        OneOf(&["FallbackToLogsOnError", "File"]),
    ),
    ("CONTAINER.ports[*].protocol", OneOf(PROTOCOLS)),
    ("CONTAINER.ports[*].hostPort", Port),
    ("CONTAINER.env[*].name", Required("")),
    ("CONTAINER.volumeMounts[*].name", Required("")),
    ("CONTAINER.volumeMounts[*].mountPath", Required("")),
];

/// Checks the spec that stands at `place`, as `spec.template.spec`.
pub(super) fn check(spec: &Value, place: &str, faults: &mut Faults) {
    // A place is a plain path, and is only ever written in front of others: one field does for all of it.
    let path = FieldPath::Field(&FieldPath::Root, place);
    for (pattern, rule) in TABLE {
        match pattern.strip_prefix("CONTAINER.") {
            Some(rest) => {
                for list in CONTAINERS {
                    apply(rule, spec, &path, &format!("{list}[*].{rest}"), faults);
                }
            }
            None => apply(rule, spec, &path, pattern, faults),
        }
    }
    let volumes = check_volumes(spec, &path, faults);
    let mut names = BTreeSet::new();
    for list in CONTAINERS {
        let path = path.field(list);
        for (index, container) in elements(spec, list).enumerate() {
            let path = path.index(index);
            check_name(container, &path, &mut names, faults);
            check_ports(container, &path.field("ports"), faults);
            check_mounts(container, &path.field("volumeMounts"), &volumes, faults);
        }
    }
}

const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

fn elements<'a>(value: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(list)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A name that must be there, be a DNS label, and be there once.
fn check_name<'a>(
    value: &'a Value,
    path: &FieldPath<'_>,
    names: &mut BTreeSet<&'a str>,
    faults: &mut Faults,
) {
    let path = path.field("name");
    let name = text(value, "name");
    if name.is_empty() {
        faults.required(path, "");
        return;
    }
    for fault in label_faults(name) {
        faults.invalid(path, &name.into(), fault);
    }
    if !names.insert(name) {
        faults.add(path, Reason::Duplicate, Some(&name.into()), "");
    }
}

fn check_volumes<'a>(
    spec: &'a Value,
    path: &FieldPath<'_>,
    faults: &mut Faults,
) -> BTreeSet<&'a str> {
    let path = path.field("volumes");
    let mut names = BTreeSet::new();
    for (index, volume) in elements(spec, "volumes").enumerate() {
        let path = path.index(index);
        check_name(volume, &path, &mut names, faults);
        let sources = volume
            .as_object()
            .map_or(0, |map| map.keys().filter(|key| *key != "name").count());
        match sources {
            0 => faults.required(path, "must specify a volume type"),
            1 => {}
            _ => faults.forbidden(path, "may not specify more than 1 volume type"),
        }
    }
    names
}

fn check_ports(container: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    let mut names = BTreeSet::new();
    for (index, port) in elements(container, "ports").enumerate() {
        let path = path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            for fault in port_name_faults(name) {
                faults.invalid(path.field("name"), &name.into(), fault);
            }
            if !names.insert(name) {
                faults.add(
                    path.field("name"),
                    Reason::Duplicate,
                    Some(&name.into()),
                    "",
                );
            }
        }
        match port.get("containerPort").filter(|number| **number != 0) {
            None => faults.required(path.field("containerPort"), ""),
            Some(number) if !super::tables::is_port(number) => {
                faults.invalid(
                    path.field("containerPort"),
                    number,
                    "must be between 1 and 65535, inclusive",
                );
            }
            Some(_) => {}
        }
    }
}

fn check_mounts(
    container: &Value,
    path: &FieldPath<'_>,
    volumes: &BTreeSet<&str>,
    faults: &mut Faults,
) {
    let mut places = BTreeSet::new();
    for (index, mount) in elements(container, "volumeMounts").enumerate() {
        let path = path.index(index);
        let [name, place] = ["name", "mountPath"].map(|field| text(mount, field));
        if !name.is_empty() && !volumes.contains(name) {
            faults.add(path.field("name"), Reason::NotFound, Some(&name.into()), "");
        }
        if !place.is_empty() && !places.insert(place) {
            faults.invalid(path.field("mountPath"), &place.into(), "must be unique");
        }
    }
}

/// A pod that was created keeps its spec, but for a few fields.
pub(super) fn check_update(kind: &str, pod: &Value, old: &Value, faults: &mut Faults) {
    if kind != "Pod" {
        return;
    }
    let [now, before] = [pod, old].map(|pod| {
        let mut spec = pod.get("spec").cloned().unwrap_or_default();
        forget_mutable(&mut spec);
        spec
    });
    if now != before {
        faults.forbidden("spec", POD_UPDATE);
    }
    let kept = tolerations(pod);
    if tolerations(old)
        .iter()
        .any(|toleration| !kept.contains(toleration))
    {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        faults.forbidden("spec.tolerations", detail);
    }
}

/// The tolerations of a pod, without the part that may change.
fn tolerations(pod: &Value) -> Vec<Value> {
    let mut tolerations: Vec<Value> = elements(&pod["spec"], "tolerations").cloned().collect();
    for toleration in tolerations.iter_mut().filter_map(Value::as_object_mut) {
        toleration.remove("tolerationSeconds");
    }
    tolerations
}

/// Takes out what an update of a pod may change.
fn forget_mutable(spec: &mut Value) {
    for list in CONTAINERS {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            container.remove("image");
        }
    }
    if let Some(spec) = spec.as_object_mut() {
        for field in [
            "activeDeadlineSeconds",
            "tolerations",
            "terminationGracePeriodSeconds",
            "schedulingGates",
        ] {
            spec.remove(field);
        }
    }
}

const POD_UPDATE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
