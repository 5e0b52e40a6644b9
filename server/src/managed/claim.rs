//! The fields that an object names: those that whoever applies it wants to own.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::element;
use super::list::identity;
use super::node::{Member, Node, Relation, Scalar, Shape};
use super::set::{Branch, FieldSet};

/// How many faults are told.
const MAX_FAULTS: usize = 20;

/// The fields of an object, and what in it does not fit the type; of that at most a few.
///
/// An object or list is in the set if it is owned as a whole, is empty or is an entry or element; otherwise what is in it is.
pub fn claim(types: Node<'_>, object: &Value) -> (FieldSet, Vec<String>) {
    let mut walk = Walk { faults: Vec::new() };
    let set = walk.value(types, object, &Path::Root);
    (set.into_set(), walk.faults)
}

/// Where the walk is, from the inside out.
enum Path<'a> {
    Root,
    Below(&'a Path<'a>, &'a str),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Below(above, element) => write!(f, "{above}{}", element::shown(element)),
        }
    }
}

struct Walk {
    faults: Vec<String>,
}

impl Walk {
    fn fault(&mut self, path: &Path<'_>, why: impl fmt::Display) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(match path {
                Path::Root => why.to_string(),
                Path::Below(..) => format!("{path}: {why}"),
            });
        }
    }

    fn value(&mut self, node: Node<'_>, value: &Value, path: &Path<'_>) -> Branch {
        if value.is_null() {
            return Branch::leaf();
        }
        match (node.shape(), value) {
            (Shape::Opaque, _) => Branch::leaf(),
            (Shape::Object { atomic: true }, Value::Object(fields)) => {
                // What is wrong in it is wrong all the same.
                self.object(node, fields, path);
                Branch::leaf()
            }
            (Shape::Object { atomic: false } | Shape::Untyped, Value::Object(fields)) => {
                self.object(node, fields, path)
            }
            (Shape::List(Relation::Atomic), Value::Array(list)) => {
                for (place, value) in list.iter().enumerate() {
                    let element = format!("i:{place}");
                    self.value(node.element(), value, &Path::Below(path, &element));
                }
                Branch::leaf()
            }
            (Shape::List(relation), Value::Array(list)) => self.list(node, relation, list, path),
            (Shape::Object { .. }, other) => {
                self.fault(path, format_args!("expected map, got {other}"));
                Branch::leaf()
            }
            (Shape::List(_), other) => {
                self.fault(path, format_args!("expected list, got {other}"));
                Branch::leaf()
            }
            (Shape::Scalar(scalar), value) => {
                if let Some(wanted) = mismatch(scalar, value) {
                    self.fault(path, format_args!("expected {wanted}, got {value}"));
                }
                Branch::leaf()
            }
            (Shape::Untyped, _) => Branch::leaf(),
        }
    }

    fn object(&mut self, node: Node<'_>, fields: &Map<String, Value>, path: &Path<'_>) -> Branch {
        if fields.is_empty() {
            return Branch::leaf();
        }
        let mut branch = Branch::default();
        for (name, value) in fields {
            let element = element::field(name);
            let path = Path::Below(path, &element);
            let (node, is_entry) = match node.member(name) {
                Member::Field { node, .. } => (node, false),
                Member::Entry(node) => (node, true),
                Member::Unknown => {
                    self.fault(&path, "field not declared in schema");
                    continue;
                }
            };
            let mut below = self.value(node, value, &path);
            below.itself |= is_entry;
            branch.hang(|| element.clone(), below);
        }
        branch
    }

    fn list(
        &mut self,
        node: Node<'_>,
        relation: Relation<'_>,
        list: &[Value],
        path: &Path<'_>,
    ) -> Branch {
        let node = node.element();
        let mut found: BTreeMap<String, Branch> = BTreeMap::new();
        let mut identified = true;
        for (place, value) in list.iter().enumerate() {
            let element = match identity(node, relation, value) {
                Ok(element) => element,
                Err(why) => {
                    self.fault(path, format_args!("element {place}: {why}"));
                    identified = false;
                    continue;
                }
            };
            if let Some(twice) = found.get_mut(&element) {
                let shown = element::shown(&element);
                self.fault(path, format_args!("duplicate entries for key {shown}"));
                *twice = Branch::leaf();
                continue;
            }
            let mut below = self.value(node, value, &Path::Below(path, &element));
            below.itself = true;
            found.insert(element, below);
        }
        if !identified {
            return Branch::leaf();
        }
        let mut branch = Branch::default();
        for (element, below) in found {
            branch.hang(|| element, below);
        }
        branch
    }
}

/// What should stand in the place of a value.
fn mismatch(scalar: Scalar, value: &Value) -> Option<&'static str> {
    let (fits, wanted) = match scalar {
        Scalar::Text => (value.is_string(), "string"),
        Scalar::Number => (value.is_number(), "numeric (int or float)"),
        Scalar::Boolean => (value.is_boolean(), "boolean"),
        Scalar::Any => (!value.is_object() && !value.is_array(), "scalar"),
    };
    (!fits).then_some(wanted)
}
