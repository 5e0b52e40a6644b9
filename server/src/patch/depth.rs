//! How deep and how large a value is.

use serde_json::Value;

/// The measures of a value.
pub(super) struct Size {
    /// Objects and lists on the longest way down.
    pub(super) depth: usize,
    /// Values in it, itself included.
    pub(super) values: usize,
    /// About its length as JSON text.
    pub(super) bytes: usize,
}

/// Measures a value that is no deeper than the stack allows.
pub(super) fn measure(value: &Value) -> Size {
    let mut size = Size {
        depth: 0,
        values: 1,
        bytes: 2,
    };
    match value {
        Value::Null | Value::Bool(_) => size.bytes += 3,
        Value::Number(_) => size.bytes += 8,
        Value::String(text) => size.bytes += text.len(),
        Value::Array(items) => {
            for item in items {
                size.hold(measure(item), 1);
            }
            size.depth += 1;
        }
        Value::Object(map) => {
            for (name, item) in map {
                size.hold(measure(item), name.len() + 4);
            }
            size.depth += 1;
        }
    }
    size
}

impl Size {
    fn hold(&mut self, part: Self, around: usize) {
        self.depth = self.depth.max(part.depth);
        self.values += part.values;
        self.bytes += part.bytes + around;
    }
}
