//! YAML bodies to JSON, and JSON answers to YAML.
//!
//! ```
//! use ringwatch_server::yaml::{Limits, from_json, to_json};
//!
//! let read = to_json(b"kind: Lamp\nspec: {lit: yes, level: 010}\n", &Limits::default())?;
//! assert_eq!(read.value.to_string(), r#"{"kind":"Lamp","spec":{"level":8,"lit":true}}"#);
//! assert_eq!(from_json(&read.value), "kind: Lamp\nspec:\n  level: 8\n  lit: true\n");
//! # Ok::<(), ringwatch_server::yaml::YamlError>(())
//! ```
//!
//! Kubernetes reads YAML 1.1: `yes`, `on` and `y` are booleans, `010` is eight, `<<` merges. So it is
//! here, and times are texts.
//!
//! # Bounds
//!
//! Size and depth are bounded by [`Limits`], and so is what aliases copy: a document of a few hundred
//! bytes can otherwise stand for gigabytes. The parser is a state machine without `unsafe`.

mod read;
mod scalar;
mod write;

use std::error::Error;
use std::fmt;

use serde_json::Value;

pub use read::to_json;
pub use write::from_json;

/// How large and how deep a document may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of the document; 3 MiB unless set.
    pub max_bytes: usize,
    /// Most containers open at once; 64 unless set.
    pub max_depth: usize,
    /// Most bytes, roughly, that anchors and aliases may copy; 1 MiB unless set.
    pub max_copied: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 3 << 20,
            max_depth: 64,
            max_copied: 1 << 20,
        }
    }
}

/// A document that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// What it says. Of a key that occurs twice, the last value.
    pub value: Value,
    /// Keys that occur twice, which a strict reader refuses; the first few.
    pub duplicates: Vec<Duplicate>,
}

/// A key that occurs twice in one mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The key.
    pub key: String,
    /// The line of its second place, counted from 1.
    pub line: usize,
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}: key {:?} already set in map",
            self.line, self.key
        )
    }
}

/// Why a document was refused, and at which line, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// The line; 0 if it is about the document as a whole.
    pub line: usize,
    /// What is wrong.
    pub fault: Fault,
}

/// What can be wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is larger than the limit.
    TooLarge,
    /// It is nested deeper than the limit.
    TooDeep,
    /// Aliases stand for more than the limit.
    TooMuchCopied,
    /// It is not UTF-8.
    NotUtf8,
    /// The parser refuses it, in its words.
    Syntax(String),
    /// A second document follows.
    SecondDocument,
    /// An alias of something that is not complete.
    Recursive,
    /// A mapping's key that is no scalar.
    Key,
    /// A merge of something that is no mapping.
    Merge,
    /// A tag whose meaning is not known, or that does not fit its value.
    Tag(String),
    /// A number that JSON does not have.
    Number(String),
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("yaml: ")?;
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        match &self.fault {
            Fault::TooLarge => f.write_str("the document is too large"),
            Fault::TooDeep => f.write_str("the document is nested too deep"),
            Fault::TooMuchCopied => f.write_str("aliases stand for too much"),
            Fault::NotUtf8 => f.write_str("the document is not UTF-8"),
            Fault::Syntax(text) => f.write_str(text),
            Fault::SecondDocument => f.write_str("there is more than one document"),
            Fault::Recursive => f.write_str("an alias stands for what it is part of"),
            Fault::Key => f.write_str("a key must be a scalar"),
            Fault::Merge => f.write_str("only mappings can be merged"),
            Fault::Tag(tag) => write!(f, "the tag {tag} cannot be used here"),
            Fault::Number(text) => write!(f, "JSON has no number {text}"),
        }
    }
}

impl Error for YamlError {}
