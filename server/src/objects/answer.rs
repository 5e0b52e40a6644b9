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
    /// Texts for `Warning` headers; together not longer than headers may be.
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
        Self {
            warnings: bounded(warnings),
            ..self
        }
    }

    /// The body as a value.
    pub fn to_value(&self) -> Value {
        // It was written from a value.
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// How many characters all warnings may have.
const MAX_WARNINGS: usize = 4096;
/// To how many characters a warning is cut if they have more.
const MAX_WARNING: usize = 256;

/// Warnings tell of what is in a body, which may be millions of bytes long: cuts them to what headers can hold.
fn bounded(warnings: Vec<String>) -> Vec<String> {
    let length = |warning: &String| warning.chars().count();
    if warnings.iter().map(length).sum::<usize>() <= MAX_WARNINGS {
        return warnings;
    }
    let mut left = MAX_WARNINGS;
    let cut = warnings
        .iter()
        .map(|warning| warning.chars().take(MAX_WARNING).collect());
    cut.take_while(|warning| {
        let fits = length(warning) <= left;
        left = left.saturating_sub(length(warning));
        fits
    })
    .collect()
}
