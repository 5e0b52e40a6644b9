//! How objects look on the wire.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use ringwatch_server::codec::protobuf;
use serde_json::Value;

/// A form of objects, in requests and in answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Protobuf,
}

impl Form {
    /// What a client says that wants this form.
    pub(super) fn accept(self) -> &'static str {
        match self {
            Self::Json => "application/json, */*",
            Self::Protobuf => "application/vnd.kubernetes.protobuf, */*",
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => protobuf::CONTENT_TYPE,
        }
    }

    /// The form of an answer, by what it says of itself.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let content_type = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        match content_type.is_some_and(|it| it.starts_with(protobuf::CONTENT_TYPE)) {
            true => Self::Protobuf,
            false => Self::Json,
        }
    }

    /// An object, which for protobuf has to say its kind.
    pub(super) fn write(self, object: &Value) -> Vec<u8> {
        match self {
            Self::Json => object.to_string().into_bytes(),
            Self::Protobuf => protobuf::encode_value(object).expect("an object of a known kind"),
        }
    }

    /// An object; nothing is `null`.
    pub(super) fn read(self, bytes: &[u8]) -> Value {
        match self {
            _ if bytes.is_empty() => Value::Null,
            Self::Json => serde_json::from_slice(bytes).expect("JSON"),
            Self::Protobuf => protobuf::decode(bytes).expect("an object"),
        }
    }
}
