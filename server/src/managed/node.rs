//! What stands at a place of an object, as far as ownership asks: the one thing that walks need to know of types.
//!
//! Built-in kinds are read from the table of their [types](crate::schema). A custom kind's schema says the same of it. What has no
//! type is taken as it comes: objects field by field, lists as a whole.

use serde_json::Value;

use crate::resources::Resource;
use crate::resources::merge_keys::Ownership;
use crate::schema::{Definition, Field, Type};
use crate::structural::{self, ListType, MapType};

/// A place in a type. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a>(Of<'a>);

#[derive(Debug, Clone, Copy)]
enum Of<'a> {
    /// A custom object, and its schema if it has one.
    Custom(Option<&'a structural::Node>),
    /// A value in one.
    Value(&'a structural::Node),
    /// An object of a named type.
    Object(&'static Definition),
    /// A field of one.
    Field(&'static Field),
    /// What is in a list or map.
    Element(&'static Type),
    /// Text.
    Text,
    /// Anything.
    Untyped,
}

/// What stands at a place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape<'a> {
    /// One value.
    Scalar(Scalar),
    /// An object or a map.
    Object {
        /// Whether it is owned as a whole.
        atomic: bool,
    },
    /// A list.
    List(Relation<'a>),
    /// Anything, owned as a whole.
    Opaque,
    /// Anything, owned as it comes.
    Untyped,
}

/// A plain value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Text,
    Number,
    Boolean,
    /// Any of them.
    Any,
}

/// What the elements of a list are to each other.
#[derive(Debug, Clone, Copy)]
pub(super) enum Relation<'a> {
    /// Parts of one value.
    Atomic,
    /// Values that are there once.
    Set,
    /// Objects that are told apart by these fields together.
    Keyed(Keys<'a>),
}

/// The fields that tell the elements of a list apart.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keys<'a> {
    BuiltIn(&'static [&'static str]),
    Custom(&'a structural::Node),
}

impl<'a> Keys<'a> {
    pub(super) fn iter(self) -> impl Iterator<Item = &'a str> {
        let at = move |place: usize| match self {
            Self::BuiltIn(keys) => keys.get(place).copied(),
            Self::Custom(list) => list.list_map_keys().nth(place),
        };
        (0..).map_while(at)
    }
}

/// What an object may have under a name.
pub(super) enum Member<'a> {
    /// A field of its type.
    Field {
        node: Node<'a>,
        /// Whether it counts as there even where it is not written.
        implied: bool,
    },
    /// An entry of a map.
    Entry(Node<'a>),
    /// Nothing: there is no such field.
    Unknown,
}

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

impl<'a> Node<'a> {
    /// The objects of a resource.
    pub fn of(resource: &'a Resource) -> Self {
        match resource.schema_name().and_then(Definition::find) {
            Some(definition) => Self(Of::Object(definition)),
            None => Self::custom(resource.custom().and_then(|custom| custom.schema().ok()?)),
        }
    }

    /// The objects of a custom kind.
    pub fn custom(schema: Option<&'a structural::Schema>) -> Self {
        Self(Of::Custom(schema.map(structural::Schema::root)))
    }

    const UNTYPED: Self = Self(Of::Untyped);

    /// Whether the type may have been another when an object was written.
    pub(super) fn may_change(self) -> bool {
        matches!(self.0, Of::Custom(_))
    }

    pub(super) fn shape(self) -> Shape<'a> {
        match self.0 {
            Of::Custom(_) => Shape::Object { atomic: false },
            Of::Value(node) => custom(node),
            Of::Object(definition) => object(definition),
            Of::Field(field) => built_in(&field.of, field.ownership),
            Of::Element(of) => built_in(of, ownership(of)),
            Of::Text => Shape::Scalar(Scalar::Text),
            Of::Untyped => Shape::Untyped,
        }
    }

    /// What an object here may have under a name.
    pub(super) fn member(self, name: &str) -> Member<'a> {
        let field = |node: Of<'a>| Member::Field {
            node: Self(node),
            implied: false,
        };
        match self.0 {
            Of::Custom(schema) => match (own_field(name), schema) {
                (Some(node), _) => field(node),
                (None, Some(node)) => in_custom(node, name),
                (None, None) => Member::Entry(Self::UNTYPED),
            },
            Of::Value(node) => match own_field(name).filter(|_| node.is_embedded()) {
                Some(node) => field(node),
                None => in_custom(node, name),
            },
            Of::Object(definition) => named(definition, name),
            Of::Field(Field { of, .. }) | Of::Element(of) => match of {
                Type::Map(of) => Member::Entry(Self(Of::Element(of))),
                of => of
                    .definition()
                    .map_or(Member::Entry(Self::UNTYPED), |of| named(of, name)),
            },
            Of::Text | Of::Untyped => Member::Entry(Self::UNTYPED),
        }
    }

    /// What is in a list here.
    pub(super) fn element(self) -> Self {
        match self.0 {
            Of::Field(Field {
                of: Type::List(of), ..
            })
            | Of::Element(Type::List(of)) => Self(Of::Element(of)),
            Of::Value(node) => node
                .items()
                .map_or(Self::UNTYPED, |items| Self(Of::Value(items))),
            _ => Self::UNTYPED,
        }
    }

    /// What a key is if nothing is said of it, where this is an element of a list.
    pub(super) fn key_default(self, name: &str) -> Option<Value> {
        match self.0 {
            // The one part of a key of the built-in kinds that may be left out.
            Of::Element(of) if name == "protocol" => {
                let port = of.definition()?.short_name();
                ["ContainerPort", "ServicePort"]
                    .contains(&port)
                    .then(|| "TCP".into())
            }
            Of::Value(node) => node.property(name)?.default_value().cloned(),
            _ => None,
        }
    }
}

/// What every object has.
fn own_field<'a>(name: &str) -> Option<Of<'a>> {
    match name {
        "metadata" => Definition::find(OBJECT_META).map(Of::Object),
        "apiVersion" | "kind" => Some(Of::Text),
        _ => None,
    }
}

fn in_custom<'a>(node: &'a structural::Node, name: &str) -> Member<'a> {
    if let Some(property) = node.property(name) {
        return Member::Field {
            node: Node(Of::Value(property)),
            implied: false,
        };
    }
    match node.additional() {
        Some(additional) => Member::Entry(Node(Of::Value(additional))),
        None if node.has_additional() || node.preserves_unknown() => Member::Entry(Node::UNTYPED),
        None => Member::Unknown,
    }
}

fn custom(node: &structural::Node) -> Shape<'_> {
    if node.is_int_or_string() {
        return Shape::Scalar(Scalar::Any);
    }
    match node.type_of() {
        None => Shape::Untyped,
        Some(structural::Type::Object) => Shape::Object {
            atomic: node.map_type() == MapType::Atomic,
        },
        Some(structural::Type::Array) => Shape::List(match node.list_type() {
            ListType::Atomic => Relation::Atomic,
            ListType::Set => Relation::Set,
            ListType::Map => Relation::Keyed(Keys::Custom(node)),
        }),
        Some(structural::Type::String) => Shape::Scalar(Scalar::Text),
        Some(structural::Type::Integer | structural::Type::Number) => Shape::Scalar(Scalar::Number),
        Some(structural::Type::Boolean) => Shape::Scalar(Scalar::Boolean),
    }
}

fn named<'a>(definition: &'static Definition, name: &str) -> Member<'a> {
    match definition.field(name) {
        Some(field) => Member::Field {
            node: Node(Of::Field(field)),
            implied: field.implied,
        },
        None => Member::Unknown,
    }
}

/// How a value is owned of which its type says nothing else.
fn ownership(of: &Type) -> Ownership {
    match of {
        Type::List(_) => Ownership::Atomic,
        _ => Ownership::Granular,
    }
}

fn object<'a>(definition: &Definition) -> Shape<'a> {
    Shape::Object {
        atomic: definition.is_atomic(),
    }
}

fn built_in<'a>(of: &'static Type, ownership: Ownership) -> Shape<'a> {
    match of {
        Type::List(_) => Shape::List(match ownership {
            Ownership::Set => Relation::Set,
            Ownership::Map(keys) => Relation::Keyed(Keys::BuiltIn(keys)),
            Ownership::Atomic | Ownership::Granular => Relation::Atomic,
        }),
        Type::Map(_) => Shape::Object {
            atomic: ownership == Ownership::Atomic,
        },
        Type::String | Type::Bytes => Shape::Scalar(Scalar::Text),
        Type::Boolean => Shape::Scalar(Scalar::Boolean),
        Type::Int32 | Type::Int64 | Type::Number => Shape::Scalar(Scalar::Number),
        Type::Time | Type::MicroTime | Type::IntOrString | Type::Quantity => {
            Shape::Scalar(Scalar::Any)
        }
        // In schemas: an object, a list or a plain value.
        Type::Any | Type::ObjectOr(_) => Shape::Opaque,
        other => other.definition().map_or(Shape::Opaque, object),
    }
}
