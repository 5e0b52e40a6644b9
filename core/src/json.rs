//! Looks into JSON objects without building a tree.
//!
//! A stored object is a JSON text that is mostly passed on as it is; only a few values in it (its
//! labels, the fields a selector names, its resourceVersion) matter on the way. [`scan`] reads the
//! whole text once, front to back, promises that it is valid JSON, and hands out slices of it for
//! the wanted [`Path`]s. [`line`](mod@line) frames such an object as one line of a watch.
//!
//! ```text
//!              paths ─┐              ┌─> found[i]: Value ── as_i64, as_text, entries, get
//!   object bytes ─────┴──> scan ─────┤
//!                                    └─> ScanError { offset }
//! ```
//!
//! # What is accepted
//!
//! Exactly the JSON of RFC 8259 whose outermost value is an object, with these rules where the
//! standard leaves a choice:
//!
//! * UTF-8 only, no byte order mark; `\u` escapes must not leave half a surrogate pair.
//! * Numbers of any length and size are valid; whether they fit is asked of the [`Value`].
//! * A wanted path, or a key on the way to one, that occurs twice in its object is refused: two
//!   readers might disagree on which one counts. Keys are compared decoded, so `"met\u0061data"`
//!   is `metadata`. Keys that no path names are not compared.
//! * Size and depth are bounded by [`Limits`].
//!
//! No input panics, and no input makes the stack grow.
//!
//! ```
//! use ringwatch_core::json::{Limits, Path, scan};
//!
//! let pod = br#"{"kind":"Pod","metadata":{"name":"web","labels":{"app":"shop"}}}"#;
//! let paths = [Path::parse("metadata.name")?, Path::parse("metadata.labels")?, Path::parse("spec")?];
//! let mut found = [None; 3];
//! scan(pod, &Limits::default(), &paths, &mut found)?;
//! assert_eq!(found[0].and_then(|name| name.as_text()).unwrap(), "web");
//! assert_eq!(found[1].unwrap().raw(), r#"{"app":"shop"}"#);
//! assert_eq!(found[2], None);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod error;
pub mod line;
mod path;
mod scan;
mod skip;
mod text;
mod value;

pub use error::ScanError;
pub use path::{MAX_SEGMENTS, Path, PathError};
pub use scan::{Limits, MAX_PATHS, scan};
pub use text::{Text, TextTooLong};
pub use value::{Kind, Value};
