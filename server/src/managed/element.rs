//! The steps of a path in a set of fields, as texts.
//!
//! | text | shown | what |
//! |---|---|---|
//! | `f:replicas` | `.replicas` | a field, or an entry of a map |
//! | `k:{"port":80}` | `[port=80]` | an element of a list, by its keys in the order of their names |
//! | `v:"a"` | `[="a"]` | an element of a list of plain values, by its value |
//! | `i:3` | `[3]` | an element of a list, by its place |

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The step to a field.
pub(super) fn field(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    text.push_str("f:");
    text.push_str(name);
    text
}

/// The step to an element by its value.
pub(super) fn value(value: &Value) -> String {
    format!("v:{value}")
}

/// The step to an element by its keys.
pub(super) fn keys(keys: &Map<String, Value>) -> String {
    let mut text = String::from("k:{");
    for (place, (name, value)) in keys.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        // A string takes everything.
        let _ = write!(text, "{comma}{}:{value}", Value::from(name.as_str()));
    }
    text.push('}');
    text
}

/// The name of the field that a step leads to.
pub(super) fn name(text: &str) -> Option<&str> {
    text.strip_prefix("f:")
}

/// A step in the one form that it can be compared in. None for a kind of step that is not known.
///
/// # Errors
///
/// The text back, if it is of a known kind and cannot be read.
pub(super) fn canonical(text: String) -> Result<Option<String>, String> {
    let Some((kind, rest)) = text.split_once(':') else {
        return Err(text);
    };
    let read = match kind {
        "f" => return Ok(Some(text)),
        "i" => rest.parse().ok().map(|place: i64| format!("i:{place}")),
        "v" => serde_json::from_str(rest).ok().map(|read| value(&read)),
        "k" => serde_json::from_str(rest).ok().map(|read| keys(&read)),
        _ => return Ok(None),
    };
    read.map(Some).ok_or(text)
}

/// A step as messages write it.
pub(super) fn shown(text: &str) -> String {
    let Some((kind, rest)) = text.split_once(':') else {
        return text.to_owned();
    };
    match kind {
        "f" => format!(".{rest}"),
        "v" => format!("[={rest}]"),
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(rest).unwrap_or_default();
            let keys = keys.iter().map(|(name, value)| format!("{name}={value}"));
            format!("[{}]", keys.collect::<Vec<_>>().join(","))
        }
        _ => format!("[{rest}]"),
    }
}
