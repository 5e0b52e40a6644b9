//! What holds for every patch: a merge patch made from a difference gives the other side, a strategic merge patch
//! applied twice does what it does once, and no patch panics or leaves its bounds.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use ringwatch_server::patch::{MAX_DEPTH, Patch};
use serde_json::{Map, Value, json};

const POD: &str = "io.k8s.api.core.v1.Pod";

/// Names that mean something to a pod or to a patch, and some that do not.
const NAMES: &[&str] = &[
    "metadata",
    "spec",
    "status",
    "containers",
    "finalizers",
    "labels",
    "name",
    "env",
    "ports",
    "containerPort",
    "volumes",
    "tolerations",
    "strategy",
    "a",
    "b",
    "0",
    "-",
    "",
    "$patch",
    "$retainKeys",
    "$setElementOrder",
    "$setElementOrder/containers",
    "$setElementOrder/finalizers",
    "$deleteFromPrimitiveList",
    "$deleteFromPrimitiveList/finalizers",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..3i64).prop_map(Value::from),
        select(&["a", "b", "name", "delete", "replace", "merge"][..]).prop_map(Value::from),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 48, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(select(NAMES), inner, 0..5).prop_map(object),
        ]
    })
}

fn object(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn any_object() -> impl Strategy<Value = Value> {
    btree_map(select(NAMES), any_json(), 0..6).prop_map(object)
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// The merge patch that leads from one object to another.
fn difference(from: &Map<String, Value>, to: &Map<String, Value>) -> Map<String, Value> {
    let gone = from.keys().filter(|name| !to.contains_key(*name));
    let mut patch: Map<String, Value> = gone.map(|name| (name.clone(), Value::Null)).collect();
    for (name, value) in to {
        match (from.get(name), value) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                patch.insert(name.clone(), Value::Object(difference(old, new)));
            }
            (_, new) => {
                patch.insert(name.clone(), new.clone());
            }
        }
    }
    patch
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn pointer() -> impl Strategy<Value = String> {
    vec(select(NAMES), 0..5).prop_map(|names| {
        let tokens = names.iter().map(|name| name.replace('/', "~1"));
        tokens.fold(String::new(), |path, token| path + "/" + &token)
    })
}

fn operation() -> impl Strategy<Value = Value> {
    let kinds = select(&["add", "remove", "replace", "move", "copy", "test", "x"][..]);
    (kinds, pointer(), pointer(), any_json()).prop_map(
        |(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}),
    )
}

fn containers(is_patch: bool) -> impl Strategy<Value = Vec<Value>> {
    let names = subsequence(vec!["a", "b", "c", "d", "e"], 0..=5).prop_shuffle();
    let fates = vec(
        (
            any::<bool>(),
            0..4u8,
            subsequence(vec!["X", "Y", "Z"], 0..=3),
        ),
        5,
    );
    (names, fates).prop_map(move |(names, fates)| {
        let element = |(name, (has_image, fate, env)): (&str, (bool, u8, Vec<&str>))| {
            let mut element = json!({"name": name});
            if is_patch && fate == 0 {
                element["$patch"] = "delete".into();
            } else {
                element["env"] = env.iter().map(|name| json!({"name": name})).collect();
                if has_image {
                    element["image"] = fate.into();
                }
            }
            element
        };
        names.into_iter().zip(fates).map(element).collect()
    })
}

fn pod() -> impl Strategy<Value = Value> {
    let finalizers = subsequence(vec!["f", "g", "h", "i"], 0..=4);
    (containers(false), finalizers).prop_map(|(containers, finalizers)| {
        json!({"metadata": {"finalizers": finalizers}, "spec": {"containers": containers}})
    })
}

/// A patch of a pod that could have come from `kubectl apply`.
fn pod_patch() -> impl Strategy<Value = Value> {
    let finalizers = subsequence(vec!["f", "g", "h", "i"], 0..=4).prop_shuffle();
    let deleted = subsequence(vec!["f", "g", "h", "i"], 0..=4);
    let others = subsequence(vec!["a", "b", "c", "d", "e"], 0..=5);
    (containers(true), others, finalizers, deleted, any::<bool>()).prop_map(
        |(containers, others, finalizers, deleted, is_ordered)| {
            let deleted: Vec<_> = deleted.iter().filter(|name| !finalizers.contains(name)).collect();
            let mut spec = json!({"containers": containers});
            if is_ordered {
                let named: Vec<&Value> = containers
                    .iter()
                    .filter(|element| element.get("$patch").is_none())
                    .map(|element| &element["name"])
                    .collect();
                let is_other = |name: &&str| containers.iter().all(|element| element["name"] != **name);
                let others = others.iter().filter(|name| is_other(name));
                let order = others.map(|name| json!({"name": name}));
                let order = order.chain(named.iter().map(|name| json!({"name": name})));
                spec["$setElementOrder/containers"] = order.collect();
            }
            json!({
                "metadata": {"finalizers": finalizers, "$deleteFromPrimitiveList/finalizers": deleted},
                "spec": spec,
            })
        },
    )
}

proptest! {
    #[test]
    fn a_difference_leads_to_the_other_side(from in any_object(), to in any_object()) {
        let (from, to) = (without_nulls(from), without_nulls(to));
        let patch = difference(from.as_object().unwrap(), to.as_object().unwrap());
        let patch = Patch::merge(Value::Object(patch).to_string().as_bytes()).unwrap();
        prop_assert_eq!(patch.apply(&from).unwrap(), to);
    }

    #[test]
    fn a_merge_patch_applied_twice_does_what_it_does_once(object in any_object(), patch in any_object()) {
        let patch = Patch::merge(patch.to_string().as_bytes()).unwrap();
        let once = patch.apply(&object).unwrap();
        prop_assert_eq!(patch.apply(&once).unwrap(), once);
    }

    #[test]
    fn json_patches_stay_in_their_bounds(object in any_object(), operations in vec(operation(), 0..12)) {
        let patch = Patch::json(Value::from(operations).to_string().as_bytes()).unwrap();
        if let Ok(result) = patch.apply(&object) {
            prop_assert!(depth(&result) <= MAX_DEPTH);
        }
    }

    #[test]
    fn a_test_of_what_is_there_holds(object in any_object(), path in pointer()) {
        if let Some(found) = object.pointer(&path) {
            let patch = json!([
                {"op": "test", "path": path, "value": found},
                {"op": "replace", "path": path, "value": found},
            ]);
            let patch = Patch::json(patch.to_string().as_bytes()).unwrap();
            prop_assert_eq!(patch.apply(&object).unwrap(), object);
        }
    }

    #[test]
    fn strategic_patches_of_any_shape_end_in_a_value_or_an_error(
        object in any_object(),
        patch in any_object(),
    ) {
        let patch = Patch::strategic(POD, patch.to_string().as_bytes()).unwrap();
        match patch.apply(&object) {
            Ok(result) => prop_assert!(result.is_object()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn a_strategic_patch_applied_twice_does_what_it_does_once(pod in pod(), patch in pod_patch()) {
        let patch = Patch::strategic(POD, patch.to_string().as_bytes()).unwrap();
        let once = patch.apply(&pod).unwrap();
        prop_assert_eq!(patch.apply(&once).unwrap(), once);
    }

    #[test]
    fn a_strategic_patch_keeps_what_it_does_not_name(pod in pod(), patch in pod_patch()) {
        let result = Patch::strategic(POD, patch.to_string().as_bytes()).unwrap().apply(&pod).unwrap();
        let named: Vec<&Value> = patch["spec"]["containers"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
        let kept = |pod: &Value| -> Vec<Value> {
            let mut kept: Vec<Value> = pod["spec"]["containers"].as_array().unwrap().iter()
                .filter(|container| !named.contains(&&container["name"])).cloned().collect();
            kept.sort_by_key(|container| container["name"].to_string());
            kept
        };
        prop_assert_eq!(kept(&result), kept(&pod));
    }

    #[test]
    fn any_bytes_are_a_patch_or_an_error(bytes in vec(any::<u8>(), 0..64)) {
        let read = [Patch::json(&bytes), Patch::merge(&bytes), Patch::strategic(POD, &bytes)];
        for patch in read.into_iter().flatten() {
            let _ = patch.apply(&json!({}));
        }
    }
}
