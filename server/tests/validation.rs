//! What objects must be beyond their types, and what is filled in.

use std::fmt::Write as _;
use std::sync::Arc;

use ringwatch_server::resources::{Catalog, Resource};
use ringwatch_server::validation::{self, Invalid, Reason};
use ringwatch_server::{defaults, schema};
use serde_json::{Value, json};

fn resource(kind: &str) -> Arc<Resource> {
    let catalog = Catalog::builtin();
    let found = catalog.resources().iter().find(|row| row.kind == kind);
    Arc::clone(found.unwrap_or_else(|| panic!("no kind {kind}")))
}

/// Cases of a golden file: a line, and the lines below it that begin with one of the marks.
fn cases<'a>(text: &'a str, marks: &[&str]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut cases: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        match cases.last_mut() {
            Some((_, expected)) if marks.iter().any(|mark| line.starts_with(mark)) => {
                expected.push(line)
            }
            _ => cases.push((line, Vec::new())),
        }
    }
    cases
}

/// An object as a client might send it, with a name and a namespace, decoded and defaulted.
fn object(resource: &Resource, text: &str) -> Value {
    let mut base = json!({"metadata": {"name": "x", "namespace": "ns"}});
    merge(&mut base, serde_json::from_str(text).unwrap());
    let definition = schema::Definition::find(resource.schema_name().unwrap()).unwrap();
    let unknown = schema::decode(&mut base, definition).unwrap();
    assert!(unknown.is_empty(), "{text}: {unknown:?}");
    defaults::apply(resource, &mut base);
    base
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

#[test]
fn objects_are_refused_as_the_golden_file_says() {
    let mut wrong = String::new();
    for (case, expected) in cases(include_str!("golden/validation.txt"), &["! ", "ok"]) {
        let (kind, text) = case.split_once(' ').unwrap();
        let resource = resource(kind);
        let faults = match text.split_once(" -> ") {
            None => validation::create(&resource, &object(&resource, text)),
            Some((old, new)) => {
                let [old, new] = [old, new].map(|text| object(&resource, text));
                validation::update(&resource, &new, &old)
            }
        };
        let mut found: Vec<String> = faults.iter().map(|fault| format!("! {fault}")).collect();
        if found.is_empty() {
            found.push("ok".into());
        }
        if found != expected {
            writeln!(wrong, "{case}\n{}", found.join("\n")).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn defaults_are_filled_in_as_the_golden_file_says_and_once() {
    let mut wrong = String::new();
    for (case, expected) in cases(include_str!("golden/defaults.txt"), &["= "]) {
        let (kind, text) = case.split_once(' ').unwrap();
        let mut value: Value = serde_json::from_str(text).unwrap();
        defaults::apply(&resource(kind), &mut value);
        let once = value.clone();
        defaults::apply(&resource(kind), &mut value);
        assert_eq!(value, once, "{case}: applied again");
        if expected != [format!("= {value}")] {
            writeln!(wrong, "{case}\n= {value}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_defaults_add_has_the_right_type() {
    for (case, expected) in cases(include_str!("golden/defaults.txt"), &["= "]) {
        let (kind, _) = case.split_once(' ').unwrap();
        let definition = schema::Definition::find(resource(kind).schema_name().unwrap()).unwrap();
        let mut value: Value =
            serde_json::from_str(expected[0].strip_prefix("= ").unwrap()).unwrap();
        assert_eq!(schema::decode(&mut value, definition), Ok(vec![]), "{case}");
    }
}

#[test]
fn a_new_object_gets_the_status_and_names_that_the_server_decides() {
    let create = |kind: &str, mut value: Value| {
        defaults::prepare_create(&resource(kind), &mut value);
        value
    };
    assert_eq!(
        create(
            "Namespace",
            json!({"metadata": {"name": "a"}, "status": {"phase": "Other"}})
        ),
        json!({
            "metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "a"}},
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
        })
    );
    let limits = json!({"cpu": "1", "memory": "1Gi"});
    let classes = [
        (json!({}), "BestEffort"),
        (json!({"requests": {"cpu": "1"}}), "Burstable"),
        (json!({"limits": limits, "requests": limits}), "Guaranteed"),
    ];
    for (resources, class) in classes {
        let pod = create(
            "Pod",
            json!({"spec": {"containers": [{"resources": resources}]}, "status": {"phase": "Running"}}),
        );
        assert_eq!(
            pod["status"],
            json!({"phase": "Pending", "qosClass": class})
        );
    }
    let job = create(
        "Job",
        json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {}}}),
    );
    assert_eq!(
        job["spec"]["selector"],
        json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}})
    );
    assert_eq!(
        job["spec"]["template"]["metadata"]["labels"],
        json!({
            "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j",
            "controller-uid": "u", "job-name": "j",
        })
    );
    let node = json!({"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "1"}}});
    assert_eq!(create("Node", node.clone()), node);
    for row in Catalog::builtin().resources() {
        let mut value = json!({"metadata": {"name": "a", "uid": "u"}, "spec": {}, "status": {}});
        defaults::prepare_create(row, &mut value);
        let definition = schema::Definition::find(row.schema_name().unwrap()).unwrap();
        if row.has_status() {
            assert_eq!(
                schema::decode(&mut value, definition),
                Ok(vec![]),
                "{}",
                row.kind
            );
        }
    }
}

#[test]
fn a_refusal_reads_as_kubernetes_writes_it() {
    let pods = resource("Pod");
    let fault = Invalid {
        field: "spec.containers".into(),
        reason: Reason::Required,
        value: None,
        detail: String::new(),
    };
    assert_eq!(
        validation::message(&pods, "x", std::slice::from_ref(&fault)),
        "Pod \"x\" is invalid: spec.containers: Required value"
    );
    assert_eq!(fault.body(), "Required value");
    assert_eq!(fault.reason.cause(), "FieldValueRequired");
    let two = validation::message(&resource("Deployment"), "d", &[fault.clone(), fault]);
    assert_eq!(
        two,
        "Deployment.apps \"d\" is invalid: [spec.containers: Required value, spec.containers: Required value]"
    );
}

#[test]
fn sizes_and_the_number_of_faults_are_bounded() {
    let config_maps = resource("ConfigMap");
    let long = "x".repeat(300 * 1024);
    let annotated = object(
        &config_maps,
        &json!({"metadata": {"annotations": {"a": long}}}).to_string(),
    );
    let faults = validation::create(&config_maps, &annotated);
    assert_eq!(
        faults[0].to_string(),
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    );

    let data: serde_json::Map<String, Value> = (0..4)
        .map(|n| (format!("k{n}"), long.as_str().into()))
        .collect();
    let large = object(&config_maps, &json!({"data": data}).to_string());
    assert_eq!(validation::create(&config_maps, &large).len(), 1);

    let labels: serde_json::Map<String, Value> = (0..10_000)
        .map(|n| (format!("bad key {n}"), "".into()))
        .collect();
    let many = object(
        &config_maps,
        &json!({"metadata": {"labels": labels}}).to_string(),
    );
    assert_eq!(validation::create(&config_maps, &many).len(), 100);
}

#[test]
fn generated_names_are_short_and_valid() {
    use ringwatch_server::validation::names::{generate, label_faults};
    assert_eq!(generate("job-", [0, 1, 25, 26, 27]), "job-bc89b");
    let long = generate(&"a".repeat(100), [255; 5]);
    assert_eq!(long.len(), 63);
    assert!(label_faults(&long).is_empty());
    // Half a character is not kept.
    assert_eq!(generate(&"é".repeat(40), [0; 5]), "é".repeat(29) + "bbbbb");
}
