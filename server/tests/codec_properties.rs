//! What holds for every body in protobuf: it is an object or an error, and an object survives the way to the wire and back.

use base64ct::{Base64, Encoding};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use ringwatch_server::codec::protobuf::{self, EncodeError};
use ringwatch_server::codec::schema::{self, Message};
use serde_json::Value;

/// The stored bodies, which damage is done to.
fn bodies() -> Vec<Vec<u8>> {
    let stored = concat!(
        include_str!("cases/protobuf.txt"),
        include_str!("cases/kubectl.txt")
    );
    let bodies = stored
        .lines()
        .filter_map(|line| line.strip_prefix("  bytes "));
    bodies
        .map(|text| Base64::decode_vec(text.trim()).unwrap())
        .collect()
}

#[derive(Debug, Clone)]
enum Damage {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (any::<Index>(), vec(any::<u8>(), 1..6)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (any::<Index>(), 1..20usize).prop_map(|(at, count)| Damage::Remove(at, count)),
        (any::<Index>(), 1..20usize).prop_map(|(at, count)| Damage::Repeat(at, count)),
    ]
}

fn hurt(body: &mut Vec<u8>, damage: &Damage) {
    if body.is_empty() {
        return;
    }
    let range = |at: &Index, count: usize| {
        let at = at.index(body.len());
        at..body.len().min(at + count)
    };
    match damage {
        Damage::Set(at, byte) => {
            let at = at.index(body.len());
            body[at] = *byte;
        }
        Damage::Insert(at, bytes) => {
            let at = at.index(body.len());
            body.splice(at..at, bytes.iter().copied());
        }
        Damage::Remove(at, count) => {
            body.drain(range(at, *count));
        }
        Damage::Repeat(at, count) => {
            let range = range(at, *count);
            body.extend_from_within(range);
        }
    }
}

/// An object that came from the wire goes back to the wire and comes out the same.
fn survives(object: &Value) -> Result<(), TestCaseError> {
    match protobuf::encode_value(object) {
        Ok(bytes) => {
            let back = protobuf::decode(&bytes).unwrap();
            prop_assert_eq!(without_nulls(&back), without_nulls(object));
        }
        // Embedded JSON can be too deep for being read inside the object around it.
        Err(EncodeError::Json(_)) => {}
        Err(error) => return Err(TestCaseError::fail(format!("{error}: {object}"))),
    }
    Ok(())
}

/// JSON has one null for "not there" and for "there, but no time"; the second becomes the first on the way.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

fn kinds() -> Vec<&'static Message> {
    let mut kinds: Vec<_> = schema::messages()
        .filter(|message| message.is_kind())
        .collect();
    kinds.sort_by_key(|message| message.full_name());
    kinds
}

proptest! {
    #[test]
    fn any_bytes_are_an_object_or_an_error(
        kind in select(kinds()),
        raw in vec(any::<u8>(), 0..200),
    ) {
        let body = protobuf::wrap(kind.group_version(), kind.name(), &raw);
        if let Ok(object) = protobuf::decode(&body) {
            survives(&object)?;
        }
        let _ = protobuf::decode(&raw);
        let _ = protobuf::encode(&raw);
    }

    #[test]
    fn a_damaged_body_is_an_object_or_an_error(
        mut body in select(bodies()),
        damages in vec(damage(), 1..6),
    ) {
        for damage in &damages {
            hurt(&mut body, damage);
        }
        if let Ok(object) = protobuf::decode(&body) {
            survives(&object)?;
        }
    }

    /// Small numbers as tags and lengths, so that the bytes often mean something.
    #[test]
    fn likely_bytes_are_an_object_or_an_error(
        kind in select(kinds()),
        fields in vec((1..20u8, 0..3u8, vec(0..40u8, 0..12)), 0..8),
    ) {
        let mut raw = Vec::new();
        for (number, wire, bytes) in fields {
            raw.push(number << 3 | wire);
            match wire {
                0 => raw.push(bytes.len() as u8),
                1 => raw.extend_from_slice(&[7; 8]),
                _ => {
                    raw.push(bytes.len() as u8);
                    raw.extend_from_slice(&bytes);
                }
            }
        }
        let body = protobuf::wrap(kind.group_version(), kind.name(), &raw);
        if let Ok(object) = protobuf::decode(&body) {
            survives(&object)?;
        }
    }
}
