//! Objects inside of objects: `x-kubernetes-embedded-resource`.
//!
//! Such an object has a kind, an apiVersion and metadata of its own, whatever the schema says of its other fields.

use serde_json::Value;

use super::node::Node;
use crate::schema::path::FieldPath;
use crate::schema::{Definition, decode};
use crate::validation::names::dns_1035_label_faults;
use crate::validation::{Faults, check_embedded_metadata};

/// The type of `metadata`.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Removes what is no field of metadata, and returns where that was. Metadata of the wrong type stays, and is found wrong.
pub(super) fn prune(metadata: &mut Value, path: &FieldPath<'_>) -> Vec<String> {
    let mut decoded = metadata.clone();
    let Some(Ok(unknown)) = Definition::find(OBJECT_META).map(|of| decode(&mut decoded, of)) else {
        return Vec::new();
    };
    *metadata = decoded;
    let below = |name: String| path.field(&name).to_string();
    unknown.into_iter().map(below).collect()
}

/// What is wrong with the embedded objects in a value.
pub(super) fn check(node: &Node, value: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    if faults.is_full() {
        return;
    }
    match value {
        Value::Object(fields) => {
            if node.embedded {
                check_one(value, path, faults);
            }
            for (name, value) in fields {
                match node.property(name) {
                    Some(below) => check(below, value, &path.field(name), faults),
                    None => {
                        if let Some(below) = node.additional() {
                            check(below, value, &path.key(name), faults);
                        }
                    }
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = node.items() else { return };
            for (index, element) in list.iter().enumerate() {
                check(items, element, &path.index(index), faults);
            }
        }
        _ => {}
    }
}

fn check_one(object: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    for name in ["apiVersion", "kind"] {
        let at = path.field(name);
        match object.get(name) {
            None => faults.required(at, ""),
            Some(Value::String(text)) if text.is_empty() => faults.required(at, ""),
            Some(Value::String(text)) => check_name(name, text, &at, faults),
            Some(other) => faults.invalid(at, other, "must be a string"),
        }
    }
    let Some(metadata) = object
        .get("metadata")
        .filter(|metadata| !metadata.is_null())
    else {
        return;
    };
    let at = path.field("metadata");
    let decoded = Definition::find(OBJECT_META).map(|of| decode(&mut metadata.clone(), of));
    match decoded {
        Some(Err(error)) => faults.invalid(at, metadata, error.to_string()),
        _ => check_embedded_metadata(metadata, &at, faults),
    }
}

fn check_name(name: &str, text: &str, at: &FieldPath<'_>, faults: &mut Faults) {
    let value = Value::from(text);
    if name == "apiVersion" {
        if text.matches('/').count() > 1 {
            faults.invalid(
                at,
                &value,
                format!("unexpected GroupVersion string: {text}"),
            );
        }
        return;
    }
    let wrong = dns_1035_label_faults(&text.to_ascii_lowercase());
    if !wrong.is_empty() {
        let wrong = wrong.join(",");
        let detail = format!("may have mixed case, but should otherwise match: {wrong}");
        faults.invalid(at, &value, detail);
    }
}
