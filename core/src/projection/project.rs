//! From a JSON object to the packed fields.

use core::error::Error;
use core::fmt;

use postcard::ser_flavors::Size;
use serde::ser::{Serialize, SerializeTuple, Serializer};

use super::parse::{Field, FieldType, MAX_FIELDS, Projection};
use super::read::Issues;
use crate::json::{Limits, Path, ScanError, Text, Value, scan};

/// Packed fields and what went wrong with single ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Projected<'a> {
    /// The bytes to send.
    pub bytes: &'a [u8],
    /// The issues, which are also in the bytes.
    pub issues: Issues,
}

impl<T: AsRef<str>, Q: AsRef<[Field]>> Projection<T, Q> {
    /// Cuts the fields out of `object` and packs them into the front of `out`.
    ///
    /// The object is read once; the layout is in the [module's documentation](super).
    ///
    /// # Errors
    ///
    /// [`ProjectError::Scan`] if the object is not valid JSON or has a wanted field twice,
    /// [`ProjectError::BufferTooSmall`] if `out` cannot hold the fields.
    pub fn project<'o>(
        &self,
        object: &[u8],
        limits: &Limits,
        out: &'o mut [u8],
    ) -> Result<Projected<'o>, ProjectError> {
        // The paths were parsed before, so that every field has one.
        let mut paths = heapless::Vec::<Path<'_>, MAX_FIELDS>::new();
        paths.extend(
            self.fields()
                .map_while(|(path, _)| Path::parse(path).ok())
                .take(MAX_FIELDS),
        );
        let mut found = [None; MAX_FIELDS];
        scan(object, limits, &paths, &mut found).map_err(ProjectError::Scan)?;

        let mut row = Row {
            cells: heapless::Vec::new(),
            issues: Issues::default(),
        };
        for (index, ((_, kind), value)) in self.fields().zip(found).enumerate() {
            let cell = value
                .filter(|value| !value.is_null())
                .map_or(Ok(Cell::None), |value| cell(kind, value));
            let cell = cell.unwrap_or_else(|issue| {
                row.issues.note(index, issue);
                Cell::None
            });
            // As many places as `found` has, so none is ever refused.
            let _ = row.cells.push(cell);
        }
        match postcard::to_slice(&row, out) {
            Ok(bytes) => Ok(Projected {
                bytes,
                issues: row.issues,
            }),
            Err(_) => {
                let needed = postcard::serialize_with_flavor(&row, Size::default());
                Err(ProjectError::BufferTooSmall {
                    needed: needed.unwrap_or(usize::MAX),
                })
            }
        }
    }
}

/// Why an object could not be projected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ProjectError {
    /// The object was refused.
    Scan(ScanError),
    /// The buffer cannot hold the fields.
    BufferTooSmall {
        /// Bytes that would have been enough.
        needed: usize,
    },
}

impl fmt::Display for ProjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scan(error) => error.fmt(f),
            Self::BufferTooSmall { needed } => write!(f, "the fields need {needed} bytes"),
        }
    }
}

impl Error for ProjectError {}

/// What can be wrong with one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Issue {
    Mismatched,
    TooLong,
}

/// A value ready to be packed.
enum Cell<'a> {
    None,
    Bool(bool),
    I32(i32),
    I64(i64),
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
    Str(&'a str),
    /// A text with escapes, decoded while it is written.
    Escaped(Text<'a>),
}

fn cell(kind: FieldType, value: Value<'_>) -> Result<Cell<'_>, Issue> {
    let matched = match kind {
        FieldType::Bool => value.as_bool().map(Cell::Bool),
        FieldType::I32 => value
            .as_i64()
            .and_then(|n| n.try_into().ok())
            .map(Cell::I32),
        FieldType::I64 => value.as_i64().map(Cell::I64),
        FieldType::U32 => value
            .as_u64()
            .and_then(|n| n.try_into().ok())
            .map(Cell::U32),
        FieldType::U64 => value.as_u64().map(Cell::U64),
        FieldType::F32 => value.as_f32().map(Cell::F32),
        FieldType::F64 => value.as_f64().map(Cell::F64),
        FieldType::Text { max } => match value.as_text() {
            Some(text) if text.len() > max.into() => return Err(Issue::TooLong),
            Some(text) => Some(text.plain().map_or(Cell::Escaped(text), Cell::Str)),
            None => None,
        },
        FieldType::Json { max } if value.raw().len() > max.into() => return Err(Issue::TooLong),
        FieldType::Json { .. } => Some(Cell::Str(value.raw())),
    };
    matched.ok_or(Issue::Mismatched)
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_some(value),
            Self::I32(value) => serializer.serialize_some(value),
            Self::I64(value) => serializer.serialize_some(value),
            Self::U32(value) => serializer.serialize_some(value),
            Self::U64(value) => serializer.serialize_some(value),
            Self::F32(value) => serializer.serialize_some(value),
            Self::F64(value) => serializer.serialize_some(value),
            Self::Str(value) => serializer.serialize_some(value),
            Self::Escaped(value) => serializer.serialize_some(&Decoded(*value)),
        }
    }
}

/// A text that is serialized by printing it, which needs no buffer.
struct Decoded<'a>(Text<'a>);

impl Serialize for Decoded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// All fields and the trailer. Postcard writes a tuple's members one after the other, just as those
/// of a struct.
struct Row<'a> {
    cells: heapless::Vec<Cell<'a>, MAX_FIELDS>,
    issues: Issues,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(self.cells.len() + 1)?;
        for cell in &self.cells {
            tuple.serialize_element(cell)?;
        }
        tuple.serialize_element(&self.issues)?;
        tuple.end()
    }
}
