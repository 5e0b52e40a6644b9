//! An OpenAPI 2.0 document in protobuf: the messages of `openapi.v2` as far as they are needed, written from their JSON.
//!
//! The numbers are those of the fields in gnostic's `OpenAPIv2.proto`.

use serde_json::Value;

/// The beginning of a document.
pub(super) fn head(info: &Value) -> Vec<u8> {
    let mut message = Message::default();
    message.text(1, "2.0");
    message.message(2, &{
        let mut message = Message::default();
        message.text_of(1, info, "title");
        message.text_of(2, info, "version");
        message
    });
    message.0
}

/// A document with one path.
pub(super) fn path(name: &str, item: &Value) -> Vec<u8> {
    let mut path_item = Message::default();
    for (number, method) in [
        (2, "get"),
        (3, "put"),
        (4, "post"),
        (5, "delete"),
        (8, "patch"),
    ] {
        if let Some(value) = item.get(method) {
            path_item.message(number, &operation(value));
        }
    }
    for value in list(item, "parameters") {
        path_item.message(9, &parameter(value));
    }
    wrap(8, &wrap(2, &named(name, &path_item))).0
}

/// A document with one definition.
pub(super) fn definition(name: &str, value: &Value) -> Vec<u8> {
    wrap(9, &wrap(1, &named(name, &schema(value)))).0
}

fn operation(value: &Value) -> Message {
    let mut message = Message::default();
    message.text_of(5, value, "operationId");
    for (number, field) in [(6, "produces"), (7, "consumes")] {
        message.texts_of(number, value, field);
    }
    for value in list(value, "parameters") {
        message.message(8, &parameter(value));
    }
    let mut responses = Message::default();
    for (code, value) in value
        .get("responses")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let mut response = Message::default();
        response.text_of(1, value, "description");
        if let Some(value) = value.get("schema") {
            response.message(2, &wrap(1, &schema(value)));
        }
        responses.message(1, &named(code, &wrap(1, &response)));
    }
    message.message(9, &responses);
    message.extensions(13, value);
    message
}

/// A parameter, in the three messages that it is wrapped into.
fn parameter(value: &Value) -> Message {
    let place = value.get("in").and_then(Value::as_str).unwrap_or_default();
    let required = value.get("required") == Some(&true.into());
    let mut inner = Message::default();
    if place == "body" {
        inner.text_of(2, value, "name");
        inner.text(3, place);
        inner.boolean(4, required);
        if let Some(value) = value.get("schema") {
            inner.message(5, &schema(value));
        }
        return wrap(1, &wrap(1, &inner));
    }
    inner.boolean(1, required);
    inner.text(2, place);
    inner.text_of(3, value, "description");
    inner.text_of(4, value, "name");
    let (kind, type_number) = if place == "path" { (4, 5) } else { (3, 6) };
    inner.text_of(type_number, value, "type");
    wrap(1, &wrap(2, &wrap(kind, &inner)))
}

fn schema(value: &Value) -> Message {
    let mut message = Message::default();
    message.text_of(1, value, "$ref");
    message.text_of(2, value, "format");
    message.text_of(4, value, "description");
    if let Some(default) = value.get("default") {
        message.message(5, &any(default));
    }
    message.texts_of(19, value, "required");
    if let Some(inside @ Value::Object(_)) = value.get("additionalProperties") {
        message.message(21, &wrap(1, &schema(inside)));
    }
    if let Some(of) = value.get("type").and_then(Value::as_str) {
        let mut item = Message::default();
        item.text(1, of);
        message.message(22, &item);
    }
    if let Some(items) = value.get("items") {
        message.message(23, &wrap(1, &schema(items)));
    }
    if let Some(Value::Object(fields)) = value.get("properties") {
        let mut properties = Message::default();
        for (name, value) in fields {
            properties.message(1, &named(name, &schema(value)));
        }
        message.message(25, &properties);
    }
    message.extensions(31, value);
    message
}

/// Anything, as YAML; JSON is YAML.
fn any(value: &Value) -> Message {
    let mut message = Message::default();
    message.text(2, &value.to_string());
    message
}

fn named(name: &str, value: &Message) -> Message {
    let mut message = Message::default();
    message.text(1, name);
    message.message(2, value);
    message
}

/// A message in a field of another.
fn wrap(number: u32, inner: &Message) -> Message {
    let mut message = Message::default();
    message.message(number, inner);
    message
}

fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(field)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// A message as it is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.varint(u64::from(number) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn message(&mut self, number: u32, message: &Self) {
        self.bytes(number, &message.0);
    }

    fn text(&mut self, number: u32, text: &str) {
        self.bytes(number, text.as_bytes());
    }

    fn boolean(&mut self, number: u32, value: bool) {
        if value {
            self.varint(u64::from(number) << 3);
            self.varint(1);
        }
    }

    /// The text in a field of a JSON object, if there is one.
    fn text_of(&mut self, number: u32, value: &Value, field: &str) {
        if let Some(text) = value.get(field).and_then(Value::as_str) {
            self.text(number, text);
        }
    }

    fn texts_of(&mut self, number: u32, value: &Value, field: &str) {
        for text in list(value, field).filter_map(Value::as_str) {
            self.text(number, text);
        }
    }

    /// The fields whose names begin with `x-`.
    fn extensions(&mut self, number: u32, value: &Value) {
        for (name, value) in value.as_object().into_iter().flatten() {
            if name.starts_with("x-") {
                self.message(number, &named(name, &any(value)));
            }
        }
    }
}
