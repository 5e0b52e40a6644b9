//! The types of expressions, and how large their values may be.

use crate::structural::node::{Additional, ListType, Node, Type};

/// What an expression comes to.
#[derive(Debug, Clone)]
pub(super) struct Shape<'n> {
    pub(super) kind: Kind<'n>,
    /// How many characters, elements or entries there are at most.
    pub(super) size: u64,
}

#[derive(Debug, Clone)]
pub(super) enum Kind<'n> {
    /// Known when it is run.
    Any,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Time,
    Span,
    Quantity,
    Url,
    Ip,
    Cidr,
    List(Box<Shape<'n>>, ListType),
    Map(Box<Shape<'n>>),
    /// An object with the fields of a node; with a kind and metadata, if so.
    Object(&'n Node, bool),
    /// What an object's metadata shows.
    Metadata,
    Optional(Box<Shape<'n>>),
}

/// How many bytes a request has at most. What a schema does not bound is bounded by this.
const MAX_REQUEST: u64 = 3 * 1024 * 1024;

impl<'n> Shape<'n> {
    pub(super) const fn of(kind: Kind<'n>) -> Self {
        Self { kind, size: 1 }
    }

    pub(super) const fn text(size: u64) -> Self {
        Self {
            kind: Kind::Text,
            size,
        }
    }

    /// The type of the values of a node; none if expressions cannot see them.
    pub(super) fn of_node(node: &'n Node, is_object: bool) -> Option<Self> {
        let size = largest(node);
        if node.int_or_string {
            return Some(Self {
                kind: Kind::Any,
                size: MAX_REQUEST,
            });
        }
        let kind = match node.of? {
            Type::Boolean => Kind::Bool,
            Type::Integer => Kind::Int,
            Type::Number => Kind::Double,
            Type::String => match node.format() {
                Some("byte") => Kind::Bytes,
                Some("date" | "date-time" | "datetime") => Kind::Time,
                Some("duration") => Kind::Span,
                _ => Kind::Text,
            },
            Type::Array => {
                let items = node.items()?;
                let element = Self::of_node(items, items.is_embedded())?;
                Kind::List(Box::new(element), node.list_type())
            }
            Type::Object => match &node.additional {
                Additional::Of(of) => {
                    let entry = Self::of_node(of, of.is_embedded())?;
                    Kind::Map(Box::new(entry))
                }
                _ => Kind::Object(node, is_object),
            },
        };
        Some(Self { kind, size })
    }

    /// The type of a field, by its name in JSON.
    pub(super) fn field(&self, name: &str) -> Option<Self> {
        match &self.kind {
            Kind::Any => Some(Self {
                kind: Kind::Any,
                size: MAX_REQUEST,
            }),
            Kind::Object(node, is_object) => {
                if *is_object {
                    match name {
                        "apiVersion" | "kind" => return Some(Self::text(MAX_REQUEST)),
                        "metadata" => return Some(Self::of(Kind::Metadata)),
                        _ => {}
                    }
                }
                let below = node.property(name)?;
                Self::of_node(below, below.is_embedded())
            }
            Kind::Metadata => {
                let shown = ["name", "generateName"].contains(&name);
                shown.then(|| Self::text(253))
            }
            Kind::Map(of) => Some((**of).clone()),
            _ => None,
        }
    }

    /// The type of the elements of a list, or of the keys of a map.
    pub(super) fn element(&self) -> Option<Self> {
        match &self.kind {
            Kind::Any => Some(Self {
                kind: Kind::Any,
                size: MAX_REQUEST,
            }),
            Kind::List(of, _) => Some((**of).clone()),
            Kind::Map(_) => Some(Self::text(MAX_REQUEST)),
            _ => None,
        }
    }

    /// The name in messages.
    pub(super) fn name(&self) -> String {
        match &self.kind {
            Kind::Any => "dyn".into(),
            Kind::Null => "null".into(),
            Kind::Bool => "bool".into(),
            Kind::Int => "int".into(),
            Kind::Uint => "uint".into(),
            Kind::Double => "double".into(),
            Kind::Text => "string".into(),
            Kind::Bytes => "bytes".into(),
            Kind::Time => "timestamp".into(),
            Kind::Span => "duration".into(),
            Kind::Quantity => "kubernetes.Quantity".into(),
            Kind::Url => "kubernetes.URL".into(),
            Kind::Ip => "net.IP".into(),
            Kind::Cidr => "net.CIDR".into(),
            Kind::List(of, _) => format!("list({})", of.name()),
            Kind::Map(of) => format!("map(string, {})", of.name()),
            Kind::Object(..) | Kind::Metadata => "object".into(),
            Kind::Optional(of) => format!("optional_type({})", of.name()),
        }
    }

    /// Whether values of the two types can be compared, or stand for each other.
    pub(super) fn fits(&self, other: &Self) -> bool {
        use Kind::{Any, List, Map, Null, Optional};
        match (&self.kind, &other.kind) {
            (Any | Null, _) | (_, Any | Null) => true,
            (List(left, _), List(right, _)) | (Map(left), Map(right)) => left.fits(right),
            (Optional(left), Optional(right)) => left.fits(right),
            (Kind::Object(..), Map(_)) | (Map(_), Kind::Object(..)) => true,
            (left, right) => std::mem::discriminant(left) == std::mem::discriminant(right),
        }
    }

    /// What reading all of a value costs: a tenth for each character, and for each element what it costs.
    pub(super) fn walk_cost(&self) -> u64 {
        match &self.kind {
            Kind::Text | Kind::Bytes | Kind::Url | Kind::Any => self.size / 10 + 1,
            Kind::List(of, _) | Kind::Map(of) => self.size.saturating_mul(of.walk_cost()),
            Kind::Object(node, _) => node
                .properties()
                .filter_map(|(_, below)| Self::of_node(below, below.is_embedded()))
                .fold(1, |sum, below| sum.saturating_add(below.walk_cost())),
            _ => 1,
        }
    }
}

/// How many characters, elements or entries a value of a node has at most: as the schema says, or as fit into a request.
pub(in crate::structural) fn largest(node: &Node) -> u64 {
    let checks = node.checks.as_deref();
    match node.of {
        Some(Type::String) => {
            let declared = checks.and_then(|checks| checks.max_length);
            let longest = checks.map_or(0, |checks| {
                let texts = checks.values.iter().filter_map(|value| value.as_str());
                texts.map(|text| text.len() as u64).max().unwrap_or(0)
            });
            match (declared, longest) {
                (Some(declared), _) => declared,
                (None, 0) => match node.format() {
                    Some("date" | "date-time" | "datetime" | "duration") => 64,
                    _ => MAX_REQUEST,
                },
                (None, longest) => longest,
            }
        }
        Some(Type::Array) => {
            let declared = checks.and_then(|checks| checks.max_items);
            let smallest = node.items().map_or(1, |items| smallest(items, 0));
            declared.unwrap_or(MAX_REQUEST / (smallest + 1))
        }
        Some(Type::Object) => {
            let declared = checks.and_then(|checks| checks.max_properties);
            // A key has quotes and a colon around it.
            let smallest = node.additional().map_or(1, |of| smallest(of, 0));
            declared.unwrap_or(MAX_REQUEST / (smallest + 6))
        }
        _ => 1,
    }
}

/// How many bytes a value of a node has at least.
fn smallest(node: &Node, depth: usize) -> u64 {
    if depth > 8 {
        return 2;
    }
    match node.of {
        Some(Type::Object) => {
            let required = node.properties().filter(|(name, _)| node.is_required(name));
            required.fold(2, |sum, (name, below)| {
                sum + name.len() as u64 + 4 + smallest(below, depth + 1)
            })
        }
        Some(Type::String | Type::Array) => 2,
        Some(Type::Boolean) => 4,
        _ => 1,
    }
}
