//! What JSON leaves out of a message, and what it always has.
//!
//! A message in protobuf has its zero values; JSON has only some of them. What it leaves out is said in [`omit`](crate::codec::omit); a field
//! that may not be omitted is written even if it is null.

use serde_json::{Map, Value};

use crate::codec::omit::is_omitted;
use crate::codec::schema::{Field, Form, Message, Omit, Shape};

/// Removes what JSON leaves out and adds what it always has. Returns how many objects it added.
pub(super) fn finish(message: &Message, out: &mut Map<String, Value>) -> usize {
    let mut added = 0;
    for field in message.fields() {
        if field.is_inline() {
            if let Some(inlined) = field.message() {
                added += finish(inlined, out);
            }
            continue;
        }
        match out.get(field.name) {
            Some(value) => {
                if is_omitted(field, value) {
                    out.remove(field.name);
                }
            }
            None => {
                if let Some(zero) = zero(field, &mut added) {
                    out.insert(field.name.to_owned(), zero);
                }
            }
        }
    }
    added
}

/// What JSON has for a field that the message has not.
fn zero(field: &Field, added: &mut usize) -> Option<Value> {
    match (field.shape, field.form) {
        (Shape::Optional | Shape::List | Shape::Map, _) => {
            (field.omit == Omit::Never).then_some(Value::Null)
        }
        (Shape::One, Form::Message(_)) => {
            let mut object = Map::new();
            *added += 1;
            if let Some(message) = field.message() {
                *added += finish(message, &mut object);
            }
            Some(Value::Object(object))
        }
        (Shape::One, Form::Time | Form::MicroTime | Form::Raw) => {
            (field.omit != Omit::Zero).then_some(Value::Null)
        }
        (Shape::One, Form::Quantity) => Some("0".into()),
        (Shape::One, Form::IntOrString) => Some(0.into()),
        (Shape::One, form) => (field.omit == Omit::Never).then(|| match form {
            Form::Bool => false.into(),
            Form::Int32 | Form::Int64 => 0.into(),
            Form::Text => "".into(),
            _ => Value::Null,
        }),
    }
}
