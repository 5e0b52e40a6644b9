//! The words of a schema: which there are, and what each holds.

use serde_json::{Map, Value};

use crate::schema::path::FieldPath;
use crate::structural::format::Format;
use crate::validation::Faults;

/// A node's words, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) map: &'a Map<String, Value>,
    pub(super) path: &'a FieldPath<'a>,
}

/// What is understood. Titles, descriptions and examples are for readers.
const KNOWN: &[&str] = &[
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// Every word that is not understood is refused: a schema means all that it says.
pub(super) fn refuse_unsupported(
    map: &Map<String, Value>,
    path: &FieldPath<'_>,
    faults: &mut Faults,
) {
    for (word, value) in map {
        if value.is_null() {
            continue;
        }
        if !KNOWN.contains(&word.as_str()) {
            faults.forbidden(path.field(word), &format!("{word} is not supported"));
        }
        if word == "uniqueItems" && *value != Value::Bool(false) {
            let detail =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            faults.forbidden(path.field(word), detail);
        }
    }
}

impl<'a> Words<'a> {
    pub(super) fn flag(self, word: &str, faults: &mut Faults) -> bool {
        match self.map.get(word) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                faults.invalid(self.path.field(word), other, "must be a boolean");
                false
            }
        }
    }

    pub(super) fn text(self, word: &str, faults: &mut Faults) -> Option<&'a str> {
        match self.map.get(word) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(other) => {
                faults.invalid(self.path.field(word), other, "must be a string");
                None
            }
        }
    }

    pub(super) fn has_text(self, word: &str) -> bool {
        let text = self.map.get(word).and_then(Value::as_str);
        text.is_some_and(|text| !text.is_empty())
    }

    pub(super) fn number(self, word: &str, faults: &mut Faults) -> Option<f64> {
        match self.map.get(word) {
            None | Some(Value::Null) => None,
            Some(Value::Number(number)) => number.as_f64(),
            Some(other) => {
                faults.invalid(self.path.field(word), other, "must be a number");
                None
            }
        }
    }

    pub(super) fn count(self, word: &str, faults: &mut Faults) -> Option<u64> {
        let value = self.map.get(word).filter(|value| !value.is_null())?;
        let count = value.as_u64().or_else(|| {
            value
                .as_f64()
                .filter(|f| *f >= 0.0 && f.fract() == 0.0)
                .map(|f| f as u64)
        });
        if count.is_none() {
            let detail = "must be a whole number that is not negative";
            faults.invalid(self.path.field(word), value, detail);
        }
        count
    }

    pub(super) fn list(self, word: &str, faults: &mut Faults) -> &'a [Value] {
        match self.map.get(word) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(list)) => list,
            Some(other) => {
                faults.invalid(self.path.field(word), other, "must be a list");
                &[]
            }
        }
    }

    pub(super) fn object(self, word: &str, faults: &mut Faults) -> Option<&'a Map<String, Value>> {
        match self.map.get(word) {
            None | Some(Value::Null) => None,
            Some(Value::Object(map)) => Some(map),
            Some(other) => {
                faults.invalid(self.path.field(word), other, "must be an object");
                None
            }
        }
    }

    pub(super) fn texts(self, word: &str, faults: &mut Faults) -> Vec<&'a str> {
        let mut texts = Vec::new();
        let at = self.path.field(word);
        for (index, value) in self.list(word, faults).iter().enumerate() {
            match value {
                Value::String(text) => texts.push(text.as_str()),
                other => faults.invalid(at.index(index), other, "must be a string"),
            }
        }
        texts
    }
}

/// What whoever creates a definition should know: formats that are not checked.
pub(in crate::structural) fn warnings(schema: &Value, path: &FieldPath<'_>) -> Vec<String> {
    let mut found = Vec::new();
    warn(schema, path, 0, &mut found);
    found
}

/// Warnings are headers of an answer: a few are enough.
const MAX_WARNINGS: usize = 20;

fn warn(schema: &Value, path: &FieldPath<'_>, depth: usize, found: &mut Vec<String>) {
    let Value::Object(map) = schema else { return };
    if found.len() >= MAX_WARNINGS || depth > crate::structural::MAX_DEPTH {
        return;
    }
    if let Some(Value::String(name)) = map.get("format")
        && Format::find(name).is_none()
        && !name.is_empty()
    {
        let at = path.field("format");
        found.push(format!("{at}: unrecognized format {name:?}"));
    }
    if let Some(Value::Object(properties)) = map.get("properties") {
        let at = path.field("properties");
        for (name, below) in properties {
            warn(below, &at.key(name), depth + 1, found);
        }
    }
    for word in ["items", "additionalProperties", "not"] {
        if let Some(below) = map.get(word) {
            warn(below, &path.field(word), depth + 1, found);
        }
    }
    for word in ["allOf", "anyOf", "oneOf"] {
        let at = path.field(word);
        let list = map.get(word).and_then(Value::as_array);
        for (index, below) in list.into_iter().flatten().enumerate() {
            warn(below, &at.index(index), depth + 1, found);
        }
    }
}
