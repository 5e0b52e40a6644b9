//! What JSON leaves out of an object of a built-in type.
//!
//! Go's rules: a field that may be omitted is if it is empty, zero or false; an object never is, whatever it holds; a field behind a pointer is there or not, whatever its value. Who sends `"labels":{}` is shown no labels,
//! and who then sends none has changed nothing.

use serde_json::{Map, Value};

use super::schema::{Field, Form, Message, Omit, Shape};

/// Removes from an object, and from all that is in it, what JSON leaves out. The values must have the right types.
pub fn empties(message: &Message, object: &mut Map<String, Value>) {
    object.retain(|name, value| {
        let Some(field) = message.field(name) else {
            return true;
        };
        if let Some(message) = field.message() {
            below(field.shape, message, value);
        }
        !is_omitted(field, value)
    });
}

/// The same in what a field holds.
fn below(shape: Shape, message: &Message, value: &mut Value) {
    let each = |value: &mut Value| {
        if let Value::Object(object) = value {
            empties(message, object);
        }
    };
    match (shape, value) {
        (Shape::One | Shape::Optional, value) => each(value),
        (Shape::List, Value::Array(items)) => items.iter_mut().for_each(each),
        (Shape::Map, Value::Object(entries)) => entries.values_mut().for_each(each),
        (Shape::List | Shape::Map, _) => {}
    }
}

/// Whether JSON leaves out a field with this value.
pub(in crate::codec) fn is_omitted(field: &Field, value: &Value) -> bool {
    if field.shape == Shape::Optional {
        return false;
    }
    match field.omit {
        Omit::Never => false,
        Omit::Zero => value.is_null(),
        Omit::Empty => match value {
            Value::Bool(value) => !value,
            Value::Number(number) => {
                matches!(field.form, Form::Int32 | Form::Int64) && number.as_i64() == Some(0)
            }
            Value::String(text) => {
                matches!(field.form, Form::Text | Form::Bytes) && text.is_empty()
            }
            Value::Array(items) => items.is_empty(),
            Value::Object(entries) => field.shape == Shape::Map && entries.is_empty(),
            // Only times and free-form JSON are ever null, and both are objects to Go.
            Value::Null => false,
        },
    }
}
