//! Removing what a schema does not know.

use serde_json::{Map, Value};

use super::embedded;
use super::node::{Additional, Node};
use crate::schema::parse::MAX_REMARKS;
use crate::schema::path::FieldPath;

/// The fields that every object has, whatever its schema says.
pub(super) const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

pub(super) fn object(root: &Node, object: &mut Value) -> Vec<String> {
    let mut pruner = Pruner {
        unknown: Vec::new(),
    };
    let path = FieldPath::Root;
    match object {
        Value::Object(fields) => pruner.fields(fields, root, true, &path),
        other => pruner.value(other, Some(root), &path),
    }
    pruner.unknown
}

/// Whether there is nothing to remove from a value.
pub(super) fn is_pruned(node: &Node, value: &Value) -> bool {
    let mut pruner = Pruner {
        unknown: Vec::new(),
    };
    pruner.value(&mut value.clone(), Some(node), &FieldPath::Root);
    pruner.unknown.is_empty()
}

struct Pruner {
    unknown: Vec<String>,
}

impl Pruner {
    /// Without a node nothing is known: objects become empty.
    fn value(&mut self, value: &mut Value, node: Option<&Node>, path: &FieldPath<'_>) {
        match (value, node) {
            (Value::Object(fields), Some(node)) => self.fields(fields, node, node.embedded, path),
            (Value::Object(fields), None) => fields.retain(|name, _| self.remove(path, name)),
            (Value::Array(list), node) => {
                let items = node.and_then(Node::items);
                // What is in a list of a place that keeps everything is kept, too.
                if items.is_none() && node.is_some_and(|node| node.preserve) {
                    return;
                }
                for (index, element) in list.iter_mut().enumerate() {
                    self.value(element, items, &path.index(index));
                }
            }
            _ => {}
        }
    }

    fn fields(
        &mut self,
        fields: &mut Map<String, Value>,
        node: &Node,
        is_object: bool,
        path: &FieldPath<'_>,
    ) {
        fields.retain(|name, value| {
            let below = path.field(name);
            if is_object && META_FIELDS.contains(&name.as_str()) {
                if name == "metadata" && node.embedded {
                    let room = MAX_REMARKS.saturating_sub(self.unknown.len());
                    let unknown = embedded::prune(value, &below);
                    self.unknown.extend(unknown.into_iter().take(room));
                }
                return true;
            }
            match (node.property(name), &node.additional) {
                (Some(property), _) => self.value(value, Some(property), &below),
                (None, Additional::Of(of)) => self.value(value, Some(of), &below),
                (None, Additional::Any) => self.value(value, None, &below),
                (None, Additional::None) if node.preserve => {}
                (None, Additional::None) => return self.remove(path, name),
            }
            true
        });
    }

    /// Notes what is removed; that it is not kept.
    fn remove(&mut self, path: &FieldPath<'_>, name: &str) -> bool {
        if self.unknown.len() < MAX_REMARKS {
            self.unknown.push(path.field(name).to_string());
        }
        false
    }
}
