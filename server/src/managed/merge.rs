//! Lays what is wanted over what is there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::list::identities;
use super::node::{Member, Node, Relation, Shape};

/// What is there, with what is wanted in it. Objects and lists whose parts have owners of their own are merged, all else is replaced.
pub(super) fn merge(node: Node<'_>, live: Value, wanted: &Value) -> Value {
    match (node.shape(), live, wanted) {
        (
            Shape::Object { atomic: false } | Shape::Untyped,
            Value::Object(live),
            Value::Object(wanted),
        ) => objects(node, live, wanted).into(),
        (
            Shape::List(relation @ (Relation::Set | Relation::Keyed(_))),
            Value::Array(live),
            Value::Array(wanted),
        ) => lists(node.element(), relation, live, wanted).into(),
        // Null wants nothing of what others have in it.
        (Shape::Object { atomic: false }, Value::Object(live), Value::Null) if !live.is_empty() => {
            live.into()
        }
        (Shape::List(Relation::Set | Relation::Keyed(_)), Value::Array(live), Value::Null)
            if !live.is_empty() =>
        {
            live.into()
        }
        (_, _, wanted) => wanted.clone(),
    }
}

fn objects(
    node: Node<'_>,
    mut live: Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Map<String, Value> {
    for (name, wanted) in wanted {
        let merged = match (live.remove(name), node.member(name)) {
            (Some(live), Member::Field { node, .. } | Member::Entry(node)) => {
                merge(node, live, wanted)
            }
            (None, _) | (_, Member::Unknown) => wanted.clone(),
        };
        live.insert(name.clone(), merged);
    }
    live
}

/// Merges lists by what tells their elements apart.
///
/// The order is that of what is wanted. Elements that are only there stay before the one that they stood before, as far as
/// that can be.
fn lists(node: Node<'_>, relation: Relation<'_>, live: Vec<Value>, wanted: &[Value]) -> Vec<Value> {
    let (Some(live_names), Some(wanted_names)) = (
        identities(node, relation, &live),
        identities(node, relation, wanted),
    ) else {
        return wanted.to_vec();
    };
    let is_wanted: BTreeSet<&str> = wanted_names.iter().map(String::as_str).collect();
    let mut others: Vec<(&str, Option<Value>)> = Vec::with_capacity(live.len());
    // Those that are wanted too. Of those that are there twice it is not known which is meant.
    let mut partners: BTreeMap<&str, Option<Value>> = BTreeMap::new();
    for (name, value) in live_names.iter().map(String::as_str).zip(live) {
        if !is_wanted.contains(name) {
            others.push((name, Some(value)));
            continue;
        }
        others.push((name, None));
        partners
            .entry(name)
            .and_modify(|partner| *partner = None)
            .or_insert(Some(value));
    }
    // The next in the wanted order that is there too.
    let shared: Vec<&str> = wanted_names
        .iter()
        .map(String::as_str)
        .filter(|name| partners.contains_key(name))
        .collect();
    let mut shared = shared.into_iter().peekable();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut merged = Vec::new();
    let mut take = |name: &str, wanted: &Value| {
        let partner = partners.get_mut(name).and_then(Option::take);
        partner.map_or_else(|| wanted.clone(), |partner| merge(node, partner, wanted))
    };
    let mut live = others.into_iter().peekable();
    let mut wanted = wanted_names
        .iter()
        .map(String::as_str)
        .zip(wanted)
        .peekable();
    while live.peek().is_some() || wanted.peek().is_some() {
        if let (Some((there, _)), Some((name, value))) = (live.peek(), wanted.peek()) {
            if there == name {
                merged.push(take(name, value));
                done.insert(name);
                shared.next();
                live.next();
                wanted.next();
                continue;
            }
            let out_of_turn = shared.peek().is_some_and(|next| next != there);
            if is_wanted.contains(there) && out_of_turn {
                live.next();
                continue;
            }
        }
        match live.peek_mut() {
            Some((_, other @ Some(_))) => {
                merged.extend(other.take());
                live.next();
                continue;
            }
            Some((name, None)) if done.contains(name) => {
                live.next();
            }
            _ => {}
        }
        if let Some((name, value)) = wanted.next() {
            merged.push(take(name, value));
            done.insert(name);
            shared.next_if_eq(&name);
        }
    }
    merged
}
