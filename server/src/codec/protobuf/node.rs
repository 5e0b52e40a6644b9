//! JSON as a tree that borrows its text and keeps the order of its fields.

use core::fmt;
use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::EncodeError;

/// A JSON value.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// Past what `Int` holds.
    Large(u64),
    /// Fractions, and what no integer holds.
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    Object(Vec<(Cow<'a, str>, Self)>),
}

/// Reads a JSON object.
pub(super) fn parse(json: &[u8]) -> Result<Node<'_>, EncodeError> {
    match serde_json::from_slice(json) {
        Ok(object @ Node::Object(_)) => Ok(object),
        Ok(_) => Err(EncodeError::Json("it is another value".to_owned())),
        Err(error) => Err(EncodeError::Json(error.to_string())),
    }
}

impl<'a> Node<'a> {
    /// The text in a field of an object.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.fields().iter().rfind(|(field, _)| field == name) {
            Some((_, Node::Text(text))) => Some(text),
            _ => None,
        }
    }

    /// The fields, if it is an object.
    pub(super) fn fields(&self) -> &[(Cow<'a, str>, Self)] {
        match self {
            Self::Object(fields) => fields,
            _ => &[],
        }
    }
}

impl<'de> Deserialize<'de> for Node<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNode)
    }
}

struct AnyNode;

impl<'de> Visitor<'de> for AnyNode {
    type Value = Node<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Node::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(i64::try_from(value).map_or(Node::Large(value), Node::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Node::Float(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Node::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Node::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((Name(name), value)) = map.next_entry()? {
            fields.push((name, value));
        }
        Ok(Node::Object(fields))
    }
}

/// A field name that borrows where it can; serde's own `Cow` always copies.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(AnyNode)? {
            Node::Text(text) => Ok(Self(text)),
            _ => Ok(Self(Cow::Borrowed(""))),
        }
    }
}

/// For values that are JSON in protobuf too.
impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Large(value) => serializer.serialize_u64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}
