//! From a message to JSON, by the schema.
//!
//! As in Go, a field that comes twice has its last value, and a message that comes twice is merged. Fields that the schema does
//! not know are skipped.

use base64ct::{Base64, Encoding};
use serde_json::{Map, Value};

use super::envelope::{Envelope, is_envelope};
use super::finish::finish;
use super::wire::{Raw, Reader};
use super::{DecodeError, MAX_OBJECTS};
use crate::codec::schema::{self, Else, Field, Form, Message, Shape};
use crate::schema::time::{self, Timestamp};

/// How many envelopes may lie inside each other: an object inside a watch event, and a few more.
const MAX_ENVELOPES: usize = 4;

/// How many messages may lie inside each other: as deep as JSON may be. Only the types of schemas hold themselves.
const MAX_DEPTH: usize = 128;

/// The JSON object of a message of this kind.
pub(super) fn object(api_version: &str, kind: &str, raw: &[u8]) -> Result<Value, DecodeError> {
    let mut decoder = Decoder {
        objects: 0,
        envelopes: 0,
        depth: 0,
    };
    decoder.object(api_version, kind, raw)
}

struct Decoder {
    objects: usize,
    envelopes: usize,
    depth: usize,
}

impl Decoder {
    fn object(&mut self, api_version: &str, kind: &str, raw: &[u8]) -> Result<Value, DecodeError> {
        let message = schema::kind(api_version, kind).ok_or_else(|| DecodeError::UnknownKind {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        })?;
        let mut object = Map::new();
        self.message(message, raw, &mut object)?;
        object.insert("apiVersion".to_owned(), api_version.into());
        object.insert("kind".to_owned(), kind.into());
        Ok(Value::Object(object))
    }

    fn message(
        &mut self,
        message: &Message,
        bytes: &[u8],
        out: &mut Map<String, Value>,
    ) -> Result<(), DecodeError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(DecodeError::TooDeep);
        }
        self.fields(message, bytes, out)?;
        self.depth -= 1;
        // What is in the JSON although it is not in the message counts too.
        self.count(finish(message, out))
    }

    fn fields(
        &mut self,
        message: &Message,
        bytes: &[u8],
        out: &mut Map<String, Value>,
    ) -> Result<(), DecodeError> {
        self.count(1)?;
        let mut reader = Reader::new(bytes);
        while let Some((number, raw)) = reader.field()? {
            let Some(field) = message.numbered(number) else {
                continue;
            };
            match (field.is_inline(), field.message(), raw) {
                (true, Some(inlined), Raw::Bytes(bytes)) => self.fields(inlined, bytes, out)?,
                (true, ..) => return Err(DecodeError::BadField { number }),
                (false, ..) => self.field(field, raw, out)?,
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &Field,
        raw: Raw<'_>,
        out: &mut Map<String, Value>,
    ) -> Result<(), DecodeError> {
        match field.shape {
            Shape::One | Shape::Optional => {
                let before = out.remove(field.name);
                let value = self.value(field, raw, before)?;
                out.insert(field.name.to_owned(), value);
            }
            Shape::List => {
                let list = out
                    .entry(field.name)
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(items) = list {
                    self.elements(field, raw, items)?;
                }
            }
            Shape::Map => {
                let (key, value) = self.entry(field, raw)?;
                let map = out
                    .entry(field.name)
                    .or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(map) = map {
                    map.insert(key, value);
                }
            }
        }
        Ok(())
    }

    fn elements(
        &mut self,
        field: &Field,
        raw: Raw<'_>,
        items: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        if let (Form::Int32 | Form::Int64, Raw::Bytes(packed)) = (field.form, raw) {
            let mut reader = Reader::new(packed);
            while let Some(number) = reader.packed()? {
                items.push(self.value(field, Raw::Number(number), None)?);
            }
            return Ok(());
        }
        items.push(self.value(field, raw, None)?);
        Ok(())
    }

    fn entry(&mut self, field: &Field, raw: Raw<'_>) -> Result<(String, Value), DecodeError> {
        let number = field.number;
        let Raw::Bytes(bytes) = raw else {
            return Err(DecodeError::BadField { number });
        };
        let mut key = String::new();
        let mut value = None;
        let mut reader = Reader::new(bytes);
        while let Some((part, raw)) = reader.field()? {
            match (part, raw) {
                (1, Raw::Bytes(bytes)) => key = text(bytes),
                (1, _) => return Err(DecodeError::BadField { number }),
                (2, raw) => value = Some(self.value(field, raw, None)?),
                _ => {}
            }
        }
        let value = match value {
            Some(value) => value,
            // Bytes that are not there are no bytes, which is null in Go; everything else has a zero value.
            None => match field.form {
                Form::Bytes => Value::Null,
                _ => self.value(field, Raw::Bytes(&[]), None)?,
            },
        };
        Ok((key, value))
    }

    /// One value; `before` is what the field held until now.
    fn value(
        &mut self,
        field: &Field,
        raw: Raw<'_>,
        before: Option<Value>,
    ) -> Result<Value, DecodeError> {
        let wrong = || DecodeError::BadField {
            number: field.number,
        };
        match (field.form, raw) {
            (Form::Bool, Raw::Number(value)) => Ok((value != 0).into()),
            // As in Go, a number that is too large loses its upper half.
            (Form::Int32, Raw::Number(value)) => Ok((value as i32).into()),
            (Form::Int64, Raw::Number(value)) => Ok(value.cast_signed().into()),
            (Form::Double, Raw::Fixed(bits)) => number(f64::from_bits(bits)).ok_or_else(wrong),
            (Form::Text, Raw::Bytes(bytes)) => Ok(text(bytes).into()),
            (Form::Bytes, Raw::Bytes(bytes)) => Ok(Base64::encode_string(bytes).into()),
            (Form::Time, Raw::Bytes(bytes)) => time(bytes, |time| time::format(time.seconds)),
            (Form::MicroTime, Raw::Bytes(bytes)) => time(bytes, time::format_micros),
            (Form::Quantity, Raw::Bytes(bytes)) => quantity(bytes),
            (Form::IntOrString, Raw::Bytes(bytes)) => int_or_string(bytes),
            (Form::Raw, Raw::Bytes(bytes)) => self.embedded(bytes),
            (Form::Strings, Raw::Bytes(bytes)) => strings(bytes),
            (Form::Message(_), Raw::Bytes(bytes)) => {
                let message = field.message().ok_or_else(wrong)?;
                let mut object = match before {
                    Some(Value::Object(object)) => object,
                    _ => Map::new(),
                };
                self.message(message, bytes, &mut object)?;
                Ok(Value::Object(object))
            }
            (Form::Either(_, other), Raw::Bytes(bytes)) => {
                let message = field.either().ok_or_else(wrong)?;
                self.either(message, other, bytes)
            }
            _ => Err(wrong()),
        }
    }

    /// A value of one type, or something else in its place.
    fn either(
        &mut self,
        message: &Message,
        other: Else,
        bytes: &[u8],
    ) -> Result<Value, DecodeError> {
        // Which of them is which by its number.
        let [one, rest] = match other {
            Else::List | Else::Strings => [1, 2],
            Else::Bool => [2, 1],
        };
        let (mut typed, mut items, mut allowed) = (None, Vec::new(), false);
        let mut reader = Reader::new(bytes);
        while let Some((number, raw)) = reader.field()? {
            match (number, raw, other) {
                (number, Raw::Bytes(bytes), _) if number == one => {
                    let mut object = typed.take().unwrap_or_default();
                    self.message(message, bytes, &mut object)?;
                    typed = Some(object);
                }
                (number, Raw::Bytes(bytes), Else::List) if number == rest => {
                    let mut object = Map::new();
                    self.message(message, bytes, &mut object)?;
                    items.push(Value::Object(object));
                }
                (number, Raw::Bytes(bytes), Else::Strings) if number == rest => {
                    items.push(text(bytes).into());
                }
                (number, Raw::Number(value), Else::Bool) if number == rest => allowed = value != 0,
                (number @ 1..=2, ..) => return Err(DecodeError::BadField { number }),
                _ => {}
            }
        }
        Ok(match (typed, other) {
            (_, Else::List | Else::Strings) if !items.is_empty() => Value::Array(items),
            (Some(object), _) => Value::Object(object),
            (None, Else::Bool) => allowed.into(),
            (None, Else::List | Else::Strings) => Value::Null,
        })
    }

    /// Any JSON, or an object in its envelope.
    fn embedded(&mut self, bytes: &[u8]) -> Result<Value, DecodeError> {
        let Some(raw) = last_bytes(bytes, 1)? else {
            return Ok(Value::Null);
        };
        if !is_envelope(raw) {
            return serde_json::from_slice(raw).map_err(|_| DecodeError::BadJson);
        }
        self.envelopes += 1;
        if self.envelopes > MAX_ENVELOPES {
            return Err(DecodeError::TooDeep);
        }
        let envelope = Envelope::parse(raw)?;
        self.object(envelope.api_version, envelope.kind, envelope.raw)
    }

    fn count(&mut self, objects: usize) -> Result<(), DecodeError> {
        self.objects += objects;
        if self.objects > MAX_OBJECTS {
            return Err(DecodeError::TooManyObjects);
        }
        Ok(())
    }
}

/// A number as JSON writes it: whole ones without a fraction. What is no number has no form.
fn number(value: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        return Some((value as i64).into());
    }
    serde_json::Number::from_f64(value).map(Value::Number)
}

/// As JSON in Go, text that is not UTF-8 is mended.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn last_bytes(message: &[u8], wanted: u32) -> Result<Option<&[u8]>, DecodeError> {
    let mut last = None;
    let mut reader = Reader::new(message);
    while let Some((number, raw)) = reader.field()? {
        match raw {
            Raw::Bytes(bytes) if number == wanted => last = Some(bytes),
            _ if number == wanted => return Err(DecodeError::BadField { number }),
            _ => {}
        }
    }
    Ok(last)
}

/// A time as text; "no time" is null.
fn time(bytes: &[u8], format: impl Fn(Timestamp) -> Option<String>) -> Result<Value, DecodeError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(bytes);
    while let Some((number, raw)) = reader.field()? {
        match (number, raw) {
            (1, Raw::Number(value)) => seconds = value.cast_signed(),
            (2, Raw::Number(value)) => nanos = value,
            (1..=2, _) => return Err(DecodeError::BadField { number }),
            _ => {}
        }
    }
    let nanos = u32::try_from(nanos)
        .ok()
        .filter(|nanos| *nanos < 1_000_000_000)
        .ok_or(DecodeError::BadTime)?;
    if seconds == time::NO_TIME {
        return Ok(Value::Null);
    }
    format(Timestamp { seconds, nanos })
        .map(Value::String)
        .ok_or(DecodeError::BadTime)
}

fn quantity(bytes: &[u8]) -> Result<Value, DecodeError> {
    Ok(match last_bytes(bytes, 1)? {
        Some(quantity) if !quantity.is_empty() => text(quantity).into(),
        _ => "0".into(),
    })
}

fn int_or_string(bytes: &[u8]) -> Result<Value, DecodeError> {
    let (mut is_text, mut number, mut string) = (false, 0, String::new());
    let mut reader = Reader::new(bytes);
    while let Some((part, raw)) = reader.field()? {
        match (part, raw) {
            (1, Raw::Number(kind)) => is_text = kind == 1,
            (2, Raw::Number(value)) => number = value as i32,
            (3, Raw::Bytes(bytes)) => string = text(bytes),
            (1..=3, _) => return Err(DecodeError::BadField { number: part }),
            _ => {}
        }
    }
    Ok(if is_text {
        string.into()
    } else {
        number.into()
    })
}

fn strings(bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut items = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some((number, raw)) = reader.field()? {
        match (number, raw) {
            (1, Raw::Bytes(bytes)) => items.push(text(bytes).into()),
            (1, _) => return Err(DecodeError::BadField { number }),
            _ => {}
        }
    }
    Ok(Value::Array(items))
}
