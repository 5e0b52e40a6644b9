//! Which part of an object a write may change.
//!
//! An object and its status are written through different paths, so that whoever observes cannot change what is wanted, and
//! the reverse. Scale, binding and finalize are narrower still. Everything here is a function from the stored
//! object and what a client sent to the object to store.

use serde_json::{Map, Value, json};

use crate::resources::{Resource, ScalePaths};
use crate::schema::pattern::{at, set_default};
use crate::validation::{Invalid, Reason};

/// A write through the object's own path leaves the status as it is.
pub fn keep_status(resource: &Resource, new: &mut Value, old: &Value) {
    if resource.has_status() {
        put(new, "status", old.get("status").cloned());
    }
}

/// A write through the status' path: everything else comes from the stored object. Built-in kinds take the
/// metadata too, but for what says who owns the object; custom ones do not.
pub fn take_status(resource: &Resource, new: &Value, old: &Value) -> Value {
    let mut result = old.clone();
    put(&mut result, "status", new.get("status").cloned());
    if !resource.is_custom() {
        let mut metadata = new.get("metadata").cloned().unwrap_or_default();
        put(
            &mut metadata,
            "ownerReferences",
            at(old, "metadata.ownerReferences").cloned(),
        );
        put(&mut result, "metadata", Some(metadata));
    }
    result
}

/// Whether `metadata.generation` counts the difference between two states: whether anything differs that is
/// neither metadata nor a status with a path of its own.
pub fn counts(resource: &Resource, new: &Value, old: &Value) -> bool {
    let apart = |name: &str| {
        matches!(name, "metadata" | "apiVersion" | "kind")
            || name == "status" && resource.has_status()
    };
    let wanted = |object: &Value| -> Map<String, Value> {
        let fields = object.as_object().into_iter().flatten();
        let fields = fields.filter(|(name, _)| !apart(name));
        fields
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    resource.update.generation && wanted(new) != wanted(old)
}

/// The Scale of an object.
pub fn scale(paths: &ScalePaths, object: &Value) -> Value {
    let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or_default();
    let mut metadata = Map::new();
    for name in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(value) = at(object, "metadata").and_then(|metadata| metadata.get(name)) {
            metadata.insert(name.into(), value.clone());
        }
    }
    let mut status = json!({"replicas": number(&paths.status_replicas)});
    let selector = paths.selector.as_deref().and_then(|path| at(object, path));
    let selector = selector.map(selector_text).filter(|text| !text.is_empty());
    put(&mut status, "selector", selector.map(Value::from));
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": number(&paths.replicas)},
        "status": status,
    })
}

/// Puts the number that a Scale asks for into an object. Nothing else of a Scale can be written.
pub fn apply_scale(paths: &ScalePaths, object: &mut Value, scale: &Value) -> Result<(), Invalid> {
    let wanted = at(scale, "spec.replicas").cloned().unwrap_or(0.into());
    if wanted.as_i64().is_none_or(|number| number < 0) {
        return Err(Invalid {
            field: "spec.replicas".into(),
            reason: Reason::Invalid,
            value: Some(wanted),
            detail: "must be greater than or equal to 0".into(),
        });
    }
    let (parent, leaf) = paths
        .replicas
        .rsplit_once('.')
        .unwrap_or(("", &paths.replicas));
    let mut place = object;
    for name in parent.split('.').filter(|name| !name.is_empty()) {
        set_default(place, name, &json!({}));
        let Some(inside) = place.get_mut(name) else {
            return Ok(());
        };
        place = inside;
    }
    put(place, leaf, Some(wanted));
    Ok(())
}

/// A selector as text: from text, from a map of labels, or from a selector object.
fn selector_text(selector: &Value) -> String {
    if let Some(text) = selector.as_str() {
        return text.into();
    }
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    let labels = match selector.get("matchLabels") {
        Some(labels) => labels.as_object(),
        None if expressions.is_some() => None,
        None => selector.as_object(),
    };
    let mut terms: Vec<(String, String)> = Vec::new();
    for (key, value) in labels.into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        terms.push((key.clone(), format!("{key}={value}")));
    }
    for expression in expressions.into_iter().flatten() {
        let text = |field: &str| {
            expression
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let key = text("key");
        let values = expression.get("values").and_then(Value::as_array);
        let mut values: Vec<&str> = values
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let values = values.join(",");
        let term = match text("operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        };
        terms.push((key.to_owned(), term));
    }
    terms.sort();
    let terms: Vec<String> = terms.into_iter().map(|(_, term)| term).collect();
    terms.join(",")
}

/// Why a pod cannot be put on a node.
#[derive(Debug, Clone, PartialEq)]
pub enum BindError {
    /// The binding is no binding: 422.
    Invalid(Invalid),
    /// The pod is on its way out, or has a node already: 409, with what to say after the object's name.
    Conflict(String),
}

/// Puts a pod on the node that a binding names, at the moment `now`, as Kubernetes writes moments.
pub fn bind(pod: &mut Value, binding: &Value, now: &str) -> Result<(), BindError> {
    let target = |field: &str| {
        let target = binding.get("target").and_then(|target| target.get(field));
        target.and_then(Value::as_str).unwrap_or_default()
    };
    let invalid = |field: &str, reason, value: Option<&str>, detail: &str| {
        BindError::Invalid(Invalid {
            field: field.into(),
            reason,
            value: value.map(Value::from),
            detail: detail.into(),
        })
    };
    let [kind, node] = [target("kind"), target("name")];
    if !["", "Node"].contains(&kind) {
        let detail = "supported values: \"Node\", \"<empty>\"";
        return Err(invalid(
            "target.kind",
            Reason::NotSupported,
            Some(kind),
            detail,
        ));
    }
    if node.is_empty() {
        return Err(invalid("target.name", Reason::Required, None, ""));
    }
    let text = |path: &str| at(pod, path).and_then(Value::as_str).unwrap_or_default();
    let name = text("metadata.name");
    if !text("metadata.deletionTimestamp").is_empty() {
        let why = format!("pod {name} is being deleted, cannot be assigned to a host");
        return Err(BindError::Conflict(why));
    }
    let assigned = text("spec.nodeName");
    if !assigned.is_empty() {
        let why = format!("pod {name} is already assigned to node {assigned:?}");
        return Err(BindError::Conflict(why));
    }
    set_default(pod, "spec!.nodeName", &node.into());
    for part in ["annotations", "labels"] {
        let Some(Value::Object(more)) = binding
            .get("metadata")
            .and_then(|metadata| metadata.get(part))
        else {
            continue;
        };
        set_default(pod, &format!("metadata!.{part}"), &json!({}));
        let place = pod
            .get_mut("metadata")
            .and_then(|metadata| metadata.get_mut(part));
        if let Some(Value::Object(place)) = place {
            place.extend(more.clone());
        }
    }
    let scheduled = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now});
    set_default(pod, "status!.conditions", &json!([]));
    let conditions = pod
        .get_mut("status")
        .and_then(|status| status.get_mut("conditions"));
    if let Some(Value::Array(conditions)) = conditions {
        conditions.retain(|condition| condition.get("type") != scheduled.get("type"));
        conditions.push(scheduled);
    }
    Ok(())
}

/// The namespace with the finalizers that `new` has in its spec. Whether it is gone then is told by [`is_finalized`].
pub fn finalize(new: &Value, old: &Value) -> Value {
    let mut result = old.clone();
    let finalizers = at(new, "spec.finalizers").cloned();
    set_default(&mut result, "spec", &json!({}));
    if let Some(spec) = result.get_mut("spec") {
        put(spec, "finalizers", finalizers);
    }
    result
}

/// Whether nothing keeps a namespace any more that is to be deleted.
pub fn is_finalized(namespace: &Value) -> bool {
    let empty = |path: &str| {
        let list = at(namespace, path).and_then(Value::as_array);
        list.is_none_or(Vec::is_empty)
    };
    let deleted = at(namespace, "metadata.deletionTimestamp").is_some_and(Value::is_string);
    deleted && empty("spec.finalizers") && empty("metadata.finalizers")
}

/// Sets a field, or removes it.
fn put(object: &mut Value, field: &str, value: Option<Value>) {
    let Some(map) = object.as_object_mut() else {
        return;
    };
    match value {
        Some(value) => map.insert(field.into(), value),
        None => map.remove(field),
    };
}
