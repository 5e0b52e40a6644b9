//! Sets of fields, in the form that is stored: `fieldsV1`.
//!
//! ```text
//!   {"f:spec": {"f:replicas": {},                        spec.replicas
//!               "f:ports": {"k:{\"port\":80}": {".": {},     spec.ports[port=80] itself,
//!                                               "f:name": {}}}}}     and the name in it
//! ```
//!
//! A place is in the set if nothing is below it, or a `.` is. The JSON is worked on as it is: the cost of taking a few fields out
//! of a large set is that of the few.

use std::fmt;

use serde_json::{Map, Value};

use super::element;

/// A set of fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet(pub(super) Map<String, Value>);

/// Why a value is no set of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoFieldSet(String);

impl fmt::Display for NoFieldSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoFieldSet {}

/// The place itself is in the set, not only what is below it.
const SELF: &str = ".";

impl FieldSet {
    /// Reads a set, and puts it into the one form that it can be compared in. What a later version may have invented is left
    /// out.
    ///
    /// # Errors
    ///
    /// [`NoFieldSet`] for what is no tree, or names a place in a way that cannot be read.
    pub fn parse(value: Value) -> Result<Self, NoFieldSet> {
        let mut set = canonical(value)?;
        set.remove(SELF);
        Ok(Self(set))
    }

    /// A set that the server wrote itself. What is no set is an empty one.
    pub(super) fn trusted(value: Value) -> Self {
        match value {
            Value::Object(map) => Self(map),
            _ => Self::default(),
        }
    }

    /// The set as it is stored.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all that is in this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        let mut rest = self.clone();
        rest.subtract(other);
        rest.is_empty()
    }

    /// Adds what is in the other.
    pub fn unite(&mut self, other: Self) {
        unite(&mut self.0, other.0);
    }

    /// Takes out what is in the other.
    pub fn subtract(&mut self, other: &Self) {
        subtract(&mut self.0, &other.0);
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(intersect(&self.0, &other.0))
    }

    /// Takes out a field of the root with all that is below it.
    pub(super) fn remove_tree(&mut self, field: &str) {
        self.0.remove(&element::field(field));
    }

    /// The places in the set as messages write them: `.spec.ports[port=80].name`. What lies higher comes first.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        collect(&self.0, "", &mut paths);
        paths
    }

    /// Takes out what nobody owns: what says which object it is, and what the server keeps.
    pub(super) fn strip(&mut self) {
        for field in ["apiVersion", "kind"] {
            self.remove_tree(field);
        }
        let key = element::field("metadata");
        let Some(Value::Object(metadata)) = self.0.get_mut(&key) else {
            return;
        };
        metadata.remove(SELF);
        for field in OWNED_BY_NOBODY {
            metadata.remove(&element::field(field));
        }
        if metadata.is_empty() {
            self.0.remove(&key);
        }
    }
}

/// Fields of the metadata.
const OWNED_BY_NOBODY: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// A place while a set is made: whether it is in the set, and what below it is.
#[derive(Debug, Default)]
pub(super) struct Branch {
    pub(super) itself: bool,
    pub(super) below: Map<String, Value>,
}

impl Branch {
    /// A place with nothing below.
    pub(super) fn leaf() -> Self {
        Self {
            itself: true,
            below: Map::new(),
        }
    }

    /// Hangs a branch below this place, by the text of its element; an empty one is dropped.
    pub(super) fn hang(&mut self, element: impl FnOnce() -> String, branch: Self) {
        if let Some(value) = branch.into_value() {
            self.below.insert(element(), value);
        }
    }

    pub(super) fn into_value(mut self) -> Option<Value> {
        match (self.itself, self.below.is_empty()) {
            (false, true) => return None,
            (true, false) => {
                self.below.insert(SELF.into(), Map::new().into());
            }
            (true, true) | (false, false) => {}
        }
        Some(self.below.into())
    }

    /// The set below the root of an object, which nobody owns itself.
    pub(super) fn into_set(self) -> FieldSet {
        FieldSet(self.below)
    }
}

/// Whether a place is in the set.
pub(super) fn has_itself(node: &Map<String, Value>) -> bool {
    node.is_empty() || node.contains_key(SELF)
}

/// What is below a place of a set, by element.
pub(super) fn below(
    node: &Map<String, Value>,
) -> impl Iterator<Item = (&String, &Map<String, Value>)> {
    let known = node.iter().filter(|(element, _)| *element != SELF);
    known.filter_map(|(element, value)| Some((element, value.as_object()?)))
}

fn canonical(value: Value) -> Result<Map<String, Value>, NoFieldSet> {
    let Value::Object(map) = value else {
        return Err(NoFieldSet(format!("expected an object, got {value}")));
    };
    let mut set = Map::new();
    for (text, value) in map {
        if text == SELF {
            set.insert(text, Map::new().into());
            continue;
        }
        let Some(element) = element::canonical(text)
            .map_err(|text| NoFieldSet(format!("no path element: {text}")))?
        else {
            continue;
        };
        let mut one = Map::new();
        let mut below = canonical(value)?;
        if below.len() == 1 {
            // Nothing but the place itself is what nothing says too.
            below.remove(SELF);
        }
        one.insert(element, below.into());
        unite(&mut set, one);
    }
    Ok(set)
}

fn unite(left: &mut Map<String, Value>, right: Map<String, Value>) {
    for (element, value) in right {
        if element == SELF {
            continue;
        }
        let (Some(Value::Object(old)), Value::Object(new)) = (left.get_mut(&element), &value)
        else {
            left.insert(element, value);
            continue;
        };
        let itself = has_itself(old) || has_itself(new);
        if let Value::Object(new) = value {
            unite(old, new);
        }
        mark(old, itself);
    }
}

fn subtract(left: &mut Map<String, Value>, right: &Map<String, Value>) {
    for (element, right) in below(right) {
        let Some(Value::Object(node)) = left.get_mut(element) else {
            continue;
        };
        let itself = has_itself(node) && !has_itself(right);
        node.remove(SELF);
        subtract(node, right);
        if node.is_empty() && !itself {
            left.remove(element);
        } else {
            mark(node, itself);
        }
    }
}

fn intersect(left: &Map<String, Value>, right: &Map<String, Value>) -> Map<String, Value> {
    let mut both = Branch::default();
    for (element, left) in below(left) {
        let Some(Value::Object(right)) = right.get(element) else {
            continue;
        };
        let branch = Branch {
            itself: has_itself(left) && has_itself(right),
            below: intersect(left, right),
        };
        both.hang(|| element.clone(), branch);
    }
    both.below
}

/// Writes down whether a place is in the set that has `itself` removed or not.
fn mark(node: &mut Map<String, Value>, itself: bool) {
    if itself && !node.is_empty() {
        node.insert(SELF.into(), Map::new().into());
    }
}

fn collect(node: &Map<String, Value>, path: &str, paths: &mut Vec<String>) {
    let children = || below(node).map(|(element, node)| (element::shown(element), node));
    for (element, node) in children() {
        if has_itself(node) {
            paths.push(format!("{path}{element}"));
        }
    }
    for (element, node) in children() {
        collect(node, &format!("{path}{element}"), paths);
    }
}
