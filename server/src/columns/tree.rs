//! An object's JSON as a tree that borrows from it.
//!
//! Only what a printer needs is built, each text stays where it is unless it has escapes, and
//! `metadata` is kept as it is written besides, because tables hand it on. Asking is lenient: what is
//! missing or of another type reads as empty, zero or false, as it does in a kube-apiserver.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_json::value::RawValue;

use super::{Needs, Printer};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree<'a> {
    /// `null`, and whatever is missing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Tree<'a>>),
    /// An object, in the order of its text.
    Object(Vec<(Cow<'a, str>, Tree<'a>)>),
}

static NULL: Tree<'static> = Tree::Null;

impl<'a> Tree<'a> {
    /// The member with this key; `Null` if there is none. Of two, the last counts.
    #[must_use]
    pub fn get(&self, key: &str) -> &Self {
        let mut members = self.entries().iter().rev();
        members
            .find(|(held, _)| held == key)
            .map_or(&NULL, |(_, value)| value)
    }

    /// The value under one key after the other.
    #[must_use]
    pub fn at(&self, keys: &[&str]) -> &Self {
        keys.iter().fold(self, |tree, key| tree.get(key))
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The text; empty if it is something else.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// The text, or `otherwise` if it is empty or something else.
    #[must_use]
    pub fn text_or<'b>(&'b self, otherwise: &'b str) -> &'b str {
        match self.text() {
            "" => otherwise,
            text => text,
        }
    }

    /// The whole number; 0 if it is something else.
    #[must_use]
    pub fn integer(&self) -> i64 {
        self.integer_or(0)
    }

    /// The whole number, or `otherwise` if it is something else.
    #[must_use]
    pub fn integer_or(&self, otherwise: i64) -> i64 {
        match self {
            Self::Number(number) => number.as_i64().unwrap_or(otherwise),
            _ => otherwise,
        }
    }

    /// Whether it is `true`.
    #[must_use]
    pub fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    /// The elements; none if it is no array.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }

    /// The members; none if it is no object.
    #[must_use]
    pub fn entries(&self) -> &[(Cow<'a, str>, Self)] {
        match self {
            Self::Object(entries) => entries,
            _ => &[],
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Tree<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Build::default())
    }
}

/// Builds a tree, and can leave out what is large and of no use.
#[derive(Clone, Copy, Default)]
struct Build {
    /// The member of the outermost object to leave out; none if empty.
    skip: &'static str,
    /// Whether the values in the outermost object read as null.
    keys_only: bool,
}

impl<'de> DeserializeSeed<'de> for Build {
    type Value = Tree<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build {
    type Value = Tree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree<'de>, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree<'de>, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree<'de>, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree<'de>, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree<'de>, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Owned(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Tree<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Tree::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Tree<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(Name(key)) = from.next_key()? {
            if self.keys_only {
                from.next_value::<IgnoredAny>()?;
                entries.push((key, Tree::Null));
            } else if !self.skip.is_empty() && key == self.skip {
                from.next_value::<IgnoredAny>()?;
            } else {
                entries.push((key, from.next_value()?));
            }
        }
        Ok(Tree::Object(entries))
    }
}

/// A key, borrowed where it can be.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// What is read of one object.
#[derive(Debug, Clone)]
pub struct Object<'a> {
    metadata: Tree<'a>,
    /// `metadata` as it is written; `{}` if the object has none.
    raw_metadata: &'a str,
    root: Tree<'a>,
}

impl<'a> Object<'a> {
    /// Reads what `printer` needs of the object in `bytes`.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] if the bytes are not a JSON object.
    pub fn read(bytes: &'a [u8], printer: &Printer) -> Result<Self, Unreadable> {
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let parts = ReadParts(printer.needs()).deserialize(&mut reader);
        let (raw_metadata, root) = parts.and_then(|parts| reader.end().map(|()| parts))?;
        let raw_metadata = raw_metadata.map_or("{}", RawValue::get);
        let raw_metadata = if raw_metadata.starts_with('{') {
            raw_metadata
        } else {
            "{}"
        };
        let mut reader = serde_json::Deserializer::from_str(raw_metadata);
        Ok(Self {
            // Managed fields are never printed and often larger than the rest.
            metadata: Build {
                skip: "managedFields",
                ..Build::default()
            }
            .deserialize(&mut reader)?,
            raw_metadata,
            root,
        })
    }

    /// The metadata, without managed fields.
    #[must_use]
    pub fn metadata(&self) -> &Tree<'a> {
        &self.metadata
    }

    /// The metadata as it is written.
    #[must_use]
    pub fn raw_metadata(&self) -> &'a str {
        self.raw_metadata
    }

    /// The object's members without its metadata, as far as they were read.
    #[must_use]
    pub fn root(&self) -> &Tree<'a> {
        &self.root
    }

    /// The object's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata.get("name").text()
    }

    /// Its `spec`.
    pub(super) fn spec(&self) -> &Tree<'a> {
        self.root.get("spec")
    }

    /// Its `status`.
    pub(super) fn status(&self) -> &Tree<'a> {
        self.root.get("status")
    }

    /// Whether its deletion has begun.
    pub(super) fn is_going(&self) -> bool {
        !self.metadata.get("deletionTimestamp").is_null()
    }
}

/// Reads an object into its raw metadata and a tree of the rest.
struct ReadParts(Needs);

type Parts<'a> = (Option<&'a RawValue>, Tree<'a>);

impl<'de> DeserializeSeed<'de> for ReadParts {
    type Value = Parts<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parts<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ReadParts {
    type Value = Parts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Parts<'de>, A::Error> {
        let mut metadata = None;
        let mut members = Vec::new();
        while let Some(Name(key)) = from.next_key()? {
            let named = |names: &[&str]| names.iter().any(|name| key == *name);
            if key == "metadata" {
                metadata = Some(from.next_value()?);
                continue;
            }
            let value = match self.0 {
                Needs::All => from.next_value()?,
                Needs::Members(names) if named(names) => from.next_value()?,
                Needs::Keys(names) if named(names) => from.next_value_seed(Build {
                    keys_only: true,
                    ..Build::default()
                })?,
                Needs::Members(_) | Needs::Keys(_) => {
                    from.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            members.push((key, value));
        }
        Ok((metadata, Tree::Object(members)))
    }
}

/// Bytes that are no JSON object, or nested too deep. The text says where.
#[derive(Debug)]
pub struct Unreadable(serde_json::Error);

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        Self(error)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the object cannot be read: {}", self.0)
    }
}

impl Error for Unreadable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}
