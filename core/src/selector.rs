//! Label and field selectors: which objects a list or a watch is about.
//!
//! A selector is parsed once, where a request enters, and then only matched. It keeps the text it was given, in
//! whatever owns it (`&str`, `heapless::String<N>`, `Arc<str>`), beside a bounded table of [`Requirement`]s that
//! point into that text. Nothing is copied, neither on parsing nor on matching.
//!
//! ```text
//!   text    "tier in (web, api),env=prod"
//!            key  op  values     key =  value
//!             └────┬────┘         └───┬──┘
//!   table   [ Requirement       , Requirement ]      10 bytes each
//! ```
//!
//! Promises:
//!
//! - no input makes parsing, matching or printing panic;
//! - a selector that does not fit is refused with a [`SelectorError`], never shortened;
//! - `Display` writes a canonical text: it parses back to a selector that matches the same objects, and selectors
//!   that differ only in whitespace, order, repetition or `==` for `=` print the same.
//!
//! ```
//! use ringwatch_core::selector::{FieldSelector, LabelSelector};
//!
//! let labels = |key: &str| match key {
//!     "env" => Some("prod"),
//!     "tier" => Some("web"),
//!     _ => None,
//! };
//! let selector = LabelSelector::<&str>::parse("tier in (web, api), env==prod, !legacy")?;
//! assert!(selector.matches(labels));
//! assert_eq!(selector.exact("env"), Some("prod"));
//! assert_eq!(format!("{selector}"), "env=prod,!legacy,tier in (api,web)");
//!
//! let selector = FieldSelector::<&str>::parse("metadata.name=a,status.phase!=Failed")?;
//! assert!(selector.matches(|field| (field == "metadata.name").then_some("a")));
//!
//! let text = "env===prod";
//! let error = LabelSelector::<&str>::parse(text).unwrap_err();
//! assert_eq!(error.offset, 5);
//! assert_eq!(
//!     format!("{}", error.describe(text)),
//!     "unable to parse requirement: found '=', expected: identifier"
//! );
//! # Ok::<(), ringwatch_core::selector::SelectorError>(())
//! ```

mod ascending;
mod describe;
mod error;
mod field;
mod field_value;
mod label;
mod lex;
mod names;
mod parse;
mod requirement;
mod table;

pub use error::{SelectorError, SelectorErrorKind};
pub use field::{FieldRequirementRef, FieldSelector};
pub use field_value::FieldValue;
pub use label::LabelSelector;
pub use requirement::{Operator, Requirement, RequirementRef};
