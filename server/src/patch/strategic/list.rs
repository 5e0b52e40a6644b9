//! Merging lists, and the order of what comes out.
//!
//! Elements are found by their key through a map, so that the cost grows with the length of the lists and not with its square.

use std::collections::HashMap;

use serde_json::Value;

use super::super::Error;
use super::directive::{self, Directive, strip_value};
use super::{Kind, Known};

/// The list `field` after a patch.
pub(super) fn merge(
    field: &str,
    known: &Known,
    original: Vec<Value>,
    patch: &[Value],
) -> Result<Vec<Value>, Error> {
    let combined = combine(field, known, original, patch)?;
    if !known.patch.merges_list() {
        return Ok(combined.elements);
    }
    let first = patch.iter().filter(|element| !is_special(element));
    let first = Order::of(field, known, first)?;
    let before = combined.elements.iter().take(combined.survivors);
    let before = Order::of(field, known, before)?;
    arrange(field, known, combined.elements, &first, &before)
}

/// The elements of a list after a patch, not yet in order.
pub(super) struct Combined {
    /// The old ones as they stood, then the new ones.
    pub(super) elements: Vec<Value>,
    /// How many are old.
    survivors: usize,
}

/// The elements of the list `field` after a patch, not yet in order.
pub(super) fn combine(
    field: &str,
    known: &Known,
    original: Vec<Value>,
    patch: &[Value],
) -> Result<Combined, Error> {
    if !known.patch.merges_list() {
        return Ok(Combined {
            elements: patch.iter().map(strip_value).collect(),
            survivors: 0,
        });
    }
    check_elements(field, known, original.iter().chain(patch))?;
    if known.patch.key().is_some() {
        return combine_keyed(field, known, original, patch);
    }
    let mut seen = Order::default();
    let mut elements = original;
    elements.retain(|value| seen.insert(identity(value)));
    let survivors = elements.len();
    let new = patch.iter().filter(|value| seen.insert(identity(value)));
    elements.extend(new.cloned());
    Ok(Combined {
        elements,
        survivors,
    })
}

fn combine_keyed(
    field: &str,
    known: &Known,
    original: Vec<Value>,
    patch: &[Value],
) -> Result<Combined, Error> {
    let mut deleted = Order::default();
    let mut replaced = false;
    let mut changes = Vec::new();
    for element in patch {
        let directive = match element.as_object() {
            Some(map) => directive::of(map)?,
            None => None,
        };
        match directive {
            None => changes.push(element),
            Some(Directive::Delete) => {
                deleted.insert(key_of(field, known, element)?);
            }
            Some(Directive::Replace) => replaced = true,
            Some(Directive::Merge) => return Err(Error::BadDirective("merge".to_owned())),
        }
    }
    if replaced {
        return Ok(Combined {
            elements: changes.into_iter().map(strip_value).collect(),
            survivors: 0,
        });
    }

    let mut merged = Vec::with_capacity(original.len());
    for element in original {
        if !deleted.contains(&key_of(field, known, &element)?) {
            merged.push(element);
        }
    }
    let survivors = merged.len();
    let mut places = Order::of(field, known, &merged)?;
    for change in changes {
        let identity = key_of(field, known, change)?;
        match places.place(&identity).and_then(|at| merged.get_mut(at)) {
            Some(element) => merge_element(known.kind, element, change)?,
            None => {
                places.put(identity, merged.len());
                merged.push(strip_value(change));
            }
        }
    }
    Ok(Combined {
        elements: merged,
        survivors,
    })
}

/// Whether an element of a patch is a direction and not a value.
fn is_special(element: &Value) -> bool {
    element.as_object().is_some_and(directive::is_in)
}

fn merge_element(kind: Kind, element: &mut Value, change: &Value) -> Result<(), Error> {
    match (element, change) {
        (Value::Object(old), Value::Object(new)) => kind.merge(old, new),
        (element, change) => {
            *element = strip_value(change);
            Ok(())
        }
    }
}

/// Puts the elements named by `first` into that order, and the others around them as they stood in `before`.
pub(super) fn arrange(
    field: &str,
    known: &Known,
    merged: Vec<Value>,
    first: &Order,
    before: &Order,
) -> Result<Vec<Value>, Error> {
    // Each with its place in its own order and its place in the original.
    let mut named = Vec::new();
    let mut others = Vec::new();
    for element in merged {
        let identity = key_of(field, known, &element)?;
        let stood = before.place(&identity);
        match first.place(&identity) {
            Some(place) => named.push((place, stood, element)),
            None => others.push((stood.unwrap_or(usize::MAX), stood, element)),
        }
    }
    named.sort_by_key(|(place, ..)| *place);
    others.sort_by_key(|(place, ..)| *place);

    let mut arranged = Vec::with_capacity(named.len() + others.len());
    let mut named = named.into_iter().peekable();
    for (_, stood, other) in others {
        // An element of the patch goes first unless both are known to have stood the other way round.
        while let Some((_, _, element)) = named.next_if(|(_, place, _)| match (stood, *place) {
            (Some(other), Some(named)) => named <= other,
            _ => true,
        }) {
            arranged.push(element);
        }
        arranged.push(other);
    }
    arranged.extend(named.map(|(_, _, element)| element));
    Ok(arranged)
}

/// Whether the elements of the patch come in the order that the patch gives for the list.
pub(super) fn check_order(
    field: &str,
    known: &Known,
    patch: &[Value],
    order: &[Value],
) -> Result<(), Error> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut order = order.iter();
    for element in patch {
        if is_special(element) {
            continue;
        }
        let identity = key_of(field, known, element)?;
        let mut found = false;
        for candidate in order.by_ref() {
            if key_of(field, known, candidate)? == identity {
                found = true;
                break;
            }
        }
        if !found {
            return Err(Error::OrderMismatch {
                field: field.to_owned(),
            });
        }
    }
    Ok(())
}

/// Where each element of a list is first found.
#[derive(Debug, Clone, Default)]
pub(super) struct Order(HashMap<String, usize>);

impl Order {
    pub(super) fn of<'a>(
        field: &str,
        known: &Known,
        list: impl IntoIterator<Item = &'a Value>,
    ) -> Result<Self, Error> {
        let mut order = Self::default();
        for (place, element) in list.into_iter().enumerate() {
            order.put(key_of(field, known, element)?, place);
        }
        Ok(order)
    }

    fn put(&mut self, identity: String, place: usize) {
        self.0.entry(identity).or_insert(place);
    }

    /// Adds at the end; false if it was there.
    fn insert(&mut self, identity: String) -> bool {
        let end = self.0.len();
        self.put(identity, end);
        self.0.len() > end
    }

    fn contains(&self, identity: &str) -> bool {
        self.0.contains_key(identity)
    }

    fn place(&self, identity: &str) -> Option<usize> {
        self.0.get(identity).copied()
    }
}

/// What tells an element of the list apart from the others.
fn key_of(field: &str, known: &Known, element: &Value) -> Result<String, Error> {
    match (known.patch.key(), element) {
        (None, value) => Ok(identity(value)),
        (Some(key), Value::Object(map)) => {
            map.get(key)
                .map(identity)
                .ok_or_else(|| Error::MissingMergeKey {
                    field: field.to_owned(),
                    key,
                })
        }
        (Some(_), _) => Err(Error::MixedList {
            field: field.to_owned(),
        }),
    }
}

/// Text that differs for different values.
fn identity(value: &Value) -> String {
    value.to_string()
}

/// A merging list has elements of one kind only, and never lists.
fn check_elements<'a>(
    field: &str,
    known: &Known,
    elements: impl Iterator<Item = &'a Value>,
) -> Result<(), Error> {
    let wants_objects = known.patch.key().is_some();
    for element in elements {
        match element {
            Value::Array(_) => return Err(Error::ListOfLists),
            element if element.is_object() == wants_objects && !element.is_null() => {}
            _ => {
                return Err(Error::MixedList {
                    field: field.to_owned(),
                });
            }
        }
    }
    Ok(())
}
