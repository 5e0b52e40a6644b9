//! What the metadata of every object must be.

use serde_json::{Map, Value};

use super::names::{label_value_faults, name_faults, prefix_faults, qualified_name_faults};
use super::{Faults, Reason};
use crate::resources::Resource;
use crate::resources::path::segment_fault;
use crate::schema::path::FieldPath;

/// All annotations of an object together, keys and values.
const MAX_ANNOTATIONS: usize = 256 * 1024;

const ROOT: FieldPath<'static> = FieldPath::Field(&FieldPath::Root, "metadata");

pub(super) fn check(resource: &Resource, object: &Value, faults: &mut Faults) {
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    let text = |name: &str| {
        metadata
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let [name, prefix, namespace] = [text("name"), text("generateName"), text("namespace")];
    if !prefix.is_empty() {
        for fault in prefix_faults(resource.names, prefix) {
            faults.invalid(ROOT.field("generateName"), &prefix.into(), fault);
        }
    }
    if name.is_empty() {
        faults.required(ROOT.field("name"), "name or generateName is required");
    } else {
        for fault in name_faults(resource.names, name) {
            faults.invalid(ROOT.field("name"), &name.into(), fault);
        }
    }
    match (resource.is_namespaced(), namespace.is_empty()) {
        (true, true) => faults.required(ROOT.field("namespace"), ""),
        (false, false) => faults.forbidden(ROOT.field("namespace"), "not allowed on this type"),
        _ => {}
    }
    check_parts(metadata, &ROOT, faults);
    let finalizers = metadata.get("finalizers").and_then(Value::as_array);
    for (index, finalizer) in finalizers.into_iter().flatten().enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        for fault in qualified_name_faults(name) {
            faults.invalid(ROOT.field("finalizers"), finalizer, fault);
        }
        // Custom kinds get a warning for this instead.
        let standard = ["orphan", "foregroundDeletion", "kubernetes"].contains(&name);
        if !resource.is_custom() && !standard && !name.contains('/') {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            faults.invalid(ROOT.field("finalizers").index(index), finalizer, detail);
        }
    }
}

/// Checks the metadata of an object inside of another, of whose kind nothing is known.
pub(crate) fn check_embedded(metadata: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    if let Some(Value::String(name)) = metadata.get("name")
        && let Some(fault) = segment_fault(name)
    {
        faults.invalid(path.field("name"), &name.as_str().into(), fault);
    }
    check_parts(metadata, path, faults);
}

fn check_parts(metadata: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    let part = |name: &str| metadata.get(name).and_then(Value::as_object);
    if let Some(labels) = part("labels") {
        check_labels(labels, &path.field("labels"), faults);
    }
    if let Some(annotations) = part("annotations") {
        check_annotations(annotations, &path.field("annotations"), faults);
    }
    if let Some(owners) = metadata.get("ownerReferences") {
        check_owners(owners, &path.field("ownerReferences"), faults);
    }
}

/// Checks labels, wherever they are.
pub(super) fn check_labels(labels: &Map<String, Value>, path: &FieldPath<'_>, faults: &mut Faults) {
    for (key, value) in labels {
        for fault in qualified_name_faults(key) {
            faults.invalid(path, &key.as_str().into(), fault);
        }
        for fault in label_value_faults(value.as_str().unwrap_or_default()) {
            faults.invalid(path, value, fault);
        }
    }
}

fn check_annotations(annotations: &Map<String, Value>, path: &FieldPath<'_>, faults: &mut Faults) {
    let mut size = 0;
    for (key, value) in annotations {
        // Upper case is allowed in the domain of an annotation.
        for fault in qualified_name_faults(&key.to_ascii_lowercase()) {
            faults.invalid(path, &key.as_str().into(), fault);
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATIONS {
        let detail = format!("may not be more than {MAX_ANNOTATIONS} bytes");
        faults.add(path, Reason::TooLong, None, detail);
    }
}

fn check_owners(owners: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    let mut controllers: Vec<&str> = Vec::new();
    for (index, owner) in owners.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        let fields = [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ];
        for (field, detail) in fields {
            let value = owner.get(field).and_then(Value::as_str).unwrap_or_default();
            if value.is_empty() {
                faults.invalid(path.field(field), &"".into(), detail);
            }
        }
        if owner.get("controller") == Some(&true.into()) {
            controllers.push(
                owner
                    .get("name")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            );
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
        );
        faults.invalid(path, owners, detail);
    }
}

/// What an update may not do to the metadata, besides what the server puts right in silence.
pub(super) fn check_update(object: &Value, old: &Value, faults: &mut Faults) {
    let [new, old] = [object, old].map(|object| object.get("metadata").unwrap_or(&Value::Null));
    if old.get("deletionTimestamp").is_none_or(Value::is_null) {
        return;
    }
    let list = |metadata: &Value| -> Vec<String> {
        let names = metadata.get("finalizers").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    };
    let before = list(old);
    let mut added = list(new);
    added.retain(|name| !before.contains(name));
    if !added.is_empty() {
        let added: Vec<String> = added.iter().map(|name| format!("{name:?}")).collect();
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.join(", ")
        );
        faults.forbidden(ROOT.field("finalizers"), &detail);
    }
}
