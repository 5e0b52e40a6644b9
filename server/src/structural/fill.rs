//! Putting in what a schema says of absent values.
//!
//! A short list of empty objects can ask for the same long default a million times, so what is put in is bounded.

use serde_json::{Map, Value};

use super::node::Node;

/// How many bytes of memory defaults may take in one object, about.
const MAX_FILLED: usize = 16 * 1024 * 1024;

/// The defaults of an object would take too much memory.
pub(super) struct TooLarge;

pub(super) fn object(root: &Node, object: &mut Value) -> Result<(), TooLarge> {
    let mut filler = Filler { left: MAX_FILLED };
    filler.fill(object, root)?;
    drop_nulls(object, root);
    Ok(())
}

struct Filler {
    left: usize,
}

impl Filler {
    /// Puts defaults where nothing is, and where a null is that may not be there.
    fn fill(&mut self, value: &mut Value, node: &Node) -> Result<(), TooLarge> {
        match value {
            Value::Object(fields) => {
                for (name, property) in node.properties() {
                    if let Some(default) = property.default_value()
                        && fields
                            .get(name)
                            .is_none_or(|there| is_misplaced(there, property))
                    {
                        fields.insert(name.to_owned(), self.copy(default)?);
                    }
                }
                for (name, value) in fields {
                    if let Some(below) = node.field(name) {
                        self.replace_null(value, below)?;
                        self.fill(value, below)?;
                    }
                }
            }
            Value::Array(list) => {
                let Some(items) = node.items() else {
                    return Ok(());
                };
                for element in list {
                    self.replace_null(element, items)?;
                    self.fill(element, items)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn replace_null(&mut self, value: &mut Value, node: &Node) -> Result<(), TooLarge> {
        if let Some(default) = node.default_value()
            && is_misplaced(value, node)
        {
            *value = self.copy(default)?;
        }
        Ok(())
    }

    fn copy(&mut self, default: &Value) -> Result<Value, TooLarge> {
        let left = self.left.checked_sub(memory_of(default));
        self.left = left.ok_or(TooLarge)?;
        Ok(default.clone())
    }
}

fn memory_of(value: &Value) -> usize {
    const CELL: usize = 64;
    match value {
        Value::String(text) => CELL + text.len(),
        Value::Array(list) => list.iter().map(memory_of).sum::<usize>() + CELL,
        Value::Object(map) => {
            let entries = map
                .iter()
                .map(|(name, value)| CELL + name.len() + memory_of(value));
            entries.sum::<usize>() + CELL
        }
        _ => CELL,
    }
}

fn is_misplaced(value: &Value, node: &Node) -> bool {
    value.is_null() && !node.nullable
}

/// Removes the fields with a null that may not be there. Elements of lists stay, and are found wrong.
fn drop_nulls(value: &mut Value, node: &Node) {
    match value {
        Value::Object(fields) => drop_null_fields(fields, node),
        Value::Array(list) => {
            let Some(items) = node.items() else { return };
            for element in list {
                drop_nulls(element, items);
            }
        }
        _ => {}
    }
}

fn drop_null_fields(fields: &mut Map<String, Value>, node: &Node) {
    fields.retain(|name, value| {
        let Some(below) = node.field(name) else {
            return true;
        };
        if is_misplaced(value, below) {
            return false;
        }
        drop_nulls(value, below);
        true
    });
}
