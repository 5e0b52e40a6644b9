//! Lists whose elements must differ: `x-kubernetes-list-type` set and map.
//!
//! Elements are compared by their text, which has one form for equal values, in a hash set: a list of any length costs time in
//! proportion to its bytes.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::schema::path::FieldPath;
use crate::structural::node::{ListType, Node};
use crate::validation::{Faults, Reason};

/// Whether an object has such a fault.
pub(super) fn have_faults(root: &Node, object: &Value) -> bool {
    let mut faults = Faults::default();
    check(root, object, &FieldPath::Root, &mut faults);
    !faults.is_empty()
}

pub(super) fn check(node: &Node, value: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    if faults.is_full() {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (node.property(name), node.additional()) {
                    (Some(below), _) => check(below, value, &path.field(name), faults),
                    (None, Some(below)) => check(below, value, &path.key(name), faults),
                    (None, None) => {}
                }
            }
        }
        Value::Array(list) => {
            match node.list {
                ListType::Atomic => {}
                ListType::Set => check_set(list, path, faults),
                ListType::Map => check_map(node, list, path, faults),
            }
            let Some(items) = node.items() else { return };
            for (index, element) in list.iter().enumerate() {
                check(items, element, &path.index(index), faults);
            }
        }
        _ => {}
    }
}

fn check_set(list: &[Value], path: &FieldPath<'_>, faults: &mut Faults) {
    for index in repeated(list.iter().map(Value::to_string)) {
        faults.add(path.index(index), Reason::Duplicate, list.get(index), "");
    }
}

fn check_map(node: &Node, list: &[Value], path: &FieldPath<'_>, faults: &mut Faults) {
    let is_object = |element: &Value| element.is_object() || element.is_null();
    if let Some(index) = list.iter().position(|element| !is_object(element)) {
        let detail = "must be an object for an array of list-type map";
        let element = list.get(index).unwrap_or(&Value::Null);
        faults.invalid(path.index(index), element, detail);
        return;
    }
    let keys: Vec<Value> = list.iter().map(|element| keys_of(node, element)).collect();
    for index in repeated(keys.iter().map(Value::to_string)) {
        faults.add(path.index(index), Reason::Duplicate, keys.get(index), "");
    }
}

/// What tells an element of a map apart from the others.
pub(in crate::structural) fn keys_of(node: &Node, element: &Value) -> Value {
    let keys = node.list_map_keys();
    let entries = keys.filter_map(|key| Some((key.to_owned(), element.get(key)?.clone())));
    Value::Object(entries.collect::<Map<String, Value>>())
}

/// The places of the first repetition of each text.
fn repeated(texts: impl Iterator<Item = String>) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut places = Vec::new();
    for (index, text) in texts.enumerate() {
        let times = seen.entry(text).or_default();
        *times += 1;
        if *times == 2 {
            places.push(index);
        }
    }
    places
}
