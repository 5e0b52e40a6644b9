//! From JSON to a message, by the schema.

use core::cmp::Reverse;

use base64ct::{Base64, Encoding};

use super::EncodeError;
use super::node::Node;
use super::wire::Writer;
use crate::codec::schema::{Else, Field, Form, Message, Shape};
use crate::schema::time;

/// The message of a JSON object.
pub(super) fn message(message: &Message, object: &Node<'_>) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder {
        out: Writer::with_capacity(1024),
    };
    encoder.fields(message, object)?;
    Ok(encoder.out.finish())
}

struct Encoder {
    out: Writer,
}

impl Encoder {
    /// Writes the fields of a message; the writer goes backwards, so the last comes first.
    fn fields(&mut self, message: &Message, object: &Node<'_>) -> Result<(), EncodeError> {
        let mut values = vec![&Node::Null; message.fields().len()];
        for (name, value) in object.fields() {
            // A field that is named twice has its last value.
            if let Some(slot) = message.place(name).and_then(|place| values.get_mut(place)) {
                *slot = value;
            }
        }
        for (field, value) in message.fields().iter().zip(values).rev() {
            if field.is_inline() {
                let mark = self.out.mark();
                if let Some(inlined) = field.message() {
                    self.fields(inlined, object)?;
                }
                self.out.close(field.number, mark);
            } else {
                self.field(field, value)?;
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, value: &Node<'_>) -> Result<(), EncodeError> {
        match (field.shape, value) {
            // A list in a message of its own is there or not, as any other list.
            (Shape::One, value) if field.form != Form::Strings => {
                self.value(field, field.number, value)
            }
            (_, Node::Null) => Ok(()),
            (Shape::One | Shape::Optional, value) => self.value(field, field.number, value),
            (Shape::List, Node::List(items)) => items
                .iter()
                .rev()
                .try_for_each(|item| self.value(field, field.number, item)),
            (Shape::List, _) => Err(mismatch(field, "a list")),
            (Shape::Map, Node::Object(entries)) => {
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_by_key(|(key, _)| Reverse(key));
                // Sorting is stable: of entries with one key, the first is now the first, and the last counts.
                let mut entries = entries.into_iter().peekable();
                while let Some((key, item)) = entries.next() {
                    if entries.peek().is_some_and(|(next, _)| next == key) {
                        continue;
                    }
                    let mark = self.out.mark();
                    self.value(field, 2, item)?;
                    self.out.bytes(1, key.as_bytes());
                    self.out.close(field.number, mark);
                }
                Ok(())
            }
            (Shape::Map, _) => Err(mismatch(field, "an object")),
        }
    }

    /// Writes one value; null is the zero value.
    fn value(&mut self, field: &Field, number: u32, value: &Node<'_>) -> Result<(), EncodeError> {
        match field.form {
            Form::Bool => match value {
                Node::Null => self.out.number(number, 0),
                Node::Bool(value) => self.out.number(number, u64::from(*value)),
                _ => return Err(mismatch(field, "true or false")),
            },
            Form::Int32 => {
                let value = i32::try_from(int(field, value)?)
                    .map_err(|_| mismatch(field, "a number of 32 bits"))?;
                self.out.number(number, i64::from(value).cast_unsigned());
            }
            Form::Int64 => self.out.number(number, int(field, value)?.cast_unsigned()),
            Form::Double => {
                let value = match value {
                    Node::Null => 0.0,
                    Node::Int(value) => *value as f64,
                    Node::Large(value) => *value as f64,
                    Node::Float(value) => *value,
                    _ => return Err(mismatch(field, "a number")),
                };
                self.out.fixed(number, value.to_bits());
            }
            Form::Text => self.out.bytes(number, text(field, value)?.as_bytes()),
            Form::Bytes => {
                if !matches!(value, Node::Null) {
                    let bytes = Base64::decode_vec(text(field, value)?)
                        .map_err(|_| mismatch(field, "base64"))?;
                    self.out.bytes(number, &bytes);
                }
            }
            form => {
                let mark = self.out.mark();
                self.special(field, form, value)?;
                self.out.close(number, mark);
            }
        }
        Ok(())
    }

    /// Writes what is inside a value that is a message.
    fn special(&mut self, field: &Field, form: Form, value: &Node<'_>) -> Result<(), EncodeError> {
        match form {
            Form::Time | Form::MicroTime => {
                if matches!(value, Node::Null) {
                    return Ok(());
                }
                let time = time::parse(text(field, value)?)
                    .ok_or_else(|| mismatch(field, "a time as RFC 3339 writes it"))?;
                if time.seconds == time::NO_TIME && time.nanos == 0 {
                    return Ok(());
                }
                let nanos = match form {
                    Form::MicroTime => time.nanos / 1000 * 1000,
                    _ => 0,
                };
                self.out.number(2, u64::from(nanos));
                self.out.number(1, time.seconds.cast_unsigned());
            }
            Form::Quantity => match value {
                Node::Null => self.out.bytes(1, b"0"),
                Node::Text(text) => self.out.bytes(1, text.as_bytes()),
                Node::Int(value) => self.out.bytes(1, value.to_string().as_bytes()),
                Node::Large(value) => self.out.bytes(1, value.to_string().as_bytes()),
                Node::Float(value) => self.out.bytes(1, value.to_string().as_bytes()),
                _ => return Err(mismatch(field, "a quantity")),
            },
            Form::IntOrString => {
                let (kind, number, text) = match value {
                    Node::Null => (0, 0, ""),
                    Node::Text(text) => (1, 0, text.as_ref()),
                    Node::Int(value) => (0, *value, ""),
                    _ => return Err(mismatch(field, "a number or text")),
                };
                let number =
                    i32::try_from(number).map_err(|_| mismatch(field, "a number of 32 bits"))?;
                self.out.bytes(3, text.as_bytes());
                self.out.number(2, i64::from(number).cast_unsigned());
                self.out.number(1, kind);
            }
            Form::Raw => {
                if !matches!(value, Node::Null) {
                    let json = serde_json::to_vec(value)
                        .map_err(|error| EncodeError::Json(error.to_string()))?;
                    self.out.bytes(1, &json);
                }
            }
            Form::Strings => match value {
                Node::Null => {}
                Node::List(items) => {
                    for item in items.iter().rev() {
                        self.out.bytes(1, text(field, item)?.as_bytes());
                    }
                }
                _ => return Err(mismatch(field, "a list")),
            },
            Form::Message(_) => match (value, field.message()) {
                (Node::Null | Node::Object(_), Some(message)) => self.fields(message, value)?,
                _ => return Err(mismatch(field, "an object")),
            },
            Form::Either(_, other) => match field.either() {
                Some(message) => self.either(field, message, other, value)?,
                None => return Err(mismatch(field, "a known type")),
            },
            Form::Bool | Form::Int32 | Form::Int64 | Form::Double | Form::Text | Form::Bytes => {}
        }
        Ok(())
    }
}

impl Encoder {
    /// Writes what is inside a value that is of a type, or something else in its place.
    fn either(
        &mut self,
        field: &Field,
        message: &Message,
        other: Else,
        value: &Node<'_>,
    ) -> Result<(), EncodeError> {
        match (value, other) {
            (Node::Null, _) => {}
            (Node::Object(_), Else::List | Else::Strings) => self.one(message, 1, value)?,
            (Node::Object(_), Else::Bool) => {
                self.one(message, 2, value)?;
                // Whoever says how, allows.
                self.out.number(1, 1);
            }
            (Node::Bool(value), Else::Bool) => self.out.number(1, u64::from(*value)),
            (Node::List(items), Else::List) => {
                for item in items.iter().rev() {
                    self.one(message, 2, item)?;
                }
            }
            (Node::List(items), Else::Strings) => {
                for item in items.iter().rev() {
                    self.out.bytes(2, text(field, item)?.as_bytes());
                }
            }
            _ => return Err(mismatch(field, "an object, or what may stand in its place")),
        }
        Ok(())
    }

    fn one(&mut self, message: &Message, number: u32, value: &Node<'_>) -> Result<(), EncodeError> {
        let mark = self.out.mark();
        self.fields(message, value)?;
        self.out.close(number, mark);
        Ok(())
    }
}

fn int(field: &Field, value: &Node<'_>) -> Result<i64, EncodeError> {
    match value {
        Node::Null => Ok(0),
        Node::Int(value) => Ok(*value),
        _ => Err(mismatch(field, "a whole number")),
    }
}

fn text<'a>(field: &Field, value: &'a Node<'_>) -> Result<&'a str, EncodeError> {
    match value {
        Node::Null => Ok(""),
        Node::Text(text) => Ok(text),
        _ => Err(mismatch(field, "text")),
    }
}

fn mismatch(field: &Field, wanted: &'static str) -> EncodeError {
    EncodeError::Mismatch {
        field: field.name,
        wanted,
    }
}
