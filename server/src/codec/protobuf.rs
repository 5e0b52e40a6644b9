//! The protobuf form of the built-in kinds (`application/vnd.kubernetes.protobuf`), translated from and to JSON.
//!
//! ```text
//!   6b 38 73 00          "k8s" and a zero
//!   Unknown {            a message
//!     1: TypeMeta { 1: apiVersion, 2: kind }
//!     2: raw             the object's own message
//!     3: contentEncoding, 4: contentType    empty
//!   }
//! ```
//!
//! Translation follows the [`schema`]. From the same object [`encode`] gives the same bytes as the Go types of Kubernetes do (but
//! takes quantities as they are written), and [`decode`] gives the same JSON: what a Go client would leave out is left out, what it
//! always writes is there.
//!
//! A watch in protobuf is a sequence of [`frame`]s.
//!
//! Bytes from outside are bounded before they are used: lengths by what is there, the number of objects by [`MAX_OBJECTS`],
//! depth by the types themselves. The size of the whole body is the caller's to bound.
//!
//! ```
//! use ringwatch_server::codec::protobuf;
//!
//! let bytes = protobuf::encode(br#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}"#).unwrap();
//! assert!(protobuf::is_envelope(&bytes));
//! let object = protobuf::decode(&bytes).unwrap();
//! assert_eq!(object["kind"], "ConfigMap");
//! assert_eq!(object["data"]["a"], "b");
//! ```

mod decode;
mod encode;
mod envelope;
mod error;
mod finish;
mod node;
mod wire;

use serde_json::Value;

use super::schema::{self, Message};
use envelope::Envelope;
pub use envelope::{frame, is_envelope, watch_event, wrap};
pub use error::{DecodeError, EncodeError};

/// The media type.
pub const CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// The media type of a watch.
pub const WATCH_CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// How many objects a decoded body may hold, inside each other and side by side.
///
/// An object can be two bytes on the wire and a kilobyte as a value, so the size of the body is no bound. Other values grow
/// no more than they do in JSON. The largest object that Kubernetes allows, an endpoint slice, has some thousands.
pub const MAX_OBJECTS: usize = 50_000;

/// The protobuf form of a JSON object, which must say its `apiVersion` and `kind`.
pub fn encode(json: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let object = node::parse(json)?;
    let (api_version, kind) = match (object.text("apiVersion"), object.text("kind")) {
        (Some(api_version), Some(kind)) => (api_version, kind),
        _ => return Err(EncodeError::NoKind),
    };
    let raw = encode::message(find(api_version, kind)?, &object)?;
    Ok(wrap(api_version, kind, &raw))
}

/// As [`encode`], for an object that is already in memory.
pub fn encode_value(object: &Value) -> Result<Vec<u8>, EncodeError> {
    encode(object.to_string().as_bytes())
}

/// The message of a JSON object of this kind, without the envelope: an element of a [`list`].
pub fn encode_raw(api_version: &str, kind: &str, json: &[u8]) -> Result<Vec<u8>, EncodeError> {
    encode::message(find(api_version, kind)?, &node::parse(json)?)
}

/// The protobuf form of a list: its `kind` (as `PodList`), its metadata as JSON, and its elements by [`encode_raw`].
pub fn list<'a>(
    api_version: &str,
    kind: &str,
    metadata: &[u8],
    items: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<u8>, EncodeError> {
    find(api_version, kind)?;
    let meta = schema::message("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta")
        .ok_or(EncodeError::NoKind)?;
    let metadata = encode::message(meta, &node::parse(metadata)?)?;
    let mut raw = Vec::new();
    wire::put_bytes(&mut raw, 1, &metadata);
    for item in items {
        wire::put_bytes(&mut raw, 2, item);
    }
    Ok(wrap(api_version, kind, &raw))
}

/// The JSON object in a protobuf body, with its `apiVersion` and `kind`.
pub fn decode(body: &[u8]) -> Result<Value, DecodeError> {
    decode_or(body, "", "")
}

/// As [`decode`]; an envelope that names no kind holds this one.
pub fn decode_or(body: &[u8], api_version: &str, kind: &str) -> Result<Value, DecodeError> {
    let envelope = Envelope::parse(body)?;
    let (api_version, kind) = match (envelope.api_version, envelope.kind) {
        ("", "") => (api_version, kind),
        named => named,
    };
    decode::object(api_version, kind, envelope.raw)
}

fn find(api_version: &str, kind: &str) -> Result<&'static Message, EncodeError> {
    schema::kind(api_version, kind).ok_or_else(|| EncodeError::UnknownKind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    })
}
