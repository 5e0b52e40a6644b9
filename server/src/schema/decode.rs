//! Makes a JSON value an object of a built-in kind: checks its types, and drops what the kind does not have.
//!
//! The messages are those of Go's decoder, because tools and people look for them. What Go would normalise on the way is
//! normalised here: null is the same as absent, and amounts and moments are kept in one form.

use std::fmt;

use serde_json::{Map, Value};

use super::parse::MAX_REMARKS;
use super::path::FieldPath;
use super::quantity::{NoQuantity, canonical};
use super::time::{self, Precision};
use super::{Definition, Type};

/// A value has the wrong type. It is a 400, with [`DecodeError::message`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(String);

impl DecodeError {
    /// The text of the answer to a client that sent an object of a kind.
    pub fn message(&self, kind: &str, version: &str) -> String {
        cannot_be_handled(kind, version, self)
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DecodeError {}

/// The text of a 400 for fields that are unknown or were written twice, where the client asked to be strict.
/// None if there are none.
pub fn strict_message(kind: &str, version: &str, remarks: &[String]) -> Option<String> {
    let joined = remarks.join(", ");
    let strict = || {
        cannot_be_handled(
            kind,
            version,
            &format_args!("strict decoding error: {joined}"),
        )
    };
    (!remarks.is_empty()).then(strict)
}

/// The remarks on an object, each as it stands in a `Warning` header or in a strict error: unknown fields,
/// then duplicate ones.
pub fn remarks(unknown: &[String], duplicates: &[String]) -> Vec<String> {
    let unknown = unknown.iter().map(|path| format!("unknown field {path:?}"));
    let duplicates = duplicates
        .iter()
        .map(|path| format!("duplicate field {path:?}"));
    unknown.chain(duplicates).take(MAX_REMARKS).collect()
}

fn cannot_be_handled(kind: &str, version: &str, why: &dyn fmt::Display) -> String {
    format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}")
}

/// Checks `value` against a type, drops what the type does not have, and returns where that was, as
/// `spec.containers[0].foo`; at most [`MAX_REMARKS`] of them.
pub fn decode(value: &mut Value, definition: &Definition) -> Result<Vec<String>, DecodeError> {
    let mut decoder = Decoder {
        unknown: Vec::new(),
    };
    let root = Place {
        path: &FieldPath::Root,
        owner: definition,
    };
    match value {
        Value::Object(object) => decoder.object(object, &root)?,
        other => {
            let of = format!("v1.{}", definition.short_name());
            return Err(DecodeError(format!(
                "json: cannot unmarshal {} into Go value of type {of}",
                kind_of(other)
            )));
        }
    }
    Ok(decoder.unknown)
}

struct Decoder {
    unknown: Vec<String>,
}

/// Where a value is, and the type whose field holds it.
struct Place<'a> {
    path: &'a FieldPath<'a>,
    owner: &'a Definition,
}

impl Place<'_> {
    fn mismatch(&self, value: &Value, of: Type) -> DecodeError {
        let number = match (value, of) {
            (Value::Number(number), Type::Int32 | Type::Int64) => format!(" {number}"),
            _ => String::new(),
        };
        DecodeError(format!(
            "json: cannot unmarshal {}{number} into Go struct field {}.{} of type {}",
            kind_of(value),
            self.owner.short_name(),
            self.path.without_indexes(),
            GoType(of),
        ))
    }
}

impl Decoder {
    fn object(
        &mut self,
        object: &mut Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<(), DecodeError> {
        let Place { path, owner } = *place;
        let mut failed = None;
        object.retain(|name, value| {
            if failed.is_some() {
                return true;
            }
            let path = path.field(name);
            let Some(field) = owner.field(name) else {
                if self.unknown.len() < MAX_REMARKS {
                    self.unknown.push(path.to_string());
                }
                return false;
            };
            let place = Place { path: &path, owner };
            failed = self.value(value, field.of, &place).err();
            !value.is_null()
        });
        failed.map_or(Ok(()), Err)
    }

    fn value(&mut self, value: &mut Value, of: Type, place: &Place<'_>) -> Result<(), DecodeError> {
        let Place { path, owner } = *place;
        match (of, &mut *value) {
            (_, Value::Null)
            | (Type::Any, _)
            | (Type::String | Type::IntOrString, Value::String(_))
            | (Type::Boolean, Value::Bool(_))
            | (Type::Number, Value::Number(_)) => Ok(()),
            (Type::Int64, Value::Number(number)) if number.is_i64() => Ok(()),
            (Type::Int32 | Type::IntOrString, Value::Number(number)) if is_int32(number) => Ok(()),
            (Type::Bytes, Value::String(text)) => check_base64(text),
            (Type::Time, Value::String(text)) => {
                *value = canonical_time(text, Precision::Seconds)?;
                Ok(())
            }
            (Type::MicroTime, Value::String(text)) => {
                *value = canonical_time(text, Precision::Micros)?;
                Ok(())
            }
            (Type::Quantity, Value::String(text)) => {
                *value = canonical_quantity(text)?;
                Ok(())
            }
            (Type::Quantity, Value::Number(number)) => {
                *value = canonical_quantity(&number.to_string())?;
                Ok(())
            }
            (Type::Object(_), Value::Object(object)) => match of.definition() {
                Some(definition) => self.object(
                    object,
                    &Place {
                        path,
                        owner: definition,
                    },
                ),
                None => Ok(()),
            },
            (Type::ObjectOr(place_of), Value::Object(_)) => {
                self.value(value, Type::Object(place_of), place)
            }
            (Type::ObjectOr(place_of), Value::Array(list)) => {
                for (index, value) in list.iter_mut().enumerate() {
                    let path = path.index(index);
                    self.value(value, Type::Object(place_of), &Place { path: &path, owner })?;
                }
                Ok(())
            }
            (Type::ObjectOr(_), _) => Ok(()),
            (Type::List(element), Value::Array(list)) => {
                for (index, value) in list.iter_mut().enumerate() {
                    let path = path.index(index);
                    self.value(value, *element, &Place { path: &path, owner })?;
                    fill(value, *element);
                }
                Ok(())
            }
            (Type::Map(element), Value::Object(map)) => {
                for (key, value) in map {
                    let path = path.key(key);
                    self.value(value, *element, &Place { path: &path, owner })?;
                    fill(value, *element);
                }
                Ok(())
            }
            _ => Err(place.mismatch(value, of)),
        }
    }
}

/// In lists and maps null stands for a value like any other: the one that Go begins with.
fn fill(value: &mut Value, of: Type) {
    if !value.is_null() {
        return;
    }
    *value = match of {
        Type::String | Type::Bytes => "".into(),
        Type::Boolean => false.into(),
        Type::Int32 | Type::Int64 | Type::Number | Type::IntOrString => 0.into(),
        Type::Quantity => "0".into(),
        Type::Object(_) => Map::new().into(),
        Type::Time
        | Type::MicroTime
        | Type::Any
        | Type::List(_)
        | Type::Map(_)
        | Type::ObjectOr(_) => return,
    };
}

fn is_int32(number: &serde_json::Number) -> bool {
    number
        .as_i64()
        .is_some_and(|number| i32::try_from(number).is_ok())
}

fn check_base64(text: &str) -> Result<(), DecodeError> {
    // Go skips line ends, which YAML brings in.
    let mut length = 0;
    let mut padding = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\r' | b'\n' => continue,
            b'=' => padding += 1,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' if padding == 0 => {}
            _ => {
                return Err(DecodeError(format!(
                    "illegal base64 data at input byte {at}"
                )));
            }
        }
        length += 1;
    }
    if length % 4 != 0 || padding > 2 {
        let at = text.len();
        return Err(DecodeError(format!(
            "illegal base64 data at input byte {at}"
        )));
    }
    Ok(())
}

fn canonical_time(text: &str, precision: Precision) -> Result<Value, DecodeError> {
    let layout = match precision {
        Precision::Seconds => "2006-01-02T15:04:05Z07:00",
        Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
    };
    let moment = time::canonical(text, precision).map(Value::from);
    moment.ok_or_else(|| {
        DecodeError(format!(
            "parsing time {text:?} as {layout:?}: cannot parse it"
        ))
    })
}

fn canonical_quantity(text: &str) -> Result<Value, DecodeError> {
    let no_quantity = |NoQuantity| {
        DecodeError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                .into(),
        )
    };
    canonical(text).map(Value::from).map_err(no_quantity)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A type as Go writes it.
struct GoType(Type);

impl fmt::Display for GoType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Type::String => f.write_str("string"),
            Type::Bytes => f.write_str("[]uint8"),
            Type::Time => f.write_str("v1.Time"),
            Type::MicroTime => f.write_str("v1.MicroTime"),
            Type::Boolean => f.write_str("bool"),
            Type::Int32 => f.write_str("int32"),
            Type::Int64 => f.write_str("int64"),
            Type::Number => f.write_str("float64"),
            Type::IntOrString => f.write_str("intstr.IntOrString"),
            Type::Quantity => f.write_str("resource.Quantity"),
            Type::Any => f.write_str("runtime.RawExtension"),
            Type::List(of) => write!(f, "[]{}", Self(*of)),
            Type::Map(of) => write!(f, "map[string]{}", Self(*of)),
            Type::Object(_) | Type::ObjectOr(_) => match self.0.definition() {
                Some(definition) => write!(f, "v1.{}", definition.short_name()),
                None => f.write_str("struct"),
            },
        }
    }
}
