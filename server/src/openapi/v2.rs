//! The one document of OpenAPI 2.0, as JSON and as the protobuf that older clients want.
//!
//! It is made from the same schemas and paths as the newer documents, rewritten: references stand in another place, a
//! reference may have siblings, and a request's body is a parameter. kubectl before 1.27 validates and explains by it.

use serde_json::{Map, Value, json};

use super::{custom_schemas, operations, schemas};
use crate::resources::Catalog;
use crate::schema::KUBERNETES_VERSION;
use crate::structural::publish::Form;

mod protobuf;

/// The media type of the protobuf form, for the answer.
pub const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// How clients ask for the protobuf form. The `@` may not stand in a media type, and clients refuse an answer with it,
/// but they all ask with it.
pub const PROTOBUF_ACCEPT: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    PROTOBUF,
];

/// Writes the document as JSON, piece by piece.
pub(super) fn write_json(catalog: &Catalog, out: &mut dyn FnMut(&[u8])) {
    let info = info();
    out(format!("{{\"swagger\":\"2.0\",\"info\":{info},\"paths\":{{").as_bytes());
    let mut comma = "";
    for_each_path(catalog, &mut |path, item| {
        out(format!("{comma}{}:{item}", Value::from(path)).as_bytes());
        comma = ",";
    });
    out(b"},\"definitions\":{");
    let mut comma = "";
    for_each_definition(catalog, &mut |name, schema| {
        out(format!("{comma}\"{name}\":{schema}").as_bytes());
        comma = ",";
    });
    out(b"}}");
}

/// Writes the document as protobuf, piece by piece: parts of one message may come one after the other, and the reader
/// puts them together.
pub(super) fn write_protobuf(catalog: &Catalog, out: &mut dyn FnMut(&[u8])) {
    out(&protobuf::head(&info()));
    for_each_path(catalog, &mut |path, item| out(&protobuf::path(path, &item)));
    for_each_definition(catalog, &mut |name, schema| {
        out(&protobuf::definition(name, &schema))
    });
}

fn info() -> Value {
    json!({"title": "Kubernetes", "version": KUBERNETES_VERSION})
}

fn for_each_path(catalog: &Catalog, found: &mut dyn FnMut(&str, Value)) {
    for resource in catalog.resources() {
        for (path, item) in operations::paths(resource) {
            found(&path, path_item(item));
        }
    }
}

fn for_each_definition(catalog: &Catalog, found: &mut dyn FnMut(&str, Value)) {
    for (name, text) in schemas(catalog.resources()) {
        // The texts are our own, or were read when the kind was defined.
        let Ok(schema) = serde_json::from_str(&text) else {
            continue;
        };
        found(&name, rewrite(schema));
    }
    for (name, schema) in custom_schemas(catalog.resources(), Form::V2) {
        found(&name, schema);
    }
}

/// A schema of OpenAPI 3.0 as one of 2.0.
fn rewrite(schema: Value) -> Value {
    let Value::Object(object) = schema else {
        return schema;
    };
    let mut result = Map::new();
    for (key, value) in object {
        match key.as_str() {
            "$ref" => {
                let name = value
                    .as_str()
                    .unwrap_or_default()
                    .rsplit('/')
                    .next()
                    .unwrap_or_default();
                result.insert(key, format!("#/definitions/{name}").into());
            }
            // Only ever used to put a reference beside a description.
            "allOf" => {
                let only = value.as_array().and_then(|all| all.first()).cloned();
                if let Some(Value::Object(reference)) = only.map(rewrite) {
                    result.extend(reference);
                }
            }
            // There are no alternatives in 2.0; those there are can all be written as text.
            "oneOf" => {
                result.insert("type".into(), "string".into());
            }
            "properties" => {
                let fields = match value {
                    Value::Object(fields) => fields,
                    _ => Map::new(),
                };
                let fields = fields
                    .into_iter()
                    .map(|(name, schema)| (name, rewrite(schema)));
                result.insert(key, Value::Object(fields.collect()));
            }
            "items" | "additionalProperties" => {
                result.insert(key, rewrite(value));
            }
            _ => {
                result.insert(key, value);
            }
        }
    }
    result.into()
}

const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

fn path_item(item: Value) -> Value {
    let Value::Object(item) = item else {
        return item;
    };
    let rewritten = item.into_iter().map(|(key, value)| {
        let value = match key.as_str() {
            "parameters" => parameters(&value),
            method if METHODS.contains(&method) => operation(value),
            _ => value,
        };
        (key, value)
    });
    Value::Object(rewritten.collect())
}

fn operation(operation: Value) -> Value {
    let Value::Object(mut operation) = operation else {
        return operation;
    };
    let mut all = match operation.get("parameters").map(parameters) {
        Some(Value::Array(all)) => all,
        _ => Vec::new(),
    };
    if let Some(Value::Object(body)) = operation.remove("requestBody") {
        let content = body.get("content").and_then(Value::as_object);
        let types: Vec<&String> = content
            .into_iter()
            .flat_map(|content| content.keys())
            .collect();
        let schema = content.and_then(|content| content.values().next());
        let schema = schema
            .and_then(|media| media.get("schema"))
            .cloned()
            .unwrap_or_default();
        let required = body.get("required").cloned().unwrap_or(false.into());
        operation.insert("consumes".into(), json!(types));
        all.push(
            json!({"in": "body", "name": "body", "required": required, "schema": rewrite(schema)}),
        );
    }
    operation.insert("parameters".into(), all.into());
    operation.insert("produces".into(), json!(["application/json"]));
    if let Some(Value::Object(responses)) = operation.get_mut("responses") {
        for response in responses.values_mut().filter_map(Value::as_object_mut) {
            let schema = response
                .remove("content")
                .map(|mut content| content["application/json"]["schema"].take());
            if let Some(schema) = schema {
                response.insert("schema".into(), rewrite(schema));
            }
        }
    }
    operation.into()
}

/// In 2.0 the type of a parameter stands beside its name.
fn parameters(list: &Value) -> Value {
    let rewritten = list.as_array().into_iter().flatten().map(|parameter| {
        let mut parameter = parameter.clone();
        if let Some(map) = parameter.as_object_mut()
            && let Some(Value::Object(schema)) = map.remove("schema")
        {
            map.extend(schema);
        }
        parameter
    });
    rewritten.collect()
}
