//! Many kinds, and definitions that mean no good.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::hostile::memory::resident;
use crate::http::{Request, Response, open};
use crate::server::Server;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn definition(plural: &str, schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": format!("K{plural}")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

fn device() -> Value {
    let text = include_str!("../../../examples/device.yaml");
    let limits = ringwatch_server::yaml::Limits::default();
    let read = ringwatch_server::yaml::to_json(text.as_bytes(), &limits).expect("YAML");
    read.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Defines a kind, and waits until it is established.
fn define(server: &Server, plural: &str, schema: &Value) {
    let name = format!("{plural}.example.com");
    let watch = format!("{DEFINITIONS}?watch=true&fieldSelector=metadata.name%3D{name}");
    let mut events = open(server.address, &Request::new("GET", &watch)).expect("a watch");
    server.write("POST", DEFINITIONS, &definition(plural, schema));
    loop {
        let event = events.line().expect("an event").expect("no end");
        if event.contains("InitialNamesAccepted") {
            return;
        }
    }
}

/// The CPU time that the server has taken so far: unlike the time that passes, it does not depend on who else is there.
fn cpu(server: &Server) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.id())).expect("a process");
    let (_, rest) = stat.rsplit_once(") ").expect("a name in brackets");
    let ticks = rest.split(' ').skip(11).take(2);
    ticks
        .map(|ticks| ticks.parse::<u64>().expect("ticks"))
        .sum()
}

/// A smaller `cargo xtask bench kinds`.
#[test]
fn a_kind_more_costs_what_the_first_did() {
    const SOME: usize = 60;
    let server = Server::start(&[]);
    let schema = device();
    let some = |prefix: &str| {
        let before = cpu(&server);
        for number in 0..SOME {
            define(&server, &format!("{prefix}{number}"), &schema);
        }
        cpu(&server) - before
    };
    let first = some("a");
    let before = resident(&server, "VmRSS");
    some("b");
    let each = resident(&server, "VmRSS").saturating_sub(before) / SOME as u64;
    assert!(each <= 60_000, "{each} bytes for an idle kind");
    some("c");
    let last = some("d");
    // A tick is 10 ms; a few are noise.
    assert!(
        last <= 2 * first + 10,
        "{first} ticks, and in the end {last}"
    );
    let begun = Instant::now();
    let request = Request::new("GET", "/apis").header("accept", AGGREGATED);
    let found = server.send(&request).json();
    let took = begun.elapsed();
    let groups = found["items"].as_array().expect("groups");
    let group = groups
        .iter()
        .find(|group| group["metadata"]["name"] == "example.com");
    let resources = group.and_then(|group| group["versions"][0]["resources"].as_array());
    assert_eq!(resources.map(Vec::len), Some(4 * SOME));
    assert!(took < Duration::from_millis(500), "{took:?}");
}

/// Asks, and gives the answer, which must come soon.
fn soon(server: &Server, method: &str, path: &str, body: &Value) -> Response {
    let mut request = Request::new(method, path);
    request.body = body.to_string().into_bytes();
    let begun = Instant::now();
    let response = server.send(&request);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "{method} {path}: {took:?}");
    response
}

#[test]
fn hostile_definitions_are_refused_soon_and_say_why() {
    let server = Server::start(&[]);
    let nested = (0..60).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "object", "properties": {"a": inner}}),
    );
    let wide: serde_json::Map<String, Value> = (0..60_000)
        .map(|number| (format!("f{number}"), json!({"type": "string"})))
        .collect();
    let rule = |rule: &str| {
        json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}], "properties": {
            "list": {"type": "array", "items": {"type": "string"}},
        }})
    };
    let cases = [
        ("references", json!({"$ref": "#/definitions/x"})),
        ("open", json!({"properties": {"spec": {}}})),
        ("wide", json!({"type": "object", "properties": wide})),
        (
            "patterns",
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}),
        ),
        ("syntax", rule("self.list.all(x, ")),
        (
            "bomb",
            rule(
                "self.list.all(a, self.list.all(b, self.list.all(c, self.list.all(d, a+b+c+d != ''))))",
            ),
        ),
    ];
    for (name, schema) in cases {
        let response = soon(&server, "POST", DEFINITIONS, &definition(name, &schema));
        let body = response.json();
        assert_eq!(response.status, 422, "{name}: {body}");
        let message = body["message"].as_str().expect("a message");
        assert!(
            message.contains("spec.versions[0].schema"),
            "{name}: {message}"
        );
        assert!(message.len() < 100_000, "{name}: {} bytes", message.len());
    }
    // Deeper than any object may be.
    let response = soon(&server, "POST", DEFINITIONS, &definition("deep", &nested));
    assert_eq!(response.status, 400, "{}", response.json());
}

#[test]
fn hostile_objects_are_answered_soon() {
    let server = Server::start(&[]);
    let schema = json!({"type": "object", "properties": {
        "map": {"type": "object", "additionalProperties": {"type": "integer", "maximum": 10}},
        "text": {"type": "string", "pattern": "^(a+)+$"},
    }});
    define(&server, "things", &schema);
    let object = |field: &str, value: Value| json!({"apiVersion": "example.com/v1", "kind": "Kthings", "metadata": {"name": "x"}, field: value});
    let many = |value: i64| -> Value {
        let fields = (0..100_000).map(|number| (format!("field-{number}"), json!(value)));
        Value::Object(fields.collect())
    };
    let path = "/apis/example.com/v1/namespaces/default/things";
    let refused = soon(&server, "POST", path, &object("map", many(11)));
    assert_eq!(refused.status, 422);
    assert!(refused.body.len() < 100_000, "{} bytes", refused.body.len());
    let unknown = soon(&server, "POST", path, &object("unknown", many(1)));
    assert_eq!(unknown.status, 201);
    let catastrophe = object("text", format!("{}b", "a".repeat(500_000)).into());
    assert_eq!(soon(&server, "POST", path, &catastrophe).status, 422);
    assert_eq!(server.get("/readyz").status, 200);
}
