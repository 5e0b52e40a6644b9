//! Owners of fields after any writes: what is owned is there, to apply again changes nothing, and nothing panics.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ringwatch_server::managed::{self, Entries, FieldSet, Node, Writer};
use ringwatch_server::patch::merge;
use ringwatch_server::resources::{Catalog, Resource};
use serde_json::{Map, Value, json};

fn pods() -> Resource {
    let pods = Catalog::builtin().find("", "v1", "pods").cloned();
    (*pods.expect("pods")).clone()
}

/// Some of a list, in some order.
fn some(of: Vec<Value>) -> impl Strategy<Value = Value> {
    prop::sample::subsequence(of.clone(), 0..=of.len())
        .prop_shuffle()
        .prop_map(Value::from)
}

fn text() -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["1", "2"]).prop_map(Value::from)
}

/// A part of a pod: of each kind of field that there is.
fn pod() -> impl Strategy<Value = Value> {
    let labels = prop::collection::btree_map("[ab]", text(), 1..3);
    let ports = some(vec![
        json!({"containerPort": 80, "name": "x"}),
        json!({"containerPort": 81, "protocol": "TCP"}),
        json!({"containerPort": 80, "protocol": "UDP", "hostPort": 1}),
    ]);
    let container =
        (prop::option::of(text()), prop::option::of(ports)).prop_map(|(image, ports)| {
            let mut container = Map::new();
            container.extend(image.map(|image| ("image".to_owned(), image)));
            container.extend(ports.map(|ports| ("ports".to_owned(), ports)));
            container
        });
    let containers = prop::collection::btree_map("[xyz]", container, 0..3).prop_map(|containers| {
        let named = containers.into_iter().map(|(name, mut container)| {
            container.insert("name".to_owned(), name.into());
            Value::Object(container)
        });
        named.collect::<Value>()
    });
    let parts = (
        prop::option::of(labels),
        prop::option::of(some(vec!["a/b".into(), "a/c".into()])),
        prop::option::of(containers),
        prop::option::of(some(vec![json!({"key": "k"}), json!({"key": "l"})])),
        prop::option::of(text()),
        prop::option::of(prop::collection::btree_map("[ab]", text(), 1..3)),
    );
    parts.prop_map(
        |(labels, finalizers, containers, tolerations, host, selector)| {
            let mut pod = json!({"metadata": {"name": "p"}, "spec": {}});
            let mut put = |part: &str, name: &str, value: Option<Value>| {
                if let Some(value) = value {
                    pod[part][name] = value;
                }
            };
            put("metadata", "labels", labels.map(|labels| json!(labels)));
            put("metadata", "finalizers", finalizers);
            put("spec", "containers", containers);
            put("spec", "tolerations", tolerations);
            put("spec", "hostname", host);
            put(
                "spec",
                "nodeSelector",
                selector.map(|selector| json!(selector)),
            );
            pod
        },
    )
}

#[derive(Debug, Clone)]
enum Step {
    Put(Value),
    Patch(Value),
    Apply(Value, bool),
}

fn steps() -> impl Strategy<Value = Vec<(String, Step)>> {
    let step = prop_oneof![
        pod().prop_map(Step::Put),
        pod().prop_map(Step::Patch),
        (pod(), any::<bool>()).prop_map(|(pod, force)| Step::Apply(pod, force)),
    ];
    prop::collection::vec(("[abc]", step), 1..8)
}

fn writer<'a>(manager: &'a str, now: &'a str) -> Writer<'a> {
    Writer {
        manager,
        api_version: "v1",
        subresource: "",
        now,
    }
}

fn apply(
    types: Node<'_>,
    by: Writer<'_>,
    old: Option<&Value>,
    wanted: &Value,
    force: bool,
) -> Option<Value> {
    let merged = managed::merge(types, by, old, wanted, false).ok()?;
    merged.settle(old, force).ok()
}

fn take(types: Node<'_>, old: Option<Value>, who: &str, step: &Step, now: &str) -> Option<Value> {
    let by = writer(who, now);
    match step {
        Step::Put(pod) => {
            let mut new = pod.clone();
            managed::record(types, &by, old.as_ref(), &mut new, false);
            Some(new)
        }
        Step::Patch(patch) => {
            let mut new = old.clone().unwrap_or_else(|| json!({}));
            merge::apply(&mut new, patch.as_object().expect("an object"));
            managed::record(types, &by, old.as_ref(), &mut new, false);
            Some(new)
        }
        Step::Apply(wanted, force) => apply(types, by, old.as_ref(), wanted, *force).or(old),
    }
}

/// Whether all of a set is in a value.
fn is_there(set: &Value, value: &Value) -> bool {
    let below = set.as_object().expect("a set").iter();
    below
        .filter(|(element, _)| *element != ".")
        .all(|(element, set)| {
            let (kind, rest) = element.split_once(':').expect("an element");
            let found = match kind {
                "f" => value.get(rest),
                "v" => {
                    let wanted: Value = serde_json::from_str(rest).unwrap();
                    value
                        .as_array()
                        .and_then(|list| list.iter().find(|value| **value == wanted))
                }
                "k" => {
                    let wanted: Map<String, Value> = serde_json::from_str(rest).unwrap();
                    let has = |value: &&Value| {
                        let key = |name: &String| value.get(name).cloned().unwrap_or("TCP".into());
                        wanted.iter().all(|(name, wanted)| key(name) == *wanted)
                    };
                    value.as_array().and_then(|list| list.iter().find(has))
                }
                _ => None,
            };
            found.is_some_and(|found| is_there(set, found))
        })
}

/// Any set of fields, in forms that are not the one it is written in.
fn set() -> impl Strategy<Value = Value> {
    let element = prop_oneof![
        "f:[ab]",
        "v:[12]",
        Just(r#"k:{"b":1,"a":2}"#.to_owned()),
        Just(r#"k:{ "a":2, "b":1 }"#.to_owned()),
        "i:0?[12]",
    ];
    let leaf = Just(json!({}));
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let members = prop::collection::btree_map(element.clone(), inner, 1..4);
        (members, any::<bool>()).prop_map(|(members, itself)| {
            let mut set: Map<String, Value> = members.into_iter().collect();
            if itself {
                set.insert(".".to_owned(), json!({}));
            }
            Value::Object(set)
        })
    })
}

/// Any JSON with words that sets and entries have.
fn anything() -> impl Strategy<Value = Value> {
    let words = [
        "metadata",
        "managedFields",
        "fieldsV1",
        "fieldsType",
        "FieldsV1",
        "operation",
        "Apply",
        "Update",
        "apiVersion",
        "v1",
        "manager",
        "time",
        "f:spec",
        "f:metadata",
        "k:{}",
        "v:1",
        ".",
        "spec",
        "containers",
        "name",
        "finalizers",
        "annotations",
        "kubectl.kubernetes.io/last-applied-configuration",
        "{}",
        "k:{\"name\":1}",
        "ports",
        "status",
        "data",
    ];
    let word = prop::sample::select(words.to_vec());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn paths(set: &FieldSet) -> BTreeSet<String> {
    set.paths().into_iter().collect()
}

proptest! {
    #[test]
    fn what_is_owned_is_there(steps in steps()) {
        let resource = pods();
        let types = Node::of(&resource);
        let mut object = None;
        for (place, (who, step)) in steps.iter().enumerate() {
            let now = format!("2024-01-01T00:00:{place:02}Z");
            object = take(types, object, who, step, &now);
            let Some(object) = &object else { continue };
            for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
                prop_assert!(is_there(&entry["fieldsV1"], object), "{} of {}", entry, object);
                prop_assert_ne!(&entry["fieldsV1"], &json!({}));
            }
        }
    }

    #[test]
    fn to_apply_again_changes_nothing(steps in steps(), wanted in pod()) {
        let resource = pods();
        let types = Node::of(&resource);
        let mut object = None;
        for (who, step) in &steps {
            object = take(types, object, who, step, "2024-01-01T00:00:00Z");
        }
        let once = apply(types, writer("me", "2024-01-01T00:00:01Z"), object.as_ref(), &wanted, true);
        let once = once.expect("it is forced");
        let mut again = apply(types, writer("me", "2024-01-01T00:00:02Z"), Some(&once), &wanted, false);
        // An object of which nobody owns anything, such as one of empty lists, has no owners written into it: it is taken for one that nobody has applied to.
        let unowned = once.pointer("/metadata/managedFields").is_none();
        if unowned && let Some(metadata) = again.as_mut().and_then(|it| it["metadata"].as_object_mut()) {
            metadata.remove("managedFields");
        }
        prop_assert_eq!(again, Some(once));
    }

    #[test]
    fn what_is_applied_is_so(steps in steps(), wanted in pod()) {
        let resource = pods();
        let types = Node::of(&resource);
        let mut object = None;
        for (who, step) in &steps {
            object = take(types, object, who, step, "2024-01-01T00:00:00Z");
        }
        let applied = apply(types, writer("me", "2024-01-01T00:00:01Z"), object.as_ref(), &wanted, true);
        let applied = applied.expect("it is forced");
        let (fields, faults) = managed::claim(types, &wanted);
        prop_assert_eq!(faults, Vec::<String>::new());
        let differs = managed::compare(types, &wanted, &applied);
        prop_assert_eq!(fields.intersection(&differs.changed), FieldSet::default());
        prop_assert_eq!(fields.intersection(&differs.removed), FieldSet::default());
    }

    #[test]
    fn a_set_comes_back_as_it_is(value in set()) {
        let set = FieldSet::parse(value).expect("a set");
        prop_assert_eq!(FieldSet::parse(set.clone().into_value()), Ok(set));
    }

    #[test]
    fn sets_are_sets(left in set(), right in set()) {
        let [left, right] = [left, right].map(|set| FieldSet::parse(set).expect("a set"));
        let [of_left, of_right] = [&left, &right].map(paths);
        let common = left.intersection(&right);
        prop_assert_eq!(paths(&common), &of_left & &of_right);
        let mut rest = left.clone();
        rest.subtract(&right);
        prop_assert_eq!(paths(&rest), &of_left - &of_right);
        let mut both = left.clone();
        both.unite(right.clone());
        prop_assert_eq!(paths(&both), &of_left | &of_right);
        for set in [common, rest, both] {
            prop_assert_eq!(FieldSet::parse(set.clone().into_value()), Ok(set));
        }
    }

    #[test]
    fn nothing_panics(old in anything(), mut new in anything(), wanted in anything()) {
        let all = Catalog::builtin();
        for plural in ["pods", "configmaps", "services"] {
            let resource = all.find("", "v1", plural).expect("a resource");
            for types in [Node::of(resource), Node::custom(None)] {
                managed::record(types, &writer("kubectl", "now"), Some(&old), &mut new, true);
                for force in [false, true] {
                    apply(types, writer("kubectl", "now"), Some(&old), &wanted, force);
                }
                managed::compare(types, &old, &wanted);
            }
        }
        let _ = Entries::parse(old.clone());
        let _ = FieldSet::parse(old);
    }
}
