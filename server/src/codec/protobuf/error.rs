//! Why a body could not be translated.

use core::fmt;

/// Why JSON could not be written as protobuf.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// Not JSON, or not an object.
    Json(String),
    /// The object does not say its `apiVersion` and `kind`.
    NoKind,
    /// No kind of this name has a protobuf form.
    UnknownKind {
        /// The `apiVersion`.
        api_version: String,
        /// The `kind`.
        kind: String,
    },
    /// A field holds something other than its type says.
    Mismatch {
        /// The field, or `.` inside a list or map.
        field: &'static str,
        /// What it should hold.
        wanted: &'static str,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(why) => write!(f, "not a JSON object: {why}"),
            Self::NoKind => f.write_str("the object names no apiVersion and kind"),
            Self::UnknownKind { api_version, kind } => {
                write!(f, "{kind} of {api_version} has no protobuf form")
            }
            Self::Mismatch { field, wanted } => write!(f, "field {field} should hold {wanted}"),
        }
    }
}

impl core::error::Error for EncodeError {}

/// Why a protobuf body could not be read. All are the sender's fault.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The body does not begin with `k8s\0`.
    NotAnEnvelope,
    /// No kind of this name has a protobuf form.
    UnknownKind {
        /// The `apiVersion`.
        api_version: String,
        /// The `kind`.
        kind: String,
    },
    /// The body ends inside a value.
    Truncated,
    /// A number of more than 64 bits.
    BadNumber,
    /// A field number that cannot be, or a value that is not written as its field's type is.
    BadField {
        /// The number of the field.
        number: u32,
    },
    /// More objects than [`super::MAX_OBJECTS`].
    TooManyObjects,
    /// Envelopes or unknown groups inside each other.
    TooDeep,
    /// A point in time that has no text form.
    BadTime,
    /// Text that should be JSON and is not.
    BadJson,
    /// Text that is not UTF-8 where only a name can be.
    BadText,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnEnvelope => f.write_str(
                "provided data does not appear to be a protobuf message, expected prefix \"k8s\\0\"",
            ),
            Self::UnknownKind { api_version, kind } => write!(
                f,
                "no kind \"{kind}\" is registered for version \"{api_version}\""
            ),
            Self::Truncated => f.write_str("unexpected EOF"),
            Self::BadNumber => f.write_str("proto: integer overflow"),
            Self::BadField { number } => write!(f, "proto: wrong wire type for field {number}"),
            Self::TooManyObjects => f.write_str("the object holds too many others"),
            Self::TooDeep => f.write_str("the object is nested too deeply"),
            Self::BadTime => f.write_str("a time is out of range"),
            Self::BadJson => f.write_str("embedded JSON is malformed"),
            Self::BadText => f.write_str("text is not UTF-8"),
        }
    }
}

impl core::error::Error for DecodeError {}
