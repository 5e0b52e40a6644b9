//! The documents that kubectl explains, validates and merges by.

use std::collections::BTreeSet;
use std::sync::Arc;

use ringwatch_server::openapi::OpenApi;
use ringwatch_server::resources::merge_keys::{self, Ownership};
use ringwatch_server::resources::{Catalog, Resource, Verb, builtin};
use ringwatch_server::schema::Definition;
use serde_json::{Value, json};

#[path = "text/definition.rs"]
mod definitions;

use definitions::definition;

fn document(openapi: &OpenApi, path: &str) -> Value {
    serde_json::from_slice(&openapi.document(path).unwrap().plain()).unwrap()
}

#[test]
fn the_index_leads_to_every_document_and_changes_with_it() {
    let openapi = OpenApi::new(Catalog::builtin());
    let index: Value = serde_json::from_slice(openapi.index()).unwrap();
    let paths: Vec<&String> = index["paths"].as_object().unwrap().keys().collect();
    assert_eq!(
        paths,
        [
            "api/v1",
            "apis/apiextensions.k8s.io/v1",
            "apis/apps/v1",
            "apis/authentication.k8s.io/v1",
            "apis/authorization.k8s.io/v1",
            "apis/batch/v1",
            "apis/coordination.k8s.io/v1",
            "apis/discovery.k8s.io/v1",
            "apis/events.k8s.io/v1",
            "apis/networking.k8s.io/v1",
        ]
    );
    for path in paths {
        let packed = openapi.document(path).unwrap();
        let hash = packed.etag.trim_matches('"');
        assert_eq!(
            index["paths"][path]["serverRelativeURL"],
            format!("/openapi/v3/{path}?hash={hash}")
        );
    }
    assert!(openapi.document("apis/nothing/v1").is_none());
}

#[test]
fn every_reference_leads_to_a_schema_of_the_same_document() {
    let openapi = OpenApi::new(Catalog::builtin());
    for group in Catalog::builtin().groups() {
        for version in &group.versions {
            let document = document(&openapi, &version.path());
            let schemas = document["components"]["schemas"].as_object().unwrap();
            let mut references = BTreeSet::new();
            collect_references(&document, &mut references);
            for reference in references {
                let name = reference.strip_prefix("#/components/schemas/").unwrap();
                assert!(schemas.contains_key(name), "{name} in {}", version.path());
            }
        }
    }
}

fn collect_references<'a>(value: &'a Value, into: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(object) => {
            into.extend(object.get("$ref").and_then(Value::as_str));
            object
                .values()
                .for_each(|value| collect_references(value, into));
        }
        Value::Array(list) => list
            .iter()
            .for_each(|value| collect_references(value, into)),
        _ => {}
    }
}

#[test]
fn kubectl_finds_the_kind_at_a_path_and_its_schema() {
    let openapi = OpenApi::new(Catalog::builtin());
    for resource in builtin::resources() {
        let root = match &*resource.group {
            "" => "api/v1".to_owned(),
            group => format!("apis/{group}/v1"),
        };
        let document = document(&openapi, &root);
        let inside = if resource.is_namespaced() {
            "/namespaces/{namespace}"
        } else {
            ""
        };
        let path = format!("/{root}{inside}/{}", resource.plural);
        let gvk = json!({"group": resource.group, "version": "v1", "kind": resource.kind});
        let item = &document["paths"][&path];
        let method = if resource.verbs.contains(Verb::List) {
            "get"
        } else {
            "post"
        };
        assert_eq!(
            item[method]["x-kubernetes-group-version-kind"], gvk,
            "{path}"
        );
        let schema = &document["components"]["schemas"][resource.schema_name().unwrap()];
        assert_eq!(
            schema["x-kubernetes-group-version-kind"],
            json!([gvk]),
            "{path}"
        );

        // kubectl leaves validation to the server, and merges by the schema, only if it finds this.
        if resource.verbs.contains(Verb::Patch) {
            let patch = &document["paths"][format!("{path}/{{name}}")]["patch"];
            assert_eq!(patch["x-kubernetes-group-version-kind"], gvk);
            let parameters = patch["parameters"].as_array().unwrap();
            for name in ["fieldValidation", "dryRun"] {
                assert!(
                    parameters
                        .iter()
                        .any(|parameter| parameter["name"] == name && parameter["in"] == "query")
                );
            }
            let content = &patch["requestBody"]["content"];
            assert_eq!(
                content
                    .get("application/strategic-merge-patch+json")
                    .is_some(),
                resource.protobuf,
                "merge keys are known with the types of protobuf"
            );
            assert!(content.get("application/apply-patch+yaml").is_some());
        }
    }
}

#[test]
fn schemas_say_how_lists_merge() {
    let pod: Value = serde_json::from_str(
        Definition::find("io.k8s.api.core.v1.PodSpec")
            .unwrap()
            .json(),
    )
    .unwrap();
    let field = |name: &str| {
        let mut field = pod["properties"][name].clone();
        field.as_object_mut().unwrap().remove("description");
        field
    };
    assert_eq!(
        field("containers"),
        json!({
            "type": "array",
            "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-patch-merge-key": "name",
            "x-kubernetes-patch-strategy": "merge",
        })
    );
    assert_eq!(
        field("volumes")["x-kubernetes-patch-strategy"],
        "merge,retainKeys"
    );
    assert_eq!(field("tolerations")["x-kubernetes-list-type"], "atomic");
    assert_eq!(field("nodeSelector")["x-kubernetes-map-type"], "atomic");

    for rule in merge_keys::rules() {
        let definition = Definition::find(rule.schema).unwrap();
        let field = definition.field(rule.field).unwrap();
        let element = field.of.element();
        let keys = match rule.ownership {
            Ownership::Map(keys) => keys,
            _ => &[],
        };
        for key in keys.iter().copied().chain(rule.patch.key()) {
            let element = element.definition().unwrap();
            assert!(
                element.field(key).is_some(),
                "{} {}: {key}",
                rule.schema,
                rule.field
            );
        }
    }
}

#[test]
fn a_custom_kind_is_published_with_its_schema() {
    let definition = definition(include_str!("../../examples/device.yaml"));
    let rows: Vec<Arc<Resource>> = definition.rows().cloned().collect();
    let openapi = OpenApi::new(Catalog::builtin()).next(Catalog::builtin().with_custom(&rows));
    let document = document(&openapi, "apis/ringwatch.dev/v1");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let device = &schemas["dev.ringwatch.v1.Device"];
    assert_eq!(
        device["x-kubernetes-group-version-kind"],
        json!([{"group": "ringwatch.dev", "version": "v1", "kind": "Device"}])
    );
    assert_eq!(
        device["properties"]["spec"]["properties"]["mode"]["default"],
        "auto"
    );
    let mut references = BTreeSet::new();
    collect_references(&document, &mut references);
    for reference in references {
        let name = reference.strip_prefix("#/components/schemas/").unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
    let v2: Value = serde_json::from_slice(&openapi.v2_json().plain()).unwrap();
    let device = &v2["definitions"]["dev.ringwatch.v1.Device"];
    assert_eq!(
        device["properties"]["spec"]["properties"]["setpoint"]["type"],
        "number"
    );
}

#[test]
fn what_does_not_change_with_the_kinds_is_not_made_again() {
    let first = OpenApi::new(Catalog::builtin());
    let before = first.document("api/v1").unwrap().gzip.as_ptr();
    let definition = definition(include_str!("../../examples/device.yaml"));
    let rows: Vec<Arc<Resource>> = definition.rows().cloned().collect();
    let second = first.next(Catalog::builtin().with_custom(&rows));
    // Another catalog made of equal rows is not the same one; the one that grew out of it is.
    assert_ne!(second.document("api/v1").unwrap().gzip.as_ptr(), before);
    let catalog = Catalog::builtin();
    let first = OpenApi::new(catalog.clone());
    let before = first.document("api/v1").unwrap().gzip.as_ptr();
    let second = first.next(catalog.with_custom(&rows));
    assert_eq!(second.document("api/v1").unwrap().gzip.as_ptr(), before);
    assert!(first.document("apis/ringwatch.dev/v1").is_none());
    assert!(second.document("apis/ringwatch.dev/v1").is_some());
}

#[test]
fn the_documents_are_small_when_packed() {
    let openapi = OpenApi::new(Catalog::builtin());
    let paths = Catalog::builtin();
    let versions = paths.groups().iter().flat_map(|group| &group.versions);
    let packed: usize = versions
        .map(|version| openapi.document(&version.path()).unwrap().gzip.len())
        .sum();
    assert!(packed < 512 * 1024, "{packed} bytes for all of them");
}

#[test]
fn version_2_says_the_same_in_its_own_form() {
    let openapi = OpenApi::new(Catalog::builtin());
    let document: Value = serde_json::from_slice(&openapi.v2_json().plain()).unwrap();
    assert_eq!(document["swagger"], "2.0");
    let definitions = document["definitions"].as_object().unwrap();
    let mut references = BTreeSet::new();
    collect_references(&document, &mut references);
    for reference in references {
        let name = reference.strip_prefix("#/definitions/").unwrap();
        assert!(definitions.contains_key(name), "{name}");
    }
    let strategy = &definitions["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"];
    assert_eq!(
        strategy["$ref"],
        "#/definitions/io.k8s.api.apps.v1.DeploymentStrategy"
    );
    assert_eq!(strategy["x-kubernetes-patch-strategy"], "retainKeys");
    let either = &definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"];
    assert_eq!(
        [&either["type"], &either["format"]],
        ["string", "int-or-string"]
    );
    // A word of schemas in 3.0 and, as the name of a field, in the type of schemas.
    let spec = &definitions["io.k8s.api.apps.v1.DeploymentSpec"];
    assert!(!spec.to_string().contains("\"allOf\""));
    assert!(!document.to_string().contains("requestBody"));
    let patch = &document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
    assert_eq!(patch["consumes"].as_array().unwrap().len(), 4);
    let parameters = patch["parameters"].as_array().unwrap();
    let dry_run = parameters
        .iter()
        .find(|parameter| parameter["name"] == "dryRun")
        .unwrap();
    assert_eq!([&dry_run["in"], &dry_run["type"]], ["query", "string"]);
    assert!(parameters.iter().any(|parameter| parameter["in"] == "body"));
}

#[test]
fn operations_have_names_of_their_own() {
    let openapi = OpenApi::new(Catalog::builtin());
    let document: Value = serde_json::from_slice(&openapi.v2_json().plain()).unwrap();
    let mut seen = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item
            .as_object()
            .unwrap()
            .values()
            .filter(|value| value.is_object())
        {
            let id = operation["operationId"].as_str().unwrap();
            assert!(seen.insert(id), "{id} twice");
        }
    }
    assert!(seen.contains("createCoreV1NamespacedPod"));
    assert!(seen.contains("listCoreV1PodForAllNamespaces"));
    assert!(seen.contains("replaceAppsV1NamespacedDeploymentScale"));
}

#[test]
fn the_protobuf_holds_what_the_json_does() {
    let openapi = OpenApi::new(Catalog::builtin());
    let json: Value = serde_json::from_slice(&openapi.v2_json().plain()).unwrap();
    let bytes = openapi.v2_protobuf().plain();
    let document = fields(&bytes);
    assert_eq!(of(&document, 1), [b"2.0"]);

    let mut paths = BTreeSet::new();
    for part in of(&document, 8) {
        for entry in of(&fields(part), 2) {
            paths.insert(text(of(&fields(entry), 1)[0]));
        }
    }
    assert_eq!(
        paths,
        json["paths"].as_object().unwrap().keys().cloned().collect()
    );

    let mut definitions = BTreeSet::new();
    for part in of(&document, 9) {
        for entry in of(&fields(part), 1) {
            let entry = fields(entry);
            let name = text(of(&entry, 1)[0]);
            let schema = fields(of(&entry, 2)[0]);
            let expected = &json["definitions"][&name];
            let description = of(&schema, 4).first().map(|bytes| text(bytes));
            assert_eq!(
                description.as_deref(),
                expected["description"].as_str(),
                "{name}"
            );
            // Extensions are YAML, of which JSON is a part.
            for extension in of(&schema, 31) {
                let extension = fields(extension);
                let word = text(of(&extension, 1)[0]);
                let any = fields(of(&extension, 2)[0]);
                let value: Value = serde_json::from_slice(of(&any, 2)[0]).unwrap();
                assert_eq!(value, expected[word], "{name}");
            }
            let mut properties = BTreeSet::new();
            for list in of(&schema, 25) {
                properties.extend(
                    of(&fields(list), 1)
                        .iter()
                        .map(|entry| text(of(&fields(entry), 1)[0])),
                );
            }
            let known = expected["properties"]
                .as_object()
                .map(|map| map.keys().cloned().collect());
            assert_eq!(properties, known.unwrap_or_default(), "{name}");
            definitions.insert(name);
        }
    }
    assert_eq!(
        definitions,
        json["definitions"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    );
}

/// The fields of a message that are texts, bytes or messages.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let length = varint(&mut bytes) as usize;
        match tag & 7 {
            // A number, which has just been read.
            0 => {}
            2 => {
                let (value, rest) = bytes.split_at(length);
                fields.push((tag >> 3, value));
                bytes = rest;
            }
            other => panic!("wire type {other}"),
        }
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

fn of<'a>(fields: &[(u64, &'a [u8])], number: u64) -> Vec<&'a [u8]> {
    let matching = fields.iter().filter(|(found, _)| *found == number);
    matching.map(|(_, value)| *value).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
