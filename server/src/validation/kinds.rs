//! Rules of single kinds that are more than a line.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::{data_key_faults, port_name_faults};
use super::{Faults, Reason};
use crate::schema::path::FieldPath;
use crate::schema::pattern::at;

pub(super) fn check(kind: &str, object: &Value, faults: &mut Faults) {
    match kind {
        "ConfigMap" => config_map(object, faults),
        "Secret" => secret(object, faults),
        "Service" => service(object, faults),
        "PersistentVolumeClaim" => claim(object, faults),
        "PersistentVolume" => volume(object, faults),
        "Ingress" => ingress(object, faults),
        "Event" => event(object, faults),
        _ => {}
    }
}

pub(super) fn check_update(kind: &str, object: &Value, old: &Value, faults: &mut Faults) {
    match kind {
        "ConfigMap" => sealed(&["data", "binaryData"], object, old, faults),
        "Secret" => sealed(&["data"], object, old, faults),
        "PersistentVolumeClaim" => claim_update(object, old, faults),
        "PersistentVolume" => volume_update(object, old, faults),
        _ => {}
    }
}

/// Rules of what is written through `status` alone.
pub(super) fn check_status(kind: &str, object: &Value, faults: &mut Faults) {
    if kind != "Namespace" {
        return;
    }
    let phase = at(object, "status.phase").cloned().unwrap_or("".into());
    let deleted = at(object, "metadata.deletionTimestamp").is_some();
    let (wanted, why) = if deleted {
        ("Terminating", "`deletionTimestamp` is not empty")
    } else {
        ("Active", "`deletionTimestamp` is empty")
    };
    if phase != wanted {
        let detail = format!("may only be '{wanted}' if {why}");
        faults.invalid("status.phase", &phase, detail);
    }
}

/// What a config map or secret may hold in all.
const MAX_DATA: usize = 1024 * 1024;

fn config_map(object: &Value, faults: &mut Faults) {
    let mut size = 0;
    let data = object.get("data").and_then(Value::as_object);
    for field in ["data", "binaryData"] {
        let path = FieldPath::Field(&FieldPath::Root, field);
        for (key, value) in object
            .get(field)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            check_key(key, &path, faults);
            if field == "binaryData" && data.is_some_and(|data| data.contains_key(key)) {
                let detail = format!("duplicate of key present in data: {key}");
                faults.invalid(path.key(key), &key.as_str().into(), detail);
            }
            size += decoded_size(value, field == "binaryData");
        }
    }
    if size > MAX_DATA {
        faults.add(
            // What upstream writes for a field without a name.
            "[]",
            Reason::TooLong,
            None,
            format!("may not be more than {MAX_DATA} bytes"),
        );
    }
}

fn secret(object: &Value, faults: &mut Faults) {
    let path = FieldPath::Field(&FieldPath::Root, "data");
    let data = object.get("data").and_then(Value::as_object);
    let mut size = 0;
    for (key, value) in data.into_iter().flatten() {
        check_key(key, &path, faults);
        size += decoded_size(value, true);
    }
    if size > MAX_DATA {
        faults.add(
            path,
            Reason::TooLong,
            None,
            format!("may not be more than {MAX_DATA} bytes"),
        );
    }
    let of = object
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let needed: &[&str] = match of {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        _ => &[],
    };
    for key in needed {
        if !data.is_some_and(|data| data.contains_key(*key)) {
            faults.required(path.key(key), "");
        }
    }
    if of == "kubernetes.io/service-account-token" {
        let key = "kubernetes.io/service-account.name";
        let annotations = at(object, "metadata.annotations");
        let account = annotations.and_then(|annotations| annotations.get(key));
        if account.and_then(Value::as_str).is_none_or(str::is_empty) {
            faults.required(format!("metadata.annotations[{key}]"), "");
        }
    }
}

fn check_key(key: &str, path: &FieldPath<'_>, faults: &mut Faults) {
    for fault in data_key_faults(key) {
        faults.invalid(path.key(key), &key.into(), fault);
    }
}

fn decoded_size(value: &Value, base64: bool) -> usize {
    let length = value.as_str().map_or(0, str::len);
    if base64 { length / 4 * 3 } else { length }
}

/// A config map or secret that says that it is immutable is, and stays so.
fn sealed(fields: &[&str], object: &Value, old: &Value, faults: &mut Faults) {
    let is_sealed = |object: &Value| object.get("immutable") == Some(&true.into());
    if !is_sealed(old) {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if !is_sealed(object) {
        faults.forbidden("immutable", detail);
    }
    for field in fields {
        if object.get(field) != old.get(field) {
            faults.forbidden(field, detail);
        }
    }
}

fn service(object: &Value, faults: &mut Faults) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let text = |field: &str| spec.get(field).and_then(Value::as_str).unwrap_or_default();
    let [of, address] = [text("type"), text("clusterIP")];
    let ports = spec
        .get("ports")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    if ports.is_empty() && of != "ExternalName" && address != "None" {
        faults.required("spec.ports", "");
    }
    if of == "ExternalName" && text("externalName").is_empty() {
        faults.required("spec.externalName", "");
    }
    if of == "LoadBalancer" && address == "None" {
        let detail = "may not be set to 'None' for LoadBalancer services";
        faults.invalid("spec.clusterIP", &address.into(), detail);
    }
    let root = FieldPath::Field(&FieldPath::Root, "spec");
    let path = root.field("ports");
    let mut used = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = port.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() && ports.len() > 1 {
            faults.required(path.field("name"), "");
        }
        let zero = Value::from(0);
        let number = port.get("port").unwrap_or(&zero);
        if !super::tables::is_port(number) {
            faults.invalid(
                path.field("port"),
                number,
                "must be between 1 and 65535, inclusive",
            );
        }
        check_target(port, &path.field("targetPort"), faults);
        let protocol = port
            .get("protocol")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !used.insert((number.to_string(), protocol)) {
            let value = serde_json::json!({"port": number, "protocol": protocol});
            faults.add(path, Reason::Duplicate, Some(&value), "");
        }
    }
    if let Some(list) = spec.get("ports") {
        faults.unique(list, &path, "name");
    }
}

fn check_target(port: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    match port.get("targetPort") {
        Some(name @ Value::String(text)) => {
            for fault in port_name_faults(text) {
                faults.invalid(path, name, fault);
            }
        }
        Some(number @ Value::Number(_)) if !super::tables::is_port(number) => {
            faults.invalid(path, number, "must be between 1 and 65535, inclusive");
        }
        _ => {}
    }
}

fn claim(object: &Value, faults: &mut Faults) {
    if at(object, "spec.resources.requests.storage").is_none() {
        faults.required("spec.resources[storage]", "");
    }
}

/// A claim keeps its spec, but may grow, and may be bound.
fn claim_update(object: &Value, old: &Value, faults: &mut Faults) {
    let [now, before] = [object, old].map(|claim| {
        let mut spec = claim.get("spec").cloned().unwrap_or_default();
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("resources");
            spec.remove("volumeAttributesClassName");
        }
        spec
    });
    let mut bound = before.clone();
    if let (Some(bound), None, Some(volume)) = (
        bound.as_object_mut(),
        before.get("volumeName"),
        now.get("volumeName"),
    ) {
        bound.insert("volumeName".into(), volume.clone());
    }
    if now != bound {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        faults.forbidden("spec", detail);
    }
}

/// The fields of a volume's spec that are not about where it is.
const VOLUME_FIELDS: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

fn volume_source(object: &Value) -> Vec<(&String, &Value)> {
    let spec = object.get("spec").and_then(Value::as_object);
    let fields = spec.into_iter().flatten();
    fields
        .filter(|(key, _)| !VOLUME_FIELDS.contains(&key.as_str()))
        .collect()
}

fn volume(object: &Value, faults: &mut Faults) {
    match volume_source(object).len() {
        0 => faults.required("spec", "must specify a volume type"),
        1 => {}
        _ => faults.forbidden("spec", "may not specify more than 1 volume type"),
    }
}

fn volume_update(object: &Value, old: &Value, faults: &mut Faults) {
    if volume_source(object) != volume_source(old) {
        faults.forbidden(
            "spec.persistentvolumesource",
            "spec.persistentvolumesource is immutable after creation",
        );
    }
}

fn ingress(object: &Value, faults: &mut Faults) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let rules = spec
        .get("rules")
        .and_then(Value::as_array)
        .is_some_and(|rules| !rules.is_empty());
    if !rules && spec.get("defaultBackend").is_none() {
        faults.invalid(
            "spec",
            spec,
            "either `defaultBackend` or `rules` must be specified",
        );
    }
}

/// An event is in the namespace of what it is about. Things without one have theirs in `default`.
fn event(object: &Value, faults: &mut Faults) {
    // The two groups call it by different names.
    let field = if object.get("regarding").is_some() {
        "regarding"
    } else {
        "involvedObject"
    };
    let about = at(object, field).and_then(|about| about.get("namespace"));
    let about = about.and_then(Value::as_str).unwrap_or_default();
    let own = at(object, "metadata.namespace")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let fits = if about.is_empty() {
        own == "default" || own == "kube-system"
    } else {
        about == own
    };
    if !fits {
        faults.invalid(
            "involvedObject.namespace",
            &about.into(),
            "does not match event.namespace",
        );
    }
}
