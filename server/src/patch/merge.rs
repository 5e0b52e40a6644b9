//! JSON merge patch, RFC 7386: objects are merged, null removes, everything else replaces.
//!
//! One thing is as upstream and not as in the RFC: a null inside an object inside a list is dropped too.

use serde_json::{Map, Value};

/// Merges `patch` into `object`.
pub fn apply(object: &mut Value, patch: &Map<String, Value>) {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Value::Object(fields) = object else {
        return;
    };
    for (name, change) in patch {
        match change {
            Value::Null => {
                fields.remove(name);
            }
            Value::Object(inner) => {
                apply(fields.entry(name.as_str()).or_insert(Value::Null), inner);
            }
            other => {
                fields.insert(name.clone(), without_nulls(other));
            }
        }
    }
}

/// A copy of a value in which no object has a null.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Object(map) => map
            .iter()
            .filter(|(_, item)| !item.is_null())
            .map(|(name, item)| (name.clone(), without_nulls(item)))
            .collect(),
        other => other.clone(),
    }
}
