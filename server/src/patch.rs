//! The three patch formats of the Kubernetes API: values in, a value out.
//!
//! | format | media type | module |
//! |---|---|---|
//! | JSON patch, RFC 6902 | `application/json-patch+json` | [`json`] |
//! | JSON merge patch, RFC 7386 | `application/merge-patch+json` | [`merge`] |
//! | strategic merge patch | `application/strategic-merge-patch+json` | [`strategic`] |
//!
//! A [`Patch`] is read once and applied as often as an update loop needs. The object is not touched when a patch fails.
//!
//! What a patch may cost has a bound, whatever it says: the depth of the result ([`MAX_DEPTH`]), the number of operations
//! ([`json::MAX_OPERATIONS`]), the bytes copied and the work done. The size of the input is the caller's to bound.
//!
//! ```
//! use ringwatch_server::patch::Patch;
//! use serde_json::json;
//!
//! let patch = Patch::strategic(
//!     "io.k8s.api.core.v1.Pod",
//!     br#"{"spec":{"containers":[{"name":"b","image":"new"}]}}"#,
//! )
//! .unwrap();
//! let pod = json!({"spec": {"containers": [{"name": "a"}, {"name": "b", "image": "old"}]}});
//! assert_eq!(
//!     patch.apply(&pod).unwrap(),
//!     json!({"spec": {"containers": [{"name": "a"}, {"name": "b", "image": "new"}]}})
//! );
//! ```

pub mod json;
pub mod merge;
pub mod strategic;

mod depth;
mod error;
mod pointer;

pub use error::{Class, Error};

use serde_json::{Map, Value};

/// How deep objects and lists may be nested in a patch and in its result.
///
/// As deep as the JSON parser goes. Deeper values could be built by copying a value into itself, and would overflow the
/// stack of whoever walks them.
pub const MAX_DEPTH: usize = 128;

/// A patch that has been read and can be applied.
#[derive(Debug, Clone)]
pub struct Patch(Format);

#[derive(Debug, Clone)]
enum Format {
    Json(json::Patch),
    Merge(Map<String, Value>),
    Strategic(strategic::Patch),
}

impl Patch {
    /// Reads a JSON patch: a list of operations.
    pub fn json(body: &[u8]) -> Result<Self, Error> {
        json::Patch::parse(parse(body)?).map(|patch| Self(Format::Json(patch)))
    }

    /// Reads a JSON merge patch. As upstream, it must be an object.
    pub fn merge(body: &[u8]) -> Result<Self, Error> {
        object(body).map(|patch| Self(Format::Merge(patch)))
    }

    /// Reads a strategic merge patch for objects of the type `schema`, named as in the published schemas
    /// (`io.k8s.api.core.v1.Pod`).
    pub fn strategic(schema: &str, body: &[u8]) -> Result<Self, Error> {
        strategic::Patch::new(schema, object(body)?).map(|patch| Self(Format::Strategic(patch)))
    }

    /// The object with the patch applied.
    pub fn apply(&self, object: &Value) -> Result<Value, Error> {
        match &self.0 {
            Format::Json(patch) => patch.apply(object.clone()),
            Format::Merge(patch) => {
                let mut result = object.clone();
                merge::apply(&mut result, patch);
                Ok(result)
            }
            Format::Strategic(patch) => patch.apply(object.clone()),
        }
    }
}

fn parse(body: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(body).map_err(|error| Error::Malformed(error.to_string()))
}

fn object(body: &[u8]) -> Result<Map<String, Value>, Error> {
    match parse(body)? {
        Value::Object(map) => Ok(map),
        _ => Err(Error::Malformed("the patch is not an object".to_owned())),
    }
}
