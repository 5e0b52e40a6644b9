//! From bytes to a JSON value, with the fields that were written twice.
//!
//! A value cannot tell any more that a field was there twice, so it is noticed here. As in Go, the last one counts.

use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::de::{Deserializer, SliceRead};
use serde_json::{Map, Number, Value};

use super::path::FieldPath;

/// A JSON value as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The value.
    pub value: Value,
    /// Where a field was written again, as `spec.replicas`; at most [`MAX_REMARKS`] of them.
    pub duplicates: Vec<String>,
}

/// Of how many duplicate or unknown fields we tell at most.
pub const MAX_REMARKS: usize = 100;

/// The bytes are not one JSON value, or one that is nested too deeply.
#[derive(Debug)]
pub struct SyntaxError(serde_json::Error);

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for SyntaxError {}

/// Reads one JSON value. Bytes that are no UTF-8 count as U+FFFD, as upstream has it; nesting is limited to 128.
pub fn parse(bytes: &[u8]) -> Result<Parsed, SyntaxError> {
    match std::str::from_utf8(bytes) {
        Ok(_) => parse_utf8(bytes),
        Err(_) => parse_utf8(String::from_utf8_lossy(bytes).as_bytes()),
    }
}

fn parse_utf8(bytes: &[u8]) -> Result<Parsed, SyntaxError> {
    let mut reader: Deserializer<SliceRead<'_>> = Deserializer::from_slice(bytes);
    let mut duplicates = Vec::new();
    let seed = Seed {
        path: &FieldPath::Root,
        duplicates: &mut duplicates,
    };
    let value = seed.deserialize(&mut reader).map_err(SyntaxError)?;
    reader.end().map_err(SyntaxError)?;
    Ok(Parsed { value, duplicates })
}

struct Seed<'a> {
    path: &'a FieldPath<'a>,
    duplicates: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("number out of range"))?;
        Ok(number.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        loop {
            let seed = Seed {
                path: &self.path.index(values.len()),
                duplicates: self.duplicates,
            };
            match list.next_element_seed(seed)? {
                Some(value) => values.push(value),
                None => return Ok(values.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            let path = self.path.field(&key);
            let seed = Seed {
                path: &path,
                duplicates: self.duplicates,
            };
            let value = object.next_value_seed(seed)?;
            if values.contains_key(&key) && self.duplicates.len() < MAX_REMARKS {
                self.duplicates.push(path.to_string());
            }
            values.insert(key, value);
        }
        Ok(values.into())
    }
}
