//! Paths with a star for the elements of a list, so that rules and defaults can be tables.
//!
//! `spec.ports[*].protocol` names the protocol of every port that is there. Where something on the way is missing, nothing
//! is named; with a `!`, as in `spec.strategy!.type`, the object on the way is made.

use serde_json::{Map, Value};

use super::path::FieldPath;

/// Calls `visit` with each place that the pattern names, and what is there.
pub fn visit(
    value: &Value,
    path: &FieldPath<'_>,
    pattern: &str,
    found: &mut dyn FnMut(&FieldPath<'_>, Option<&Value>),
) {
    let (segment, rest) = split(pattern);
    let Value::Object(object) = value else { return };
    match segment.strip_suffix("[*]") {
        Some(name) => {
            let path = path.field(name);
            let elements = object.get(name).and_then(Value::as_array);
            for (index, element) in elements.into_iter().flatten().enumerate() {
                let path = path.index(index);
                match rest {
                    Some(rest) => visit(element, &path, rest, found),
                    None => found(&path, Some(element)),
                }
            }
        }
        None => {
            let path = path.field(segment);
            match (rest, object.get(segment)) {
                (Some(rest), Some(inside)) => visit(inside, &path, rest, found),
                (Some(_), None) => {}
                (None, leaf) => found(&path, leaf),
            }
        }
    }
}

/// Puts a value at every place that the pattern names and that has none.
pub fn set_default(value: &mut Value, pattern: &str, default: &Value) {
    let (segment, rest) = split(pattern);
    let Value::Object(object) = value else { return };
    if let Some(name) = segment.strip_suffix("[*]") {
        let elements = object.get_mut(name).and_then(Value::as_array_mut);
        for element in elements.into_iter().flatten() {
            if let Some(rest) = rest {
                set_default(element, rest, default);
            }
        }
        return;
    }
    match (rest, segment.strip_suffix('!')) {
        (None, _) => {
            object.entry(segment).or_insert_with(|| default.clone());
        }
        (Some(rest), Some(name)) => {
            let inside = object.entry(name).or_insert_with(|| Map::new().into());
            set_default(inside, rest, default);
        }
        (Some(rest), None) => {
            if let Some(inside) = object.get_mut(segment) {
                set_default(inside, rest, default);
            }
        }
    }
}

/// What is at a path without stars.
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(value, |value, name| value.get(name))
}

/// What is at a path without stars.
pub fn at_mut<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.')
        .try_fold(value, |value, name| value.get_mut(name))
}

fn split(pattern: &str) -> (&str, Option<&str>) {
    match pattern.split_once('.') {
        Some((segment, rest)) => (segment, Some(rest)),
        None => (pattern, None),
    }
}
