//! Whether the words of a node go together, and the nodes of a tree.

use serde_json::Value;

use super::words::Words;
use crate::schema::path::FieldPath;
use crate::structural::node::{Checks, ListType, MapType, Node, Type};
use crate::validation::Faults;

pub(super) fn check_type(
    node: &Node,
    words: Words<'_>,
    is_item: bool,
    is_root: bool,
    faults: &mut Faults,
) {
    let at = words.path.field("type");
    let named = words.map.get("type").and_then(Value::as_str);
    let named = named.filter(|name| !name.is_empty());
    if node.embedded && node.of != Some(Type::Object) {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        wrong_type(named, &at, detail, faults);
    } else if named.is_none() && !node.int_or_string && !node.preserve {
        let detail = match (is_root, is_item) {
            (true, _) => "must not be empty at the root",
            (_, true) => "must not be empty for specified array items",
            _ => "must not be empty for specified object fields",
        };
        faults.required(at, detail);
    }
    if node.of == Some(Type::Array) && node.items.is_none() {
        faults.required(words.path.field("items"), "must be specified");
    }
    let both = [
        ("x-kubernetes-preserve-unknown-fields", node.preserve),
        ("x-kubernetes-embedded-resource", node.embedded),
    ];
    for (word, is_set) in both {
        if node.int_or_string && is_set {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            faults.invalid(words.path.field(word), &true.into(), detail);
        }
    }
    let at = words.path.field("additionalProperties");
    if node.has_additional() && is_root {
        faults.forbidden(at, "must not be used at the root");
    }
    if node.has_additional() && node.embedded {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        faults.forbidden(at, detail);
    }
    if node.embedded && !node.preserve && node.properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
            x-kubernetes-preserve-unknown-fields";
        faults.required(words.path.field("properties"), detail);
    }
}

fn wrong_type(named: Option<&str>, at: &FieldPath<'_>, detail: &str, faults: &mut Faults) {
    match named {
        Some(name) => faults.invalid(at, &name.into(), detail),
        None => faults.required(at, detail),
    }
}

pub(super) fn check_lists(node: &Node, words: Words<'_>, faults: &mut Faults) {
    let named = words.map.get("type").and_then(Value::as_str);
    let at = words.path.field("type");
    let listed = words.map.contains_key("x-kubernetes-list-type");
    if listed && node.of != Some(Type::Array) {
        let detail = "must be array if x-kubernetes-list-type is specified";
        wrong_type(named, &at, detail, faults);
    }
    if words.map.contains_key("x-kubernetes-map-type") && node.of != Some(Type::Object) {
        let detail = "must be object if x-kubernetes-map-type is specified";
        wrong_type(named, &at, detail, faults);
    }
    if !node.map_keys.is_empty() && node.list != ListType::Map {
        let at = words.path.field("x-kubernetes-list-type");
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match words.map.get("x-kubernetes-list-type") {
            Some(named) => faults.invalid(at, named, detail),
            None => faults.required(at, detail),
        }
    }
    let Some(items) = node.items() else { return };
    let at = words.path.field("items");
    match node.list {
        ListType::Atomic => return,
        ListType::Set => check_set(items, &at, faults),
        ListType::Map => check_map(node, items, words, faults),
    }
    if items.nullable {
        let kind = if node.list == ListType::Set {
            "set"
        } else {
            "map"
        };
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        faults.forbidden(at.field("nullable"), &detail);
    }
}

fn check_set(items: &Node, at: &FieldPath<'_>, faults: &mut Faults) {
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    if items.of == Some(Type::Array) && items.list != ListType::Atomic {
        let named = if items.list == ListType::Set {
            "set"
        } else {
            "map"
        };
        faults.invalid(at.field("x-kubernetes-list-type"), &named.into(), detail);
    }
    if items.of == Some(Type::Object) && items.map != MapType::Atomic {
        let at = at.field("x-kubernetes-map-type");
        faults.invalid(at, &Value::Null, detail);
    }
}

fn check_map(node: &Node, items: &Node, words: Words<'_>, faults: &mut Faults) {
    let keys_at = words.path.field("x-kubernetes-list-map-keys");
    if node.map_keys.is_empty() {
        faults.required(
            keys_at,
            "must not be empty if x-kubernetes-list-type is map",
        );
    }
    let at = words.path.field("items");
    if items.of != Some(Type::Object) {
        let named: Value = items.of.map_or("", Type::name).into();
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        faults.invalid(at.field("type"), &named, detail);
        return;
    }
    let keys: Value = node.list_map_keys().collect();
    let properties = at.field("properties");
    for (index, key) in node.map_keys.iter().enumerate() {
        let repeated = node.map_keys.iter().take(index).any(|other| other == key);
        if repeated {
            faults.invalid(keys_at, &keys, "must not contain duplicate entries");
            continue;
        }
        let Some(property) = items.property(key) else {
            let detail = "entries must all be names of item properties";
            faults.invalid(keys_at, &keys, detail);
            continue;
        };
        let at = properties.key(key);
        if matches!(property.of, Some(Type::Array | Type::Object)) {
            let named: Value = property.of.map_or("", Type::name).into();
            let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            faults.invalid(at.field("type"), &named, detail);
        }
        if !items.is_required(key) && property.default.is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            faults.required(at.field("default"), detail);
        }
        if property.nullable {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            faults.forbidden(at.field("nullable"), detail);
        }
    }
}

/// What every object has may be restricted a little at most.
pub(super) fn check_metadata(node: &Node, words: Words<'_>, is_root: bool, faults: &mut Faults) {
    if !is_root && !node.embedded {
        return;
    }
    let properties = words.path.field("properties");
    for name in ["apiVersion", "kind"] {
        if let Some(property) = node.property(name)
            && property.of != Some(Type::String)
        {
            let named: Value = property.of.map_or("", Type::name).into();
            faults.invalid(properties.key(name).field("type"), &named, "must be string");
        }
    }
    let Some(metadata) = node.property("metadata") else {
        return;
    };
    let at = properties.key("metadata");
    if metadata.of != Some(Type::Object) {
        let named: Value = metadata.of.map_or("", Type::name).into();
        faults.invalid(at.field("type"), &named, "must be object");
    }
    let names = ["name", "generateName"];
    let plain = metadata.properties().all(|(name, _)| names.contains(&name))
        && metadata.checks.is_none()
        && !metadata.has_additional()
        && !metadata.preserve
        && !metadata.nullable
        && metadata.map == MapType::Granular
        && metadata.rules.is_empty();
    if is_root && !plain {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        faults.forbidden(at, detail);
    }
}

/// Alternatives speak of fields and elements that the tree has, and of no types.
pub(super) fn check(root: &Node, path: &FieldPath<'_>, faults: &mut Faults) {
    if faults.is_full() {
        return;
    }
    if let Some(checks) = root.checks.as_deref() {
        let alternatives = Alternatives { of: root, at: path };
        alternatives.check(checks, path, faults);
    }
    let at = path.field("properties");
    for (name, below) in root.properties() {
        check(below, &at.key(name), faults);
    }
    if let Some(below) = root.additional() {
        check(below, &path.field("additionalProperties"), faults);
    }
    if let Some(below) = root.items() {
        check(below, &path.field("items"), faults);
    }
}

/// What alternatives are about.
#[derive(Clone, Copy)]
struct Alternatives<'a> {
    of: &'a Node,
    at: &'a FieldPath<'a>,
}

impl Alternatives<'_> {
    fn check(self, checks: &Checks, path: &FieldPath<'_>, faults: &mut Faults) {
        let lists = [
            ("allOf", &checks.all_of),
            ("anyOf", &checks.any_of),
            ("oneOf", &checks.one_of),
        ];
        for (word, nodes) in lists {
            let at = path.field(word);
            for (index, node) in nodes.iter().enumerate() {
                self.check_one(node, &at.index(index), faults);
            }
        }
        if let Some(not) = &checks.not {
            self.check_one(not, &path.field("not"), faults);
        }
    }

    fn check_one(self, node: &Node, path: &FieldPath<'_>, faults: &mut Faults) {
        if faults.is_full() {
            return;
        }
        if node.of.is_some() {
            faults.forbidden(path.field("type"), "must be empty to be structural");
        }
        if let Some(checks) = node.checks.as_deref() {
            self.check(checks, path, faults);
        }
        if let Some(items) = node.items() {
            let [at, here] = [self.at.field("items"), path.field("items")];
            match self.of.items() {
                Some(of) => Alternatives { of, at: &at }.check_one(items, &here, faults),
                None => faults.required(at, &format!("because it is defined in {here}")),
            }
        }
        let [at, here] = [self.at.field("properties"), path.field("properties")];
        for (name, below) in node.properties() {
            let [at, here] = [at.key(name), here.key(name)];
            match self.of.property(name) {
                Some(of) => Alternatives { of, at: &at }.check_one(below, &here, faults),
                None => faults.required(at, &format!("because it is defined in {here}")),
            }
        }
    }
}
