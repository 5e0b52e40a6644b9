//! The tree that a schema is read into.

use std::sync::Arc;

use serde_json::Value;

use super::format::Format;
use super::pattern::Pattern;
use super::rules::Rule;

/// What a schema says of a value. Compact: what most nodes do not have takes a pointer's room.
#[derive(Debug, Default)]
pub struct Node {
    pub(super) of: Option<Type>,
    pub(super) nullable: bool,
    pub(super) int_or_string: bool,
    pub(super) preserve: bool,
    pub(super) embedded: bool,
    pub(super) list: ListType,
    pub(super) map: MapType,
    /// By name.
    pub(super) properties: Box<[(Box<str>, Self)]>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Self>>,
    pub(super) map_keys: Box<[Box<str>]>,
    pub(super) default: Option<Arc<Value>>,
    pub(super) checks: Option<Box<Checks>>,
    pub(super) rules: Box<[Rule]>,
    /// Whether there are rules here or below.
    pub(super) has_rules: bool,
}

/// What a value must be beyond its type.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub(super) format: Option<Format>,
    pub(super) minimum: Option<Bound>,
    pub(super) maximum: Option<Bound>,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) values: Box<[Value]>,
    pub(super) required: Box<[Box<str>]>,
    pub(super) all_of: Box<[Node]>,
    pub(super) any_of: Box<[Node]>,
    pub(super) one_of: Box<[Node]>,
    pub(super) not: Option<Box<Node>>,
}

/// An end of a range of numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) at: f64,
    /// Whether the end itself is outside.
    pub(super) exclusive: bool,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Fields or entries.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
}

impl Type {
    /// As it is written in a schema.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// What a list is to those who merge it: `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListType {
    /// One value, with one owner.
    #[default]
    Atomic,
    /// Values that are there once.
    Set,
    /// Objects that are told apart by their keys.
    Map,
}

/// What an object is to those who merge it: `x-kubernetes-map-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapType {
    /// Each field for itself.
    #[default]
    Granular,
    /// One value, with one owner.
    Atomic,
}

/// What fields an object may have beside its properties.
#[derive(Debug, Default)]
pub(super) enum Additional {
    /// None.
    #[default]
    None,
    /// Any. What is in them is unknown.
    Any,
    /// Those of a type.
    Of(Box<Node>),
}

impl Node {
    /// The type. None if anything may be there, or a number or text.
    pub fn type_of(&self) -> Option<Type> {
        self.of
    }

    /// The text of `format`, if it is one of those that are checked.
    pub fn format(&self) -> Option<&'static str> {
        self.checks.as_ref()?.format.map(Format::name)
    }

    /// Whether null may stand here.
    pub fn is_nullable(&self) -> bool {
        self.nullable
    }

    /// Whether a whole number or text stands here.
    pub fn is_int_or_string(&self) -> bool {
        self.int_or_string
    }

    /// Whether fields that are not in the schema are kept.
    pub fn preserves_unknown(&self) -> bool {
        self.preserve
    }

    /// Whether an object with kind, apiVersion and metadata of its own stands here.
    pub fn is_embedded(&self) -> bool {
        self.embedded
    }

    /// The schema of a field or entry: of the property of that name, or of additional ones.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.property(name).or_else(|| self.additional())
    }

    /// The schema of the property of that name.
    pub fn property(&self, name: &str) -> Option<&Self> {
        let place = self
            .properties
            .binary_search_by(|(property, _)| (**property).cmp(name));
        self.properties.get(place.ok()?).map(|(_, node)| node)
    }

    /// The properties, by name.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.properties.iter().map(|(name, node)| (&**name, node))
    }

    /// The schema of fields that are no properties, if there is one.
    pub fn additional(&self) -> Option<&Self> {
        match &self.additional {
            Additional::Of(node) => Some(node),
            Additional::None | Additional::Any => None,
        }
    }

    /// Whether there may be fields that are no properties.
    pub fn has_additional(&self) -> bool {
        !matches!(self.additional, Additional::None)
    }

    /// The schema of the elements of a list.
    pub fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// How the list merges.
    pub fn list_type(&self) -> ListType {
        self.list
    }

    /// Which fields tell the elements of a [`ListType::Map`] apart.
    pub fn list_map_keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.map_keys.iter().map(|key| &**key)
    }

    /// How the object merges.
    pub fn map_type(&self) -> MapType {
        self.map
    }

    /// What stands here if nothing is said.
    pub fn default_value(&self) -> Option<&Value> {
        self.default.as_deref()
    }

    /// Whether the element or field of that name must be there.
    pub fn is_required(&self, name: &str) -> bool {
        let required = self.checks.as_ref().map(|checks| &checks.required);
        required.is_some_and(|names| names.iter().any(|required| **required == *name))
    }
}

/// The node at a simple path.
pub(super) fn at<'a>(root: &'a Node, path: &str) -> Option<&'a Node> {
    let path = path.strip_prefix('.').unwrap_or(path);
    path.split('.')
        .try_fold(root, |node, name| node.field(name))
}
