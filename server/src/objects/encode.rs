//! How objects are stored, and shown.
//!
//! Stored is compact JSON that begins with kind, apiVersion and metadata, in this order, whatever follows:
//! `{"kind":"Pod","apiVersion":"v1","metadata":{…`. Lists rely on it: they cut off the beginning, which is the same for all
//! items. The resourceVersion is not stored; a revision is put in when the object is shown. Everything that is stored
//! comes from here.
//!
//! Custom kinds are the exception: their objects are stored, as kube-apiserver stores them, with all fields in the order of their
//! names, in the one version that the definition says.

use std::borrow::Cow;

use bytes::Bytes;
use ringwatch_core::json::line::{RevisionSpot, SpotError};
use ringwatch_core::json::{Limits, ScanError};
use ringwatch_core::revision::Revision;
use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::{Map, Value};

use super::meta;
use crate::resources::{Form, Resource, events};
use crate::shape::Shape;
use crate::status::Failure;
use crate::storage::{Condition, KeyValue};

/// The fields that come first.
const FIRST: [&str; 3] = ["kind", "apiVersion", "metadata"];

/// An object whose fields are written in the order of storage.
struct Ordered<'a>(&'a Map<String, Value>);

impl Serialize for Ordered<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for name in FIRST {
            if let Some(value) = self.0.get(name) {
                map.serialize_entry(name, value)?;
            }
        }
        for (name, value) in self.0 {
            if !FIRST.contains(&name.as_str()) {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// The JSON of any object in the order of storage.
pub fn encode(object: &Value) -> Bytes {
    let encoded = match object {
        Value::Object(map) => serde_json::to_vec(&Ordered(map)),
        other => serde_json::to_vec(other),
    };
    // Values have text keys and finite numbers: nothing that JSON cannot write.
    encoded.unwrap_or_default().into()
}

/// The JSON of an object of a resource: custom kinds have all fields in the order of their names.
fn encode_as(resource: &Resource, object: &Value) -> Bytes {
    if resource.is_custom() {
        return object.to_string().into();
    }
    encode(object)
}

/// The bytes to store for an object as it is served.
///
/// # Errors
///
/// A 413 if it is too long, a 400 if it is nested too deeply to be served again.
pub fn stored(resource: &Resource, object: &Value) -> Result<Bytes, Failure> {
    let mut object = object.clone();
    for field in ["resourceVersion", "selfLink"] {
        meta::set(&mut object, field, None);
    }
    convert(resource, &mut object, events::to_core);
    if let Some(custom) = resource.custom() {
        custom.kind().to_storage(&mut object);
    }
    let bytes = encode_as(resource, &object);
    // The cache scans what is stored; what it would not take must not get there.
    spot(&bytes).map_err(|error| refuse(resource, error))?;
    Ok(bytes)
}

/// The bytes of a stored object as clients see it, with its revision; [`Revision::ZERO`] for none.
pub fn shown(resource: &Resource, stored: &Bytes, revision: Revision) -> Bytes {
    let stored = match form(resource) {
        Form::Same => match Shape::new(resource).object(stored) {
            Cow::Borrowed(_) => stored.clone(),
            Cow::Owned(converted) => converted.into(),
        },
        Form::CoreEvent => {
            let mut object = serde_json::from_slice(stored).unwrap_or_default();
            convert(resource, &mut object, events::to_events_group);
            encode(&object)
        }
    };
    match spot(&stored) {
        Ok(spot) if revision != Revision::ZERO => {
            let spliced = spot.splice(&stored, revision);
            let mut bytes = Vec::with_capacity(spliced.len());
            spliced
                .pieces()
                .for_each(|piece| bytes.extend_from_slice(piece));
            bytes.into()
        }
        _ => stored,
    }
}

/// The bytes of what is stored under a key as clients see it, with its revision.
///
/// # Errors
///
/// A 500 if it cannot be read.
pub fn read(resource: &Resource, stored: &KeyValue) -> Result<Bytes, Failure> {
    let readable = stored.condition != Condition::Corrupt && spot(&stored.value).is_ok();
    if !readable {
        // Slower, and knows why.
        served(resource, stored)?;
    }
    Ok(shown(resource, &stored.value, stored.mod_revision))
}

/// A stored object as clients see it, with its revision.
///
/// # Errors
///
/// A 500 if it cannot be read.
pub fn served(resource: &Resource, stored: &KeyValue) -> Result<Value, Failure> {
    let unreadable = |why: &str| Failure::internal(format_args!("{}: {why}", stored.key));
    if stored.condition == Condition::Corrupt {
        return Err(unreadable("cannot be decrypted"));
    }
    let mut object: Value =
        serde_json::from_slice(&stored.value).map_err(|error| unreadable(&error.to_string()))?;
    if !object.get("metadata").is_some_and(Value::is_object) {
        return Err(unreadable("is no object with metadata"));
    }
    convert(resource, &mut object, events::to_events_group);
    if let (Some(custom), Value::Object(_)) = (resource.custom(), &object) {
        custom.kind().refresh(&mut object);
        if let Value::Object(map) = &mut object {
            map.insert("apiVersion".into(), resource.api_version().into());
        }
    }
    let revision = stored.mod_revision.to_string();
    meta::set(&mut object, "resourceVersion", Some(revision.into()));
    Ok(object)
}

fn form(resource: &Resource) -> Form {
    resource
        .storage
        .as_ref()
        .map_or(Form::Same, |stored| stored.form)
}

fn convert(resource: &Resource, object: &mut Value, to: fn(&mut Map<String, Value>)) {
    if let (Form::CoreEvent, Value::Object(map)) = (form(resource), object) {
        to(map);
    }
}

fn spot(bytes: &[u8]) -> Result<RevisionSpot, SpotError> {
    RevisionSpot::find(bytes, &Limits::default())
}

fn refuse(resource: &Resource, error: SpotError) -> Failure {
    let limits = Limits::default();
    match error {
        SpotError::Scan(ScanError::TooLarge { .. }) => Failure::body_too_large(limits.max_bytes),
        error => Failure::bad_request(format!("{} cannot be stored: {error}", resource.kind)),
    }
}
