//! The types of the built-in kinds: their fields, to check values against, and their published schemas.
//!
//! The table behind this module is made when the server is built and lies in the program's read-only data, so a type
//! costs no memory until somebody asks for it. Reading an object goes in steps, each of which can be used alone:
//!
//! ```text
//!   bytes ──► parse (depth, duplicate fields) ──► decode (types, unknown fields) ──► default ──► validate
//! ```

pub mod decode;
pub mod parse;
pub mod path;
pub mod pattern;
pub mod quantity;
pub mod time;

pub use decode::{DecodeError, decode};
pub use parse::{Parsed, SyntaxError, parse};

use crate::resources::merge_keys::{self, Ownership, Rule};

/// The release of Kubernetes whose types these are.
pub const KUBERNETES_VERSION: &str = "v1.37.0";

/// A named type, as `io.k8s.api.core.v1.Pod`.
#[derive(Debug)]
pub struct Definition {
    name: &'static str,
    fields: Option<&'static [Field]>,
    atomic: bool,
    json: &'static str,
}

/// A field of a type.
#[derive(Debug)]
pub struct Field {
    /// As it is written in JSON.
    pub name: &'static str,
    /// What it holds.
    pub of: Type,
    /// What of it has an owner of its own.
    pub ownership: Ownership,
    /// Whether it counts as there even where it is not written, since Go writes it into an empty object.
    pub implied: bool,
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub enum Type {
    /// Text.
    String,
    /// Bytes, as base64.
    Bytes,
    /// A moment, to the second.
    Time,
    /// A moment, to the microsecond.
    MicroTime,
    /// True or false.
    Boolean,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A number.
    Number,
    /// A whole number of 32 bits, or text.
    IntOrString,
    /// An amount with a unit.
    Quantity,
    /// Anything.
    Any,
    /// A list.
    List(&'static Type),
    /// A map from text.
    Map(&'static Type),
    /// The named type at this place of the table.
    Object(u16),
    /// The named type at this place of the table, a list of its values, or a plain value: what schemas have inside.
    ObjectOr(u16),
}

impl Definition {
    /// The type of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        let place = DEFINITIONS.binary_search_by(|definition| definition.name.cmp(name));
        DEFINITIONS.get(place.ok()?)
    }

    /// Every type, by name.
    pub fn all() -> &'static [Self] {
        DEFINITIONS
    }

    /// The name in the published schemas.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The last part of the name.
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    /// The fields, by name. Empty for types that are written as a plain value.
    pub fn fields(&self) -> &'static [Field] {
        self.fields.unwrap_or_default()
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        let fields = self.fields();
        let place = fields.binary_search_by(|field| field.name.cmp(name));
        fields.get(place.ok()?)
    }

    /// Whether objects of this type are owned as a whole.
    pub fn is_atomic(&self) -> bool {
        self.atomic
    }

    /// How a field merges, if something special holds.
    pub fn merge_rule(&self, field: &str) -> Option<&'static Rule> {
        merge_keys::find(self.name, field)
    }

    /// The published schema as the text of a JSON object, for OpenAPI 3.0.
    pub fn json(&self) -> &'static str {
        self.json
    }

    /// The types that the published schema refers to.
    pub fn references(&self) -> impl Iterator<Item = &'static Self> {
        let mentions = self.json.split(REFERENCE).skip(1);
        mentions.filter_map(|rest| Self::find(rest.split('"').next()?))
    }
}

/// What a reference to another type begins with in [`Definition::json`].
pub const REFERENCE: &str = "\"$ref\":\"#/components/schemas/";

impl Type {
    /// The named type, if it is one.
    pub fn definition(self) -> Option<&'static Definition> {
        match self {
            Self::Object(place) | Self::ObjectOr(place) => DEFINITIONS.get(usize::from(place)),
            _ => None,
        }
    }

    /// What the list or map holds, or the type itself.
    pub fn element(self) -> Self {
        match self {
            Self::List(of) | Self::Map(of) => *of,
            other => other,
        }
    }
}

include!(concat!(env!("OUT_DIR"), "/definitions.rs"));
