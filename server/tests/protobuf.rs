//! Protobuf from and to JSON, against bytes that Kubernetes itself wrote, and what hostile bytes get.

use std::fmt::Write as _;

use base64ct::{Base64, Encoding};
use ringwatch_server::codec::protobuf::{self, DecodeError, EncodeError};
use ringwatch_server::codec::schema;
use serde_json::{Value, json};

#[path = "text/cases.rs"]
mod text;
use text::{Case, cases};

const OBJECTS: &str = include_str!("cases/protobuf.txt");
const KUBECTL: &str = include_str!("cases/kubectl.txt");

fn bytes(case: &Case<'_>) -> Vec<u8> {
    Base64::decode_vec(case.line("bytes").expect("bytes")).expect("base64")
}

#[test]
fn objects_are_written_as_kubernetes_writes_them() {
    let mut differing = String::new();
    for case in cases(OBJECTS, 60) {
        let encoded = protobuf::encode(case.line("json").expect("an object").as_bytes());
        if encoded.as_ref() != Ok(&bytes(&case)) {
            writeln!(differing, "{}: {encoded:?}", case.title).unwrap();
        }
    }
    assert!(differing.is_empty(), "{differing}");
}

#[test]
fn objects_are_read_as_kubernetes_reads_them() {
    let mut differing = String::new();
    for case in cases(OBJECTS, 60).iter().chain(&cases(KUBECTL, 9)) {
        let wanted = case.value(case.line("back").map_or("json", |_| "back"));
        match protobuf::decode(&bytes(case)) {
            Ok(decoded) if decoded == wanted => {}
            other => writeln!(differing, "{}: {other:?}\nnot {wanted}", case.title).unwrap(),
        }
    }
    assert!(differing.is_empty(), "{differing}");
}

#[test]
fn every_resource_of_the_api_has_a_case() {
    let cases = cases(OBJECTS, 60);
    let kinds: Vec<String> = cases
        .iter()
        .map(|case| case.value("json")["kind"].as_str().unwrap().to_owned())
        .collect();
    for message in schema::messages().filter(|message| message.is_kind()) {
        let name = message.name();
        let package = message.full_name();
        let is_served = [
            "core.v1",
            "apps",
            "batch",
            "coordination",
            "discovery",
            "events",
        ]
        .iter()
        .any(|group| package.starts_with(&format!("io.k8s.api.{group}")));
        // Lists differ in their elements only.
        if is_served && !name.ends_with("List") {
            assert!(kinds.iter().any(|kind| kind == name), "no case for {name}");
        }
    }
}

#[test]
fn a_list_is_the_same_in_parts_and_as_a_whole() {
    let items = [
        json!({"metadata": {"name": "a"}, "data": {"k": "v"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}),
    ];
    let metadata = json!({"resourceVersion": "7"});
    let whole = protobuf::encode_value(
        &json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": metadata, "items": items}),
    )
    .unwrap();
    let parts: Vec<Vec<u8>> = items
        .iter()
        .map(|item| protobuf::encode_raw("v1", "ConfigMap", item.to_string().as_bytes()).unwrap())
        .collect();
    let joined = protobuf::list(
        "v1",
        "ConfigMapList",
        metadata.to_string().as_bytes(),
        parts.iter().map(Vec::as_slice),
    )
    .unwrap();
    assert_eq!(joined, whole);
}

#[test]
fn a_watch_event_is_framed_by_its_length() {
    let object = protobuf::encode(br#"{"apiVersion":"v1","kind":"ConfigMap"}"#).unwrap();
    let frame = protobuf::frame("MODIFIED", &object);
    let (length, event) = frame.split_first_chunk().unwrap();
    assert_eq!(u32::from_be_bytes(*length) as usize, event.len());
    assert_eq!(event, protobuf::watch_event("MODIFIED", &object));
    // type = 1, then object = 2 { raw = 1 }, with the envelope inside.
    assert_eq!(event[..10], *b"\x0a\x08MODIFIED");
    assert!(event.ends_with(&object));
    // Put into an envelope of its own, the event can be read back.
    let read = protobuf::decode(&protobuf::wrap("v1", "WatchEvent", event)).unwrap();
    assert_eq!(read["type"], "MODIFIED");
    assert_eq!(read["object"]["kind"], "ConfigMap");
}

#[test]
fn an_envelope_that_names_no_kind_holds_what_was_asked_for() {
    let raw = protobuf::encode_raw("v1", "DeleteOptions", br#"{"dryRun":["All"]}"#).unwrap();
    let body = protobuf::wrap("", "", &raw);
    let options = protobuf::decode_or(&body, "v1", "DeleteOptions").unwrap();
    assert_eq!(
        options,
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]})
    );
    assert!(matches!(
        protobuf::decode(&body),
        Err(DecodeError::UnknownKind { .. })
    ));
}

#[test]
fn fields_nobody_knows_are_skipped() {
    let mut raw = protobuf::encode_raw("v1", "ConfigMap", br#"{"data":{"a":"b"}}"#).unwrap();
    // 99: a varint, 98: eight bytes, 97: four bytes, 96: bytes, 95: a group with a varint inside.
    raw.extend_from_slice(b"\x98\x06\x01");
    raw.extend_from_slice(b"\x91\x0612345678");
    raw.extend_from_slice(b"\x8d\x061234");
    raw.extend_from_slice(b"\x82\x06\x02hi");
    raw.extend_from_slice(b"\xfb\x05\x08\x01\xfc\x05");
    let object = protobuf::decode(&protobuf::wrap("v1", "ConfigMap", &raw)).unwrap();
    assert_eq!(object["data"], json!({"a": "b"}));
}

#[test]
fn a_message_that_comes_twice_is_merged() {
    let mut raw = protobuf::encode_raw("v1", "Pod", br#"{"spec":{"nodeName":"n"}}"#).unwrap();
    // spec = 2 { terminationGracePeriodSeconds = 4: 7 }
    raw.extend_from_slice(b"\x12\x02\x20\x07");
    let object = protobuf::decode(&protobuf::wrap("v1", "Pod", &raw)).unwrap();
    assert_eq!(object["spec"]["nodeName"], "n");
    assert_eq!(object["spec"]["terminationGracePeriodSeconds"], 7);
}

#[test]
fn packed_numbers_are_read() {
    // spec = 2 { securityContext = 14 { supplementalGroups = 4: packed 1, 300 } }
    let raw = b"\x12\x07\x72\x05\x22\x03\x01\xac\x02";
    let object = protobuf::decode(&protobuf::wrap("v1", "Pod", raw)).unwrap();
    assert_eq!(
        object["spec"]["securityContext"]["supplementalGroups"],
        json!([1, 300])
    );
}

fn refused(raw: &[u8]) -> DecodeError {
    protobuf::decode(&protobuf::wrap("v1", "Pod", raw)).expect_err("refused")
}

#[test]
fn what_is_cut_off_is_refused() {
    for case in cases(OBJECTS, 60) {
        let whole = bytes(&case);
        for end in 0..whole.len() {
            // An end between two fields is an end; everywhere else it is an error. Neither may panic.
            let cut = protobuf::decode(&whole[..end]);
            if end < 4 {
                assert_eq!(cut, Err(DecodeError::NotAnEnvelope));
            }
        }
    }
    assert_eq!(refused(b"\x0a\x05abc"), DecodeError::Truncated);
    assert_eq!(refused(b"\x0a"), DecodeError::Truncated);
    assert_eq!(refused(b"\x80"), DecodeError::Truncated);
}

#[test]
fn a_length_beyond_the_body_is_refused() {
    let huge = b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    assert_eq!(refused(huge), DecodeError::Truncated);
    assert_eq!(refused(b"\x0a\xff\xff\xff\x7fx"), DecodeError::Truncated);
}

#[test]
fn numbers_of_more_than_64_bits_are_refused() {
    let long = b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
    assert_eq!(refused(long), DecodeError::BadNumber);
    let endless = [0xff; 32];
    assert_eq!(refused(&endless), DecodeError::BadNumber);
    assert_eq!(refused(b"\x02\x00"), DecodeError::BadField { number: 0 });
}

#[test]
fn a_value_of_the_wrong_type_is_refused() {
    // metadata = 1 as a varint, as eight bytes, as a group.
    for raw in [&b"\x08\x01"[..], b"\x0912345678", b"\x0b\x0c"] {
        assert_eq!(refused(raw), DecodeError::BadField { number: 1 });
    }
    // A group that ends as another one, and one that is never opened.
    assert_eq!(
        refused(b"\xfb\x05\x0c"),
        DecodeError::BadField { number: 1 }
    );
    assert_eq!(refused(b"\x0c"), DecodeError::BadField { number: 1 });
}

#[test]
fn groups_nested_without_end_are_refused() {
    assert_eq!(refused(&b"\xfb\x05".repeat(100_000)), DecodeError::TooDeep);
}

#[test]
fn envelopes_nested_without_end_are_refused() {
    let mut object = protobuf::wrap("v1", "ConfigMap", b"");
    for _ in 0..100 {
        let event = protobuf::watch_event("ADDED", &object);
        object = protobuf::wrap("v1", "WatchEvent", &event);
    }
    assert_eq!(protobuf::decode(&object), Err(DecodeError::TooDeep));
}

#[test]
fn small_bodies_cannot_become_huge_objects() {
    // spec = 2 { containers = 2 {} … }: two bytes each, an object each.
    let containers = b"\x12\x00".repeat(1_000_000);
    let mut raw = b"\x12\x80\x89\x7a".to_vec();
    raw.extend_from_slice(&containers);
    assert_eq!(refused(&raw), DecodeError::TooManyObjects);
}

#[test]
fn a_time_without_a_text_form_is_refused() {
    // metadata = 1 { creationTimestamp = 8 { seconds = 1: 2^62 } }
    let raw = b"\x0a\x0c\x42\x0a\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40";
    assert_eq!(refused(raw), DecodeError::BadTime);
}

#[test]
fn embedded_json_must_be_json() {
    let raw = b"\x12\x05\x0a\x03{a}";
    let body = protobuf::wrap("apps/v1", "ControllerRevision", raw);
    assert_eq!(protobuf::decode(&body), Err(DecodeError::BadJson));
}

#[test]
fn kinds_without_a_protobuf_form_are_refused() {
    for object in [
        &br#"{"apiVersion":"example.com/v1","kind":"Widget"}"#[..],
        br#"{"apiVersion":"v1","kind":"Deployment"}"#,
        br#"{"apiVersion":"v1","kind":"PodSpec"}"#,
        br#"{"apiVersion":"v1","kind":"PartialObjectMetadata"}"#,
        br#"{"apiVersion":"meta.k8s.io/v1","kind":"Table"}"#,
    ] {
        let refused = protobuf::encode(object);
        assert!(
            matches!(refused, Err(EncodeError::UnknownKind { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(protobuf::encode(b"{}"), Err(EncodeError::NoKind));
    assert!(matches!(protobuf::encode(b"[]"), Err(EncodeError::Json(_))));
    assert!(matches!(protobuf::encode(b"{"), Err(EncodeError::Json(_))));
}

#[test]
fn a_field_of_another_type_is_refused() {
    for (field, value) in [
        ("metadata", json!([])),
        ("spec", json!("x")),
        ("spec", json!({"priority": "1"})),
        ("spec", json!({"priority": 2_147_483_648_i64})),
        ("spec", json!({"priority": 1.5})),
        ("spec", json!({"hostNetwork": "yes"})),
        ("spec", json!({"nodeName": 5})),
        ("spec", json!({"containers": {}})),
        ("spec", json!({"nodeSelector": []})),
        ("spec", json!({"containers": ["x"]})),
        ("metadata", json!({"creationTimestamp": "yesterday"})),
        (
            "metadata",
            json!({"creationTimestamp": "2024-02-30T00:00:00Z"}),
        ),
    ] {
        let mut object = json!({"apiVersion": "v1", "kind": "Pod"});
        object[field] = value.clone();
        let refused = protobuf::encode_value(&object);
        assert!(
            matches!(refused, Err(EncodeError::Mismatch { .. })),
            "{value}: {refused:?}"
        );
    }
}

#[test]
fn a_field_named_twice_has_its_last_value() {
    let twice =
        br#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"},"data":{"a":"2","a":"3"}}"#;
    let object = protobuf::decode(&protobuf::encode(twice).unwrap()).unwrap();
    assert_eq!(object["data"], json!({"a": "3"}));
}

#[test]
fn text_that_is_not_utf8_is_mended() {
    // data = 2 { key = 1: "k", value = 2: ff }
    let body = protobuf::wrap("v1", "ConfigMap", b"\x12\x06\x0a\x01k\x12\x01\xff");
    let object: Value = protobuf::decode(&body).unwrap();
    assert_eq!(object["data"]["k"], "\u{fffd}");
}

/// A definition whose schema has a version of everything that schemas may be.
fn definition() -> Value {
    let schema = json!({
        "type": "object", "required": ["spec"], "maxProperties": 0,
        "properties": {
            "spec": {"type": "object", "properties": {
                "size": {"type": "integer", "minimum": 0, "maximum": 2.5, "exclusiveMaximum": true, "default": 1},
                "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "tags": {"type": "array", "items": {"type": "string", "enum": ["a", null, 1]}, "x-kubernetes-list-type": "set"},
                "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false},
                "open": {"type": "object", "additionalProperties": true, "default": {}},
                "shut": {"type": "object", "additionalProperties": false},
                "map": {"type": "object", "additionalProperties": {"type": "number", "multipleOf": 0.1}},
                "needs": {"type": "object", "dependencies": {"a": ["b", "c"], "b": {"type": "object"}}},
            }},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
        "x-kubernetes-validations": [{"rule": "true", "message": "m", "optionalOldSelf": false}],
    });
    let names = json!({"plural": "widgets", "kind": "Widget"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": names,
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.seen"}},
                "selectableFields": [{"jsonPath": ".spec.site"}],
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
            }],
        },
        "status": {"acceptedNames": names, "storedVersions": ["v1"]},
    })
}

#[test]
fn a_definition_comes_back_as_it_was() {
    let encoded = protobuf::encode_value(&definition()).unwrap();
    let mut decoded = protobuf::decode(&encoded).unwrap();
    // What every object has, and what was not said.
    let metadata = decoded["metadata"].as_object_mut().unwrap();
    metadata.retain(|name, _| name == "name");
    assert_eq!(decoded, definition());
}

/// The bytes of a schema, as the version of a definition has it.
fn schema_bytes(schema: Value) -> Vec<u8> {
    let message = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
    assert!(schema::message(message).is_some());
    let mut definition = definition();
    definition["spec"]["versions"] = json!([{"name": "v1", "schema": {"openAPIV3Schema": schema}}]);
    protobuf::encode_value(&definition).unwrap()
}

#[test]
fn what_stands_in_the_place_of_a_schema_has_its_own_number() {
    for (schema, part) in [
        // 30: additionalProperties { 1: allows }
        (
            json!({"additionalProperties": true}),
            &[0xf2, 0x01, 2, 0x08, 1][..],
        ),
        (
            json!({"additionalProperties": false}),
            &[0xf2, 0x01, 2, 0x08, 0],
        ),
        // 24: items { 1: schema { 5: type } }, { 2: schemas }
        (json!({"items": {}}), &[0xc2, 0x01]),
        // 9: maximum, eight bytes
        (json!({"maximum": 1}), &[0x49, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
    ] {
        let bytes = schema_bytes(schema.clone());
        let found = bytes.windows(part.len()).any(|window| window == part);
        assert!(found, "{schema}: {bytes:x?}");
    }
}

#[test]
fn schemas_nested_without_end_are_refused() {
    let wrapped = |tag: &[u8], inner: &[u8]| {
        let mut outer = tag.to_vec();
        let mut length = inner.len();
        while length >= 0x80 {
            outer.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        outer.push(length as u8);
        outer.extend_from_slice(inner);
        outer
    };
    let mut raw = Vec::new();
    for _ in 0..500 {
        // 28: not
        raw = wrapped(&[0xe2, 0x01], &raw);
    }
    // spec.versions[0].schema.openAPIV3Schema
    for number in [1, 4, 7, 2] {
        raw = wrapped(&[number << 3 | 2], &raw);
    }
    let body = protobuf::wrap("apiextensions.k8s.io/v1", "CustomResourceDefinition", &raw);
    assert_eq!(protobuf::decode(&body), Err(DecodeError::TooDeep));
}
