//! The directions that a strategic merge patch can hold beside its values, and values without them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::Error;

const MARKER: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
pub(super) const ELEMENT_ORDER: &str = "$setElementOrder";
pub(super) const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";

/// What `$patch` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

/// What an object of a patch says in `$patch`.
pub(super) fn of(patch: &Map<String, Value>) -> Result<Option<Directive>, Error> {
    match patch.get(MARKER) {
        None => Ok(None),
        Some(Value::String(text)) if text == "merge" => Ok(Some(Directive::Merge)),
        Some(Value::String(text)) if text == "replace" => Ok(Some(Directive::Replace)),
        Some(Value::String(text)) if text == "delete" => Ok(Some(Directive::Delete)),
        Some(other) => Err(Error::BadDirective(other.to_string())),
    }
}

/// Whether an object of a patch says anything in `$patch`.
pub(super) fn is_in(patch: &Map<String, Value>) -> bool {
    patch.contains_key(MARKER)
}

/// The field that a directive such as `$setElementOrder/containers` is about.
pub(super) fn target<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    name.strip_prefix(prefix)?.strip_prefix('/')
}

/// Obeys `$retainKeys`: fields that it does not name leave the original. The patch may set no others.
pub(super) fn retain_keys(
    original: &mut Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<(), Error> {
    let keys = match patch.get(RETAIN_KEYS) {
        None => return Ok(()),
        Some(Value::Array(keys)) => keys,
        Some(_) => return Err(Error::BadRetainKeys),
    };
    let keys: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let is_fine = |name: &str, value: &Value| {
        value.is_null()
            || name == RETAIN_KEYS
            || name.starts_with(ELEMENT_ORDER)
            || name.starts_with(DELETE_FROM_LIST)
            || keys.contains(name)
    };
    if !patch.iter().all(|(name, value)| is_fine(name, value)) {
        return Err(Error::BadRetainKeys);
    }
    original.retain(|name, _| keys.contains(name.as_str()));
    Ok(())
}

/// The value that a patch brings where there was none: without nulls and directives. Objects with `$patch` are nothing.
pub(super) fn adopt(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Object(map) if map.contains_key(MARKER) => return None,
        Value::Object(map) => map
            .iter()
            .filter(|(name, item)| !item.is_null() && !is_directive(name))
            .filter_map(|(name, item)| Some((name.clone(), adopt(item)?)))
            .collect(),
        Value::Array(items) => items.iter().filter_map(adopt).collect(),
        other => other.clone(),
    })
}

/// The object that a patch puts in the place of another: without nulls and directives.
pub(super) fn strip(map: &Map<String, Value>) -> Map<String, Value> {
    map.iter()
        .filter(|(name, item)| !item.is_null() && !is_directive(name))
        .map(|(name, item)| (name.clone(), strip_value(item)))
        .collect()
}

/// The value that a patch puts in the place of another: without nulls and directives.
pub(super) fn strip_value(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(strip(map)),
        Value::Array(items) => items.iter().map(strip_value).collect(),
        other => other.clone(),
    }
}

fn is_directive(name: &str) -> bool {
    name == MARKER
        || name == RETAIN_KEYS
        || target(name, ELEMENT_ORDER).is_some()
        || target(name, DELETE_FROM_LIST).is_some()
}
