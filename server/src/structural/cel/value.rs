//! The values of expressions.

use std::cmp::Ordering;
use std::net::IpAddr;
use std::rc::Rc;

use base64ct::{Base64, Encoding as _};
use serde_json::Value;

use super::network::{Cidr, Url};
use super::{Constant, is_plain_text};
use crate::schema::quantity::Quantity;
use crate::structural::format::duration;
use crate::structural::node::{ListType, Node, Type};

/// A value. What is in the object is borrowed from it, and looked at when it is needed.
#[derive(Debug, Clone)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(&'a str),
    /// Text that an expression made.
    Made(Rc<str>),
    Bytes(Rc<[u8]>),
    /// Nanoseconds since 1970.
    Time(i128),
    /// Nanoseconds.
    Span(i64),
    Quantity(Quantity),
    Url(Rc<Url>),
    Ip(IpAddr),
    Cidr(Cidr),
    /// A list or object of JSON, with its type.
    Json(Json<'a>),
    List(Rc<[Self]>),
    Map(Rc<[(Self, Self)]>),
    Optional(Option<Rc<Self>>),
}

/// A list or object of JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Json<'a> {
    pub(super) value: &'a Value,
    pub(super) node: Option<&'a Node>,
}

impl<'a> Val<'a> {
    /// A value of JSON as its type has it.
    pub(super) fn lift(value: &'a Value, node: Option<&'a Node>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => {
                let is_double = node.is_some_and(|node| node.of == Some(Type::Number));
                match number.as_i64().filter(|_| !is_double) {
                    Some(whole) => Self::Int(whole),
                    None => {
                        let float = number.as_f64().unwrap_or_default();
                        let is_whole = node.is_some_and(|node| node.of == Some(Type::Integer));
                        if is_whole {
                            Self::Int(float as i64)
                        } else {
                            Self::Double(float)
                        }
                    }
                }
            }
            Value::String(text) => match node {
                Some(node) if !is_plain_text(node) => special(text, node),
                _ => Self::Text(text),
            },
            Value::Array(_) | Value::Object(_) => Self::Json(Json { value, node }),
        }
    }

    pub(super) fn constant(constant: &'a Constant) -> Self {
        match constant {
            Constant::Null => Self::Null,
            Constant::Bool(truth) => Self::Bool(*truth),
            Constant::Int(int) => Self::Int(*int),
            Constant::Uint(uint) => Self::Uint(*uint),
            Constant::Double(double) => Self::Double(*double),
            Constant::Text(text) => Self::Text(text),
            Constant::Bytes(bytes) => Self::Bytes(bytes.as_ref().into()),
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Made(text) => Some(text),
            _ => None,
        }
    }

    /// The number of elements or entries; none if it has none.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::List(list) => Some(list.len()),
            Self::Map(map) => Some(map.len()),
            Self::Json(json) => match json.value {
                Value::Array(list) => Some(list.len()),
                Value::Object(map) => Some(map.len()),
                _ => None,
            },
            _ => None,
        }
    }

    /// The elements of a list, or the keys of a map.
    pub(super) fn elements(&self) -> Option<Vec<Self>> {
        match self {
            Self::Map(map) => Some(map.iter().map(|(key, _)| key.clone()).collect()),
            Self::Json(Json {
                value: Value::Object(map),
                ..
            }) => Some(map.keys().map(|key| Self::Text(key)).collect()),
            _ => self.list(),
        }
    }

    /// The elements of a list.
    pub(super) fn list(&self) -> Option<Vec<Self>> {
        match self {
            Self::List(list) => Some(list.to_vec()),
            Self::Json(Json {
                value: Value::Array(list),
                node,
            }) => {
                let items = node.and_then(Node::items);
                Some(list.iter().map(|value| Self::lift(value, items)).collect())
            }
            _ => None,
        }
    }

    /// The element at a place.
    pub(super) fn at(&self, index: usize) -> Option<Self> {
        match self {
            Self::List(list) => list.get(index).cloned(),
            Self::Json(Json {
                value: Value::Array(list),
                node,
            }) => {
                let items = node.and_then(Node::items);
                list.get(index).map(|value| Self::lift(value, items))
            }
            _ => None,
        }
    }

    /// The field or entry of a name.
    pub(super) fn field(&self, name: &str) -> Option<Self> {
        match self {
            Self::Json(Json {
                value: Value::Object(map),
                node,
            }) => {
                let below = node.and_then(|node| node.field(name));
                map.get(name).map(|value| Self::lift(value, below))
            }
            Self::Map(map) => {
                let mut entries = map.iter();
                let entry = entries.find(|(key, _)| key.as_text() == Some(name));
                entry.map(|(_, value)| value.clone())
            }
            _ => None,
        }
    }

    /// How long it takes to read all of it.
    pub(super) fn weight(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64 / 10 + 1,
            Self::Made(text) => text.len() as u64 / 10 + 1,
            Self::Bytes(bytes) => bytes.len() as u64 / 10 + 1,
            Self::Url(url) => url.text().len() as u64 / 10 + 1,
            Self::Json(json) => weight(json.value),
            Self::List(list) => list.iter().map(Self::weight).sum::<u64>() + 1,
            Self::Map(map) => map.iter().map(|(_, value)| value.weight() + 1).sum::<u64>() + 1,
            _ => 1,
        }
    }

    /// Equal, as CEL has it: numbers of different types are, if their values are.
    pub(super) fn equals(&self, other: &Self) -> bool {
        if let (Some(left), Some(right)) = (self.as_text(), other.as_text()) {
            return left == right;
        }
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Bytes(left), Self::Bytes(right)) => left == right,
            (Self::Time(left), Self::Time(right)) => left == right,
            (Self::Span(left), Self::Span(right)) => left == right,
            (Self::Quantity(left), Self::Quantity(right)) => left.compare(*right).is_eq(),
            (Self::Url(left), Self::Url(right)) => left.text() == right.text(),
            (Self::Ip(left), Self::Ip(right)) => left == right,
            (Self::Cidr(left), Self::Cidr(right)) => left == right,
            (Self::Optional(left), Self::Optional(right)) => match (left, right) {
                (Some(left), Some(right)) => left.equals(right),
                (None, None) => true,
                _ => false,
            },
            (Self::Json(left), Self::Json(right))
                if left.is_unordered() && right.is_unordered() =>
            {
                left.sorted() == right.sorted()
            }
            _ => match (self.list(), other.list()) {
                (Some(left), Some(right)) => {
                    left.len() == right.len()
                        && left
                            .iter()
                            .zip(&right)
                            .all(|(left, right)| left.equals(right))
                }
                (None, None) => self
                    .same_map(other)
                    .unwrap_or_else(|| self.order(other) == Some(Ordering::Equal)),
                _ => false,
            },
        }
    }

    fn same_map(&self, other: &Self) -> Option<bool> {
        let [left, right] = [self.len()?, other.len()?];
        let keys = self.elements()?;
        let same = |key: &Self| {
            let name = key.as_text()?;
            Some(self.field(name)?.equals(&other.field(name)?))
        };
        Some(left == right && keys.iter().all(|key| same(key).unwrap_or(false)))
    }

    /// The order of two values; none if there is none.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        if let (Some(left), Some(right)) = (self.as_text(), other.as_text()) {
            return Some(left.cmp(right));
        }
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => Some(left.cmp(right)),
            (Self::Bytes(left), Self::Bytes(right)) => Some(left.cmp(right)),
            (Self::Time(left), Self::Time(right)) => Some(left.cmp(right)),
            (Self::Span(left), Self::Span(right)) => Some(left.cmp(right)),
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Uint(left), Self::Uint(right)) => Some(left.cmp(right)),
            (Self::Int(left), Self::Uint(right)) => {
                Some(i128::from(*left).cmp(&i128::from(*right)))
            }
            (Self::Uint(left), Self::Int(right)) => {
                Some(i128::from(*left).cmp(&i128::from(*right)))
            }
            _ => self.as_double()?.partial_cmp(&other.as_double()?),
        }
    }

    fn as_double(&self) -> Option<f64> {
        match self {
            Self::Double(double) => Some(*double),
            Self::Int(int) => Some(*int as f64),
            Self::Uint(uint) => Some(*uint as f64),
            _ => None,
        }
    }

    /// The name of the type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) | Self::Made(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Time(_) => "google.protobuf.Timestamp",
            Self::Span(_) => "google.protobuf.Duration",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Json(json) if json.value.is_array() => "list",
            Self::Json(_) => "map",
            Self::Optional(_) => "optional_type",
        }
    }
}

impl Json<'_> {
    /// Whether it is a list whose order says nothing.
    fn is_unordered(&self) -> bool {
        let list = self.node.map_or(ListType::Atomic, Node::list_type);
        list != ListType::Atomic && self.value.is_array()
    }

    fn sorted(&self) -> Vec<String> {
        let list = self.value.as_array().into_iter().flatten();
        let mut texts: Vec<String> = list.map(Value::to_string).collect();
        texts.sort_unstable();
        texts
    }
}

/// Text that is something else to an expression.
fn special<'a>(text: &'a str, node: &Node) -> Val<'a> {
    let found = match node.format() {
        Some("byte") => Base64::decode_vec(text)
            .ok()
            .map(|bytes| Val::Bytes(bytes.into())),
        Some("date") => moment(&format!("{text}T00:00:00Z")).map(Val::Time),
        Some("date-time" | "datetime") => moment(text).map(Val::Time),
        Some("duration") => duration(text).map(Val::Span),
        _ => None,
    };
    found.unwrap_or(Val::Text(text))
}

/// A moment in nanoseconds since 1970.
pub(super) fn moment(text: &str) -> Option<i128> {
    let moment: jiff::Timestamp = text.parse().ok()?;
    Some(moment.as_nanosecond())
}

fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 / 10 + 1,
        Value::Array(list) => list.iter().map(weight).sum::<u64>() + 1,
        Value::Object(map) => map.values().map(|value| weight(value) + 1).sum::<u64>() + 1,
        _ => 1,
    }
}
