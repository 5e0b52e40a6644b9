//! The few fields a device wants, cut out of a JSON object and packed for postcard.
//!
//! A microcontroller does not read JSON. It says which fields it wants and of which types, and gets
//! a struct it can read with `postcard::from_bytes`, where each field is an `Option`:
//!
//! ```text
//!  server                                                    device
//!  "spec.setpoint:f32,spec.on:bool" ── parse ─┐
//!  {"spec":{"setpoint":21.5,"on":true}} ──────┴─ project ──> read::<Wanted>
//! ```
//!
//! A value of the wrong type or too long a text does not spoil the rest: the field is `None` and a
//! trailer says which fields had an issue, so that a device can tell "not set" from "set wrongly".
//!
//! # Field list
//!
//! `path:type` pairs separated by commas, white space allowed around each part. Paths are those of
//! [`json::Path`](crate::json::Path); commas, colons and spaces in their keys need a backslash.
//!
//! | type | accepts | postcard value |
//! |---|---|---|
//! | `bool` | `true`, `false` | one byte |
//! | `i32`, `i64` | integer literals in range | zigzag varint |
//! | `u32`, `u64` | integer literals in range | varint |
//! | `f32`, `f64` | numbers whose nearest value is finite | 4 or 8 bytes, little endian |
//! | `text(N)` | strings of at most N bytes when decoded | varint length, UTF-8 |
//! | `json(N)` | any value whose JSON text has at most N bytes | varint length, the text |
//!
//! `null` and a missing value are `None` without an issue, for every type. An integer literal has
//! neither point nor exponent.
//!
//! # Byte layout
//!
//! | part | bytes |
//! |---|---|
//! | per field, in the order of the list | `00`, or `01` and the value |
//! | mismatched fields | varint `u32`, bit *i* for field *i* |
//! | fields that were too long | varint `u32`, bit *i* for field *i* |
//!
//! The layout is that of a postcard struct followed by two numbers; it will not change.
//!
//! ```
//! use ringwatch_core::json::Limits;
//! use ringwatch_core::projection::{self, Projection};
//!
//! let fields = "spec.setpoint:f32, spec.mode:text(4), spec.on:bool, spec.step:i32, spec.gone:u64";
//! let projection = Projection::<_>::parse(fields)?;
//! let object = br#"{"spec":{"setpoint":21.5,"mode":"h\u0065at","on":"yes","step":-3}}"#;
//! let mut buffer = [0; 64];
//! let projected = projection.project(object, &Limits::default(), &mut buffer)?;
//! assert_eq!(
//!     projected.bytes,
//!     [
//!         0x01, 0x00, 0x00, 0xac, 0x41, // setpoint: Some(21.5)
//!         0x01, 0x04, b'h', b'e', b'a', b't', // mode: Some("heat")
//!         0x00, // on: None, a text is no bool
//!         0x01, 0x05, // step: Some(-3)
//!         0x00, // gone: None, it is not there
//!         0b0100, // field 2 is mismatched
//!         0b0000, // none is too long
//!     ]
//! );
//!
//! // On the device:
//! #[derive(serde::Deserialize)]
//! struct Wanted<'a> {
//!     setpoint: Option<f32>,
//!     mode: Option<&'a str>,
//!     on: Option<bool>,
//!     step: Option<i32>,
//!     gone: Option<u64>,
//! }
//! let (wanted, issues) = projection::read::<Wanted>(projected.bytes)?;
//! assert_eq!((wanted.setpoint, wanted.mode, wanted.step), (Some(21.5), Some("heat"), Some(-3)));
//! assert!(wanted.on.is_none() && issues.is_mismatched(2));
//! assert!(wanted.gone.is_none() && !issues.is_mismatched(4));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod parse;
mod project;
mod read;

pub use parse::{Field, FieldType, MAX_FIELDS, ParseError, Projection};
pub use project::{ProjectError, Projected};
pub use read::{Issues, ReadError, read};
