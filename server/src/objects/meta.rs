//! An object's metadata, field by field. Everything here takes any JSON: what has the wrong type counts as absent.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::status::Failure;

/// A text in the metadata; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    get(object, field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A field of the metadata.
pub(crate) fn get<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object
        .get("metadata")?
        .get(field)
        .filter(|value| !value.is_null())
}

/// A number in the metadata.
pub(crate) fn number(object: &Value, field: &str) -> Option<i64> {
    get(object, field).and_then(Value::as_i64)
}

/// A list of texts in the metadata.
pub(crate) fn texts(object: &Value, field: &str) -> Vec<String> {
    let list = get(object, field).and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// The metadata, made if there is none.
pub(crate) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    as_map(as_map(object).entry("metadata").or_insert(Value::Null))
}

/// The value as an object, whatever it was before.
fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Map::new().into();
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// Sets a field of the metadata, or removes it.
pub(crate) fn set(object: &mut Value, field: &str, value: Option<Value>) {
    match value {
        Some(value) => metadata(object).insert(field.to_owned(), value),
        None => metadata(object).remove(field),
    };
}

/// The resourceVersion that a client sent; `0` and nothing mean none.
pub(crate) fn revision(object: &Value) -> Result<Option<u64>, Failure> {
    let text = text(object, "resourceVersion");
    if text.is_empty() {
        return Ok(None);
    }
    // Rust's parser takes a sign, Go's does not.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<u64> = digits.then(|| text.parse().ok()).flatten();
    match number {
        Some(number) => Ok(Some(number).filter(|number| *number > 0)),
        None => Err(Failure::bad_revision(text)),
    }
}

/// A moment as Kubernetes writes it: whole seconds, UTC.
pub(crate) fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
