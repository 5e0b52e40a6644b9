//! Strategic merge patch: a merge patch that knows the type it patches.
//!
//! Objects are merged field by field and null removes, as in a merge patch. Lists are replaced, unless the type says that they merge
//! ([`merge_keys`]): then elements with the same key are merged and the rest is added. A patch can also give directions:
//!
//! | in the patch | what it does |
//! |---|---|
//! | `"$patch": "replace"` in an object | the object takes the place of the old one |
//! | `"$patch": "delete"` in an object | the old object is emptied |
//! | `{"$patch": "delete", KEY: …}` in a merging list | removes the elements with that key |
//! | `{"$patch": "replace"}` in a merging list | the other elements take the place of the old list |
//! | `"$deleteFromPrimitiveList/F": […]` | removes these values from the list F |
//! | `"$setElementOrder/F": […]` | the order of the list F after the patch |
//! | `"$retainKeys": […]` | fields of the old object that are not named are removed |
//!
//! Where a merged list has elements that the patch does not name, these keep their order, and stand where they
//! stood relative to the others.

mod directive;
mod list;

use serde_json::{Map, Value};

use super::Error;
use crate::codec::schema::{self, Message, Shape};
use crate::resources::merge_keys;
use directive::{Directive, adopt, strip};

/// A strategic merge patch for one type.
#[derive(Debug, Clone)]
pub struct Patch {
    schema: &'static Message,
    changes: Map<String, Value>,
}

impl Patch {
    /// A patch for objects of the type `schema`, named as in the published schemas.
    pub fn new(schema: &str, changes: Map<String, Value>) -> Result<Self, Error> {
        let schema =
            schema::message(schema).ok_or_else(|| Error::UnknownType(schema.to_owned()))?;
        Ok(Self { schema, changes })
    }

    /// The object with the patch applied.
    pub fn apply(&self, object: Value) -> Result<Value, Error> {
        let mut fields = match object {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Kind(Some(self.schema)).merge(&mut fields, &self.changes)?;
        Ok(Value::Object(fields))
    }
}

/// The type of the object being merged; none inside maps, free-form JSON and fields that are newer than the table of types.
#[derive(Clone, Copy)]
struct Kind(Option<&'static Message>);

/// What is known of a field that holds an object or a list.
struct Known {
    kind: Kind,
    patch: merge_keys::Patch,
}

impl Kind {
    /// A field of which nothing is known merges if it is an object, and is replaced if it is a list.
    fn field(self, name: &str) -> Known {
        let Some(message) = self.0 else {
            return Known {
                kind: self,
                patch: merge_keys::Patch::Replace,
            };
        };
        let kind = match message.field(name) {
            Some(field) if field.shape() != Shape::Map => field.message(),
            _ => None,
        };
        let patch = merge_keys::find(&message.full_name(), name)
            .map_or(merge_keys::Patch::Replace, |rule| rule.patch);
        Known {
            kind: Self(kind),
            patch,
        }
    }

    fn merge(
        self,
        original: &mut Map<String, Value>,
        patch: &Map<String, Value>,
    ) -> Result<(), Error> {
        match directive::of(patch)? {
            Some(Directive::Replace) => {
                *original = strip(patch);
                return Ok(());
            }
            Some(Directive::Delete) => {
                original.clear();
                return Ok(());
            }
            Some(Directive::Merge) => return Err(Error::BadDirective("merge".to_owned())),
            None => {}
        }
        directive::retain_keys(original, patch)?;
        // Order comes before deletion: what is about to go still holds its place among the rest.
        for (name, order) in patch {
            if name.starts_with(directive::ELEMENT_ORDER) {
                self.merge_ordered(original, patch, name, order)?;
            }
        }
        for (name, change) in patch {
            if name == directive::RETAIN_KEYS || name.starts_with(directive::ELEMENT_ORDER) {
                continue;
            } else if name.starts_with(directive::DELETE_FROM_LIST) {
                delete_from_list(original, name, change)?;
            } else if !patch.contains_key(&format!("{}/{name}", directive::ELEMENT_ORDER)) {
                self.merge_field(original, name, change)?;
            }
        }
        Ok(())
    }

    fn merge_field(
        self,
        original: &mut Map<String, Value>,
        name: &str,
        change: &Value,
    ) -> Result<(), Error> {
        match (original.get_mut(name), change) {
            (_, Value::Null) => {
                original.remove(name);
            }
            (Some(Value::Object(old)), Value::Object(new)) => {
                self.field(name).kind.merge(old, new)?;
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                let known = self.field(name);
                *old = list::merge(name, &known, core::mem::take(old), new)?;
            }
            _ => match adopt(change) {
                Some(value) => {
                    original.insert(name.to_owned(), value);
                }
                None => {
                    original.remove(name);
                }
            },
        }
        Ok(())
    }

    /// Merges a list for which the patch gives the order.
    fn merge_ordered(
        self,
        original: &mut Map<String, Value>,
        patch: &Map<String, Value>,
        directive: &str,
        order: &Value,
    ) -> Result<(), Error> {
        let name =
            directive::target(directive, directive::ELEMENT_ORDER).ok_or(Error::BadElementOrder)?;
        let Value::Array(order) = order else {
            return Err(Error::BadElementOrder);
        };
        let known = self.field(name);
        let new = match patch.get(name) {
            Some(Value::Array(new)) => Some(new),
            Some(_) => return Err(Error::BadElementOrder),
            None => None,
        };
        let old = match original.remove(name) {
            Some(Value::Array(old)) => Some(old),
            Some(_) => return Err(Error::BadElementOrder),
            None => None,
        };
        if let Some(new) = new {
            list::check_order(name, &known, new, order)?;
        }
        // As upstream, an element that the patch adds is taken to have stood in the place that a removed one left.
        let places = old.as_ref().map_or(0, Vec::len);
        let merged = match (old, new) {
            (Some(old), Some(new)) => list::combine(name, &known, old, new)?.elements,
            (Some(old), None) => old,
            (None, Some(new)) => new.iter().filter_map(adopt).collect(),
            (None, None) => return Ok(()),
        };
        let before = list::Order::of(name, &known, merged.iter().take(places))?;
        let after = list::Order::of(name, &known, order)?;
        let merged = list::arrange(name, &known, merged, &after, &before)?;
        original.insert(name.to_owned(), Value::Array(merged));
        Ok(())
    }
}

fn delete_from_list(
    original: &mut Map<String, Value>,
    directive: &str,
    values: &Value,
) -> Result<(), Error> {
    let name =
        directive::target(directive, directive::DELETE_FROM_LIST).ok_or(Error::BadPrimitiveList)?;
    match (original.get_mut(name), values) {
        (_, Value::Null) => {
            original.remove(name);
        }
        (Some(Value::Array(list)), Value::Array(values)) => {
            if list.iter().chain(values).any(Value::is_object) {
                return Err(Error::BadPrimitiveList);
            }
            let values: std::collections::HashSet<&Value> = values.iter().collect();
            list.retain(|value| !values.contains(value));
        }
        // Nothing to delete from.
        _ => {}
    }
    Ok(())
}
