//! What a successful write answers.

use bytes::Bytes;
use serde_json::Value;

use super::encode;

/// What a successful request answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status: 200, 201 or 202.
    pub code: u16,
    /// JSON, ready to be sent.
    pub body: Bytes,
    /// What the body is.
    pub content: Content,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// What the body of an [`Answer`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// An object of the resource, with its resourceVersion.
    Object,
    /// An `autoscaling/v1` Scale.
    Scale,
    /// A Status: nothing to show as a table or as metadata.
    Status,
}

impl Answer {
    pub(super) fn object(code: u16, body: Bytes) -> Self {
        Self {
            code,
            body,
            content: Content::Object,
            warnings: Vec::new(),
        }
    }

    pub(super) fn value(code: u16, content: Content, value: &Value) -> Self {
        Self {
            content,
            ..Self::object(code, encode::encode(value))
        }
    }

    pub(super) fn with_warnings(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// The body as a value.
    pub fn to_value(&self) -> Value {
        // It was written from a value.
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}
