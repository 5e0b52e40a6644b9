//! Structural schemas, case by case from text files: what becomes of an object, what is wrong with it, and which schemas
//! are refused.
//!
//! A case has a `schema`, or the schema of `spec` alone as `spec`; an `object`, or its spec as `given`; for an update what was
//! there, as `old` or `before`. The object is pruned, filled and checked. `unknown` lists what was pruned, `result` is what
//! came of the spec (`becomes` of the object) if it is not what was given, and `error` is what was found wrong, with ` ¦ `
//! between.

use std::fmt::Write as _;

use ringwatch_server::schema::path::FieldPath;
use ringwatch_server::structural::publish::{self, Form, Kind};
use ringwatch_server::structural::{self, ListType, MapType, Schema, Type};
use ringwatch_server::validation::Invalid;
use serde_json::{Value, json};

#[path = "text/cases.rs"]
mod text;
use text::{Case, cases};

const AT: FieldPath<'static> = FieldPath::Field(&FieldPath::Root, "schema");

fn read(schema: &Value) -> Result<Schema, Vec<Invalid>> {
    Schema::parse(schema, &AT)
}

fn joined(faults: &[Invalid]) -> String {
    let texts: Vec<String> = faults.iter().map(Invalid::to_string).collect();
    texts.join(" ¦ ")
}

fn schema_of(case: &Case<'_>) -> Value {
    match case.line("schema") {
        Some(_) => case.value("schema"),
        None => json!({"type": "object", "properties": {"spec": case.value("spec")}}),
    }
}

/// The whole object, or the object around a spec.
fn object_of(case: &Case<'_>, whole: &str, spec: &str) -> Option<Value> {
    let object = case.line(whole).map(|_| case.value(whole));
    object.or_else(|| {
        let spec = case.line(spec).map(|_| case.value(spec));
        spec.map(|spec| json!({"spec": spec}))
    })
}

fn outcome(case: &Case<'_>) -> Result<String, String> {
    let schema = read(&schema_of(case)).map_err(|faults| joined(&faults))?;
    let given = object_of(case, "object", "given").expect("an object");
    let wanted = object_of(case, "becomes", "result").unwrap_or_else(|| given.clone());
    let mut object = given;
    let unknown = schema.prune(&mut object);
    if unknown.join(", ") != case.line("unknown").unwrap_or_default() {
        return Err(format!("unknown: {unknown:?}"));
    }
    schema.fill(&mut object).unwrap();
    if object != wanted {
        return Err(format!("became {object}"));
    }
    let faults = match object_of(case, "old", "before") {
        Some(mut old) => {
            schema.fill(&mut old).unwrap();
            schema.validate_update(&object, &old)
        }
        None => schema.validate(&object),
    };
    Ok(joined(&faults))
}

fn run(text: &str, at_least: usize) {
    let mut differing = String::new();
    for case in &cases(text, at_least) {
        let wanted = case.line("error").unwrap_or_default();
        match outcome(case) {
            Ok(found) if found == wanted => {}
            other => writeln!(differing, "{}:\n  {other:?}\n  {wanted:?}", case.title).unwrap(),
        }
    }
    assert!(differing.is_empty(), "\n{differing}");
}

#[test]
fn what_is_unknown_is_pruned() {
    run(include_str!("structural/pruning.txt"), 20);
}

#[test]
fn what_is_absent_is_filled_in() {
    run(include_str!("structural/defaults.txt"), 18);
}

#[test]
fn values_are_of_their_types() {
    run(include_str!("structural/types.txt"), 30);
}

#[test]
fn values_keep_to_what_is_said_of_them() {
    run(include_str!("structural/values.txt"), 55);
}

#[test]
fn alternatives_are_weighed() {
    run(include_str!("structural/alternatives.txt"), 15);
}

#[test]
fn lists_and_embedded_objects_are_checked() {
    run(include_str!("structural/lists.txt"), 20);
}

#[test]
fn an_update_is_not_refused_for_what_it_leaves_alone() {
    run(include_str!("structural/updates.txt"), 15);
}

#[test]
fn rules_are_run() {
    run(include_str!("structural/rules.txt"), 50);
}

#[test]
fn schemas_that_cannot_be_kept_are_refused() {
    let mut differing = String::new();
    for case in &cases(include_str!("structural/refusals.txt"), 60) {
        let wanted = case.line("error").unwrap_or_default();
        let found = match read(&schema_of(case)) {
            Ok(_) => String::new(),
            Err(faults) => joined(&faults),
        };
        if found != wanted {
            writeln!(differing, "{}:\n  {found:?}\n  {wanted:?}", case.title).unwrap();
        }
    }
    assert!(differing.is_empty(), "\n{differing}");
}

#[test]
fn whoever_creates_a_definition_is_warned_of_formats_that_are_not_checked() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "format": "date-time"},
        "b": {"type": "array", "items": {"type": "integer", "format": "uint8"}},
    }});
    assert!(read(&schema).is_ok());
    assert_eq!(
        structural::warnings(&schema, &AT),
        ["schema.properties[b].items.format: unrecognized format \"uint8\""]
    );
}

const DEVICE: Kind<'static> = Kind {
    group: "example.org",
    version: "v1",
    kind: "Device",
};

#[test]
fn a_schema_is_published_as_that_of_a_kind() {
    let schema = json!({"type": "object", "description": "A device.", "properties": {
        "spec": {"type": "object", "properties": {"mode": {"type": "string", "default": "auto"}}},
    }});
    let published = publish::kind(Some(&schema), &DEVICE, Form::V3);
    assert_eq!(published["description"], "A device.");
    assert_eq!(
        published["properties"]["spec"],
        schema["properties"]["spec"]
    );
    assert_eq!(
        published["properties"]["metadata"]["allOf"],
        json!([{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}])
    );
    assert_eq!(published["properties"]["kind"]["type"], "string");
    assert_eq!(
        published["x-kubernetes-group-version-kind"],
        json!([{"group": "example.org", "version": "v1", "kind": "Device"}])
    );
    let unknown = publish::kind(None, &DEVICE, Form::V3);
    assert_eq!(unknown["x-kubernetes-preserve-unknown-fields"], true);
}

#[test]
fn openapi_2_is_not_told_what_it_would_misunderstand() {
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "required": ["a"],
        "oneOf": [{"required": ["a"]}],
        "x-kubernetes-validations": [{"rule": "true"}],
        "properties": {
            "a": {"type": "string", "default": "x", "pattern": "^x"},
            "b": {"type": "object", "nullable": true, "properties": {"c": {"type": "string"}}},
            "d": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"e": {"type": "string"}}},
            "f": {"x-kubernetes-int-or-string": true},
            "g": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "nullable": true}},
        },
    }}});
    let published = publish::kind(Some(&schema), &DEVICE, Form::V2);
    assert_eq!(
        published["properties"]["metadata"]["$ref"],
        "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    );
    assert_eq!(
        published["properties"]["spec"],
        json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "string", "pattern": "^x"},
            "b": {},
            "d": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "f": {"x-kubernetes-int-or-string": true},
            "g": {"type": "array", "x-kubernetes-list-type": "set", "items": {}},
        }})
    );
}

#[test]
fn a_schema_can_be_walked() {
    let schema = read(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "site": {"type": "string", "format": "hostname"},
        "tags": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "integer"}},
        "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
            "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
    }}}}))
    .unwrap();
    let site = schema.at(".spec.site").unwrap();
    assert_eq!(
        (site.type_of(), site.format()),
        (Some(Type::String), Some("hostname"))
    );
    assert_eq!(
        schema.at("spec.tags.any").unwrap().type_of(),
        Some(Type::Integer)
    );
    for nowhere in ["", ".", ".spec.nothing", ".spec.ports.name", "..spec"] {
        assert!(schema.at(nowhere).is_none(), "{nowhere}");
    }
    let spec = schema.root().property("spec").unwrap();
    assert_eq!(spec.field("tags").unwrap().map_type(), MapType::Atomic);
    let ports = spec.field("ports").unwrap();
    assert_eq!(ports.list_type(), ListType::Map);
    assert_eq!(ports.list_map_keys().collect::<Vec<_>>(), ["name"]);
    assert!(ports.items().unwrap().is_required("name"));
}
