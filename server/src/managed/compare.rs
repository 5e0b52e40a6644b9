//! Which fields differ between two states of an object: one walk over both.

use serde_json::{Map, Value};

use super::element;
use super::list::identities;
use super::node::{Member, Node, Relation, Shape};
use super::set::{Branch, FieldSet};

/// Which fields differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Fields that are new, or have another value.
    pub changed: FieldSet,
    /// Fields that are gone.
    pub removed: FieldSet,
}

impl Difference {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }
}

/// What differs between two states of an object of a type. What does not fit the type is taken as one value.
pub fn compare(types: Node<'_>, old: &Value, new: &Value) -> Difference {
    let mut found = Found::default();
    let place = Place {
        node: types,
        implied: true,
    };
    walk(place, Some(old), Some(new), &mut found);
    Difference {
        changed: found.changed.into_set(),
        removed: found.removed.into_set(),
    }
}

/// What was found below a place.
#[derive(Default)]
struct Found {
    changed: Branch,
    removed: Branch,
}

#[derive(Clone, Copy)]
struct Place<'a> {
    node: Node<'a>,
    /// Whether it counts as there in both.
    implied: bool,
}

fn walk(place: Place<'_>, old: Option<&Value>, new: Option<&Value>, found: &mut Found) {
    let descended = match place.node.shape() {
        Shape::Object { atomic: false } | Shape::Untyped => objects(place, old, new, found),
        Shape::List(relation @ (Relation::Set | Relation::Keyed(_))) => {
            lists(place.node, relation, old, new, found)
        }
        Shape::Scalar(_) | Shape::Opaque | Shape::Object { .. } | Shape::List(_) => false,
    };
    if descended {
        found.changed.itself |= old.is_none() && !place.implied;
        found.removed.itself |= new.is_none() && !place.implied;
        return;
    }
    match (old, new) {
        (Some(old), Some(new)) => found.changed.itself |= old != new,
        (None, Some(new)) => found.changed.itself |= !(place.implied && is_empty(new)),
        (Some(old), None) => found.removed.itself |= !(place.implied && is_empty(old)),
        (None, None) => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// Goes into objects, unless one is none or both are empty.
fn objects(place: Place<'_>, old: Option<&Value>, new: Option<&Value>, found: &mut Found) -> bool {
    let nothing = Map::new();
    let (Some(old_fields), Some(new_fields)) = (fields(old, &nothing), fields(new, &nothing))
    else {
        return false;
    };
    if old_fields.is_empty() && new_fields.is_empty() {
        return false;
    }
    let both = place.implied || old.is_some() && new.is_some();
    for (name, old, new) in Pairs::new(old_fields, new_fields) {
        if old == new {
            continue;
        }
        let (node, implied) = match place.node.member(name) {
            Member::Field { node, implied } => (node, implied && both),
            Member::Entry(node) => (node, false),
            // What an older version of the type had.
            Member::Unknown => continue,
        };
        let mut below = Found::default();
        walk(Place { node, implied }, old, new, &mut below);
        found.hang(|| element::field(name), below);
    }
    true
}

/// The fields of an object, none for what is absent; nothing for what is no object.
fn fields<'v>(
    value: Option<&'v Value>,
    none: &'v Map<String, Value>,
) -> Option<&'v Map<String, Value>> {
    match value {
        None | Some(Value::Null) => Some(none),
        Some(Value::Object(map)) => Some(map),
        Some(_) => None,
    }
}

/// Goes into lists, unless one is none, both are empty or an element cannot be told from others.
fn lists(
    node: Node<'_>,
    relation: Relation<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
    found: &mut Found,
) -> bool {
    let (Some(old), Some(new)) = (elements(old), elements(new)) else {
        return false;
    };
    if old.is_empty() && new.is_empty() {
        return false;
    }
    let element = node.element();
    let (Some(old_names), Some(new_names)) = (
        identities(element, relation, old),
        identities(element, relation, new),
    ) else {
        return false;
    };
    let old = old_names
        .into_iter()
        .zip(old)
        .map(|(name, value)| (name, Ok(value)));
    let new = new_names
        .into_iter()
        .zip(new)
        .map(|(name, value)| (name, Err(value)));
    // Old ones come before new ones of the same name, each in their order.
    let mut all: Vec<(String, Result<&Value, &Value>)> = old.chain(new).collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    for same in all.chunk_by(|(a, _), (b, _)| a == b) {
        let Some((name, _)) = same.first() else {
            continue;
        };
        let split = same.partition_point(|(_, value)| value.is_ok());
        let values = |side: &[(String, Result<&Value, &Value>)]| -> Vec<Value> {
            let either =
                |value: &Result<&Value, &Value>| value.map_or_else(Clone::clone, Clone::clone);
            side.iter().map(|(_, value)| either(value)).collect()
        };
        let (old, new) = same.split_at(split);
        let mut below = Found::default();
        match (old, new) {
            ([] | [_], [] | [_]) => {
                let old = old.first().and_then(|(_, value)| value.ok());
                let new = new.first().and_then(|(_, value)| value.err());
                item(element, old, new, &mut below);
            }
            // Those that are there twice are one value together.
            ([_, _, ..], [_, _, ..]) => below.changed.itself = values(old) != values(new),
            ([_, _, ..], [] | [_]) => {
                let new = new.first().and_then(|(_, value)| value.err());
                item(element, None, new, &mut below);
                below.removed.itself = true;
            }
            ([] | [_], [_, _, ..]) => {
                let old = old.first().and_then(|(_, value)| value.ok());
                item(element, old, None, &mut below);
                below.changed.itself = true;
            }
        }
        found.hang(|| name.clone(), below);
    }
    true
}

fn elements(value: Option<&Value>) -> Option<&[Value]> {
    match value {
        None | Some(Value::Null) => Some(&[]),
        Some(Value::Array(list)) => Some(list),
        Some(_) => None,
    }
}

fn item(node: Node<'_>, old: Option<&Value>, new: Option<&Value>, found: &mut Found) {
    if old != new {
        let place = Place {
            node,
            implied: false,
        };
        walk(place, old, new, found);
    }
}

impl Found {
    fn hang(&mut self, element: impl Fn() -> String, below: Self) {
        self.changed.hang(&element, below.changed);
        self.removed.hang(&element, below.removed);
    }
}

/// The fields of two objects by name, with what each has.
struct Pairs<'v> {
    old: std::iter::Peekable<serde_json::map::Iter<'v>>,
    new: std::iter::Peekable<serde_json::map::Iter<'v>>,
}

impl<'v> Pairs<'v> {
    fn new(old: &'v Map<String, Value>, new: &'v Map<String, Value>) -> Self {
        Self {
            old: old.iter().peekable(),
            new: new.iter().peekable(),
        }
    }
}

impl<'v> Iterator for Pairs<'v> {
    type Item = (&'v str, Option<&'v Value>, Option<&'v Value>);

    fn next(&mut self) -> Option<Self::Item> {
        let first = match (self.old.peek(), self.new.peek()) {
            (Some((old, _)), Some((new, _))) => old.min(new).as_str(),
            (Some((name, _)), None) | (None, Some((name, _))) => name.as_str(),
            (None, None) => return None,
        };
        let old = self.old.next_if(|(name, _)| *name == first);
        let new = self.new.next_if(|(name, _)| *name == first);
        Some((
            first,
            old.map(|(_, value)| value),
            new.map(|(_, value)| value),
        ))
    }
}
