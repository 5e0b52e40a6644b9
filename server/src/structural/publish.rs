//! A schema as it stands in the documents of OpenAPI.
//!
//! Only those who publish need descriptions and examples, so they are not in the tree: they are read from the definition when
//! somebody asks.

use serde_json::{Map, Value, json};

/// The kind that a schema is published for.
#[derive(Debug, Clone, Copy)]
pub struct Kind<'a> {
    /// As `example.org`.
    pub group: &'a str,
    /// As `v1`.
    pub version: &'a str,
    /// As `Device`.
    pub kind: &'a str,
}

/// The form of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// OpenAPI 3.0: the whole schema.
    V3,
    /// OpenAPI 2.0: without what that version cannot say.
    V2,
}

/// The type of `metadata` in the documents.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

const API_VERSION: &str = "The version of the schema that this object is written in. The server converts what it knows, and \
    refuses what it does not.";
const KIND: &str = "The kind of object this is, in CamelCase. The server takes it from the address of a request. It cannot be changed.";

/// An accepted `openAPIV3Schema` as the schema of a kind: with `apiVersion`, `kind` and a reference to the type of
/// `metadata`, and the extension that names the kind. Without a schema, it is one that says nothing of the fields.
pub fn kind(schema: Option<&Value>, kind: &Kind<'_>, form: Form) -> Value {
    let mut schema = match (schema, form) {
        (None, _) => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        (Some(schema), Form::V3) => schema.clone(),
        (Some(schema), Form::V2) => reduce(schema),
    };
    let Value::Object(object) = &mut schema else {
        return schema;
    };
    let place = match form {
        Form::V3 => "#/components/schemas",
        Form::V2 => "#/definitions",
    };
    let metadata = match form {
        // A reference has no siblings in 3.0.
        Form::V3 => {
            json!({"description": METADATA, "allOf": [{"$ref": format!("{place}/{OBJECT_META}")}]})
        }
        Form::V2 => json!({"description": METADATA, "$ref": format!("{place}/{OBJECT_META}")}),
    };
    let properties = object
        .entry("properties")
        .or_insert_with(|| Map::new().into());
    if let Value::Object(properties) = properties {
        for (name, about) in [("apiVersion", API_VERSION), ("kind", KIND)] {
            properties.insert(name.into(), json!({"description": about, "type": "string"}));
        }
        properties.insert("metadata".into(), metadata);
    }
    object.insert(
        "x-kubernetes-group-version-kind".into(),
        json!([{"group": kind.group, "version": kind.version, "kind": kind.kind}]),
    );
    schema
}

const METADATA: &str = "What every object has: its name, labels and the like.";

/// The words that OpenAPI 2.0 does not have, or whose meaning in it is another.
const LEFT_OUT: [&str; 8] = [
    "allOf",
    "anyOf",
    "default",
    "example",
    "not",
    "nullable",
    "oneOf",
    "x-kubernetes-validations",
];

/// A schema as clients of 2.0 can read it. They would refuse values that a word they lack allows, so where there is one,
/// less is said.
fn reduce(schema: &Value) -> Value {
    let Value::Object(object) = schema else {
        return schema.clone();
    };
    let is_set = |word: &str| object.get(word) == Some(&Value::Bool(true));
    let nullable = is_set("nullable");
    let preserve = is_set("x-kubernetes-preserve-unknown-fields");
    let mut reduced = Map::new();
    for (word, value) in object {
        let shape = ["items", "properties", "additionalProperties"].contains(&word.as_str());
        let left_out = LEFT_OUT.contains(&word.as_str())
            || ((nullable || preserve) && (shape || word == "required"))
            || (nullable && word == "type");
        if left_out {
            continue;
        }
        let value = match (word.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                let reduce = |(name, below): (&String, &Value)| (name.clone(), reduce(below));
                Value::Object(properties.iter().map(reduce).collect())
            }
            ("items" | "additionalProperties", below) => reduce(below),
            (_, value) => value.clone(),
        };
        reduced.insert(word.clone(), value);
    }
    reduced.into()
}
