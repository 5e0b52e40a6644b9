//! Following a path through an object.

use std::cmp::Ordering;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::path::{Filter, JsonPath, Literal, Op, Step};
use crate::columns::tree::{Object, Tree};

/// Most values that a walk looks at, so that no path can keep the server busy for long.
const MAX_VALUES: usize = 10_000;

impl JsonPath {
    /// The first value that the path leads to.
    #[must_use]
    pub fn first<'a, 'b>(&self, object: &'b Object<'a>) -> Option<&'b Tree<'a>> {
        let mut budget = MAX_VALUES;
        // Metadata is kept beside the other members.
        let (metadata, rest) = (object.metadata(), object.root());
        match self.steps.split_first() {
            Some((Step::Keys(keys), steps)) => keys.iter().find_map(|key| match key.as_str() {
                "metadata" => follow(metadata, steps, &mut budget),
                key => member(rest, key).and_then(|tree| follow(tree, steps, &mut budget)),
            }),
            Some(_) => [rest, metadata]
                .into_iter()
                .find_map(|tree| follow(tree, &self.steps, &mut budget)),
            None => Some(rest),
        }
    }
}

/// The first value behind `steps`, depth first. Each step recurs once, and steps are bounded; the
/// search below a value recurs with the object's depth, which the reader has bounded.
fn follow<'a, 'b>(tree: &'b Tree<'a>, steps: &[Step], budget: &mut usize) -> Option<&'b Tree<'a>> {
    *budget = budget.checked_sub(1)?;
    let Some((step, rest)) = steps.split_first() else {
        return Some(tree);
    };
    match step {
        Step::Keys(keys) => keys
            .iter()
            .filter_map(|key| member(tree, key))
            .find_map(|next| follow(next, rest, budget)),
        Step::Index(index) => {
            let items = tree.items();
            let place = place(*index, items.len())?;
            follow(items.get(place)?, rest, budget)
        }
        Step::Slice { from, to, step } => {
            let items = tree.items();
            let edge = |edge: Option<i64>, otherwise| {
                edge.map_or(Some(otherwise), |edge| place(edge, items.len()))
            };
            let from = edge(*from, 0)?;
            let to = edge(*to, items.len())?.min(items.len());
            let step = usize::try_from(*step).ok()?;
            let chosen = items.get(from..to)?.iter().step_by(step.max(1));
            chosen
                .into_iter()
                .find_map(|item| follow(item, rest, budget))
        }
        Step::Every => children(tree).find_map(|child| follow(child, rest, budget)),
        Step::Deep => follow(tree, rest, budget)
            .or_else(|| children(tree).find_map(|child| follow(child, steps, budget))),
        Step::Filter(filter) => {
            tree.items()
                .iter()
                .find_map(|item| match holds(filter, item, budget) {
                    true => follow(item, rest, budget),
                    false => None,
                })
        }
    }
}

fn member<'a, 'b>(tree: &'b Tree<'a>, key: &str) -> Option<&'b Tree<'a>> {
    let mut members = tree.entries().iter().rev();
    members
        .find(|(held, _)| held == key)
        .map(|(_, value)| value)
}

fn children<'a, 'b>(tree: &'b Tree<'a>) -> impl Iterator<Item = &'b Tree<'a>> {
    let values = tree.entries().iter().map(|(_, value)| value);
    tree.items().iter().chain(values)
}

/// A place in a list, counted from the end if negative.
fn place(index: i64, len: usize) -> Option<usize> {
    if index < 0 {
        len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
    } else {
        usize::try_from(index).ok()
    }
}

fn holds(filter: &Filter, item: &Tree<'_>, budget: &mut usize) -> bool {
    let Some(value) = follow(item, &filter.path.steps, budget) else {
        return false;
    };
    let Some((op, literal)) = &filter.test else {
        return true;
    };
    let order = match (value, literal) {
        (Tree::Text(text), Literal::Text(other)) => Some(text.as_ref().cmp(other)),
        (Tree::Number(number), Literal::Number(other)) => {
            number.as_f64().and_then(|number| number.partial_cmp(other))
        }
        (Tree::Bool(value), Literal::Bool(other)) => Some(value.cmp(other)),
        // Of different types: not equal, and neither is less.
        _ => return *op == Op::NotEqual,
    };
    order.is_some_and(|order| match op {
        Op::Equal => order == Ordering::Equal,
        Op::NotEqual => order != Ordering::Equal,
        Op::Less => order == Ordering::Less,
        Op::LessOrEqual => order != Ordering::Greater,
        Op::Greater => order == Ordering::Greater,
        Op::GreaterOrEqual => order != Ordering::Less,
    })
}

/// A value as compact JSON with sorted keys.
pub(super) fn json(tree: &Tree<'_>) -> String {
    serde_json::to_string(&Sorted(tree)).unwrap_or_default()
}

struct Sorted<'a, 'b>(&'b Tree<'a>);

impl Serialize for Sorted<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Tree::Null => serializer.serialize_unit(),
            Tree::Bool(value) => serializer.serialize_bool(*value),
            Tree::Number(number) => number.serialize(serializer),
            Tree::Text(text) => serializer.serialize_str(text),
            Tree::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            Tree::Object(entries) => {
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_by(|(a, _), (b, _)| a.cmp(b));
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, &Sorted(value))?;
                }
                map.end()
            }
        }
    }
}
