//! A value that a scan found: a slice of the text that is known to be valid.
//!
//! Nothing is decoded until it is asked for, and asking never fails in a way that needs an error:
//! a value of another kind gives `None`.
//!
//! ```
//! use ringwatch_core::json::{Kind, Limits, Path, scan};
//!
//! let text = br#"{"spec":{"replicas":3,"ports":[80,443]}}"#;
//! let mut found = [None];
//! scan(text, &Limits::default(), &[Path::parse("spec")?], &mut found)?;
//! let spec = found[0].unwrap();
//! assert_eq!(spec.kind(), Kind::Object);
//! assert_eq!(spec.entries().count(), 2);
//! let port = spec.get(&Path::parse("ports[1]")?).unwrap();
//! assert_eq!((port.as_i64(), port.offset()), (Some(443), 34));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use super::path::Path;
use super::skip::{self, DEPTH_BOUND};
use super::text::Text;

/// A valid JSON value and where it stands in the text it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value<'a> {
    raw: &'a str,
    offset: usize,
}

/// The six kinds of JSON value; JSON will not get a seventh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number
    Number,
    /// A string
    Text,
    /// An array
    Array,
    /// An object
    Object,
}

impl<'a> Value<'a> {
    /// `raw` is a whole valid value without white space around it.
    pub(crate) fn new(raw: &'a str, offset: usize) -> Self {
        Self { raw, offset }
    }

    /// The value as it stands in the text.
    #[must_use]
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// The position of the value's first byte in the scanned text.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// What the value is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.raw.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::Text,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Null,
        }
    }

    /// Whether the value is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// The truth value.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.raw {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The number, if it is written as an integer (no point, no exponent) and fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.raw.parse().ok()
    }

    /// The number, if it is written as an integer (no point, no exponent) and fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        if self.raw == "-0" {
            Some(0)
        } else {
            self.raw.parse().ok()
        }
    }

    /// The number nearest to what is written, if that is finite.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        let number = (self.kind() == Kind::Number).then_some(self.raw)?;
        number
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
    }

    /// As [`as_f64`](Self::as_f64), rounded once to single precision.
    #[must_use]
    pub fn as_f32(&self) -> Option<f32> {
        let number = (self.kind() == Kind::Number).then_some(self.raw)?;
        number
            .parse()
            .ok()
            .filter(|number: &f32| number.is_finite())
    }

    /// The content of a string.
    #[must_use]
    pub fn as_text(&self) -> Option<Text<'a>> {
        self.raw.strip_prefix('"')?.strip_suffix('"').map(Text::new)
    }

    /// The members of an object in the order of the text; nothing for other kinds.
    pub fn entries(&self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> + use<'a> {
        let mut members = Members::new(*self, b'{');
        core::iter::from_fn(move || {
            let key = members.key()?;
            Some((key, members.value()?))
        })
    }

    /// The elements of an array; nothing for other kinds.
    pub fn elements(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let mut members = Members::new(*self, b'[');
        core::iter::from_fn(move || members.value())
    }

    /// The value at a path that begins here.
    ///
    /// Where a key occurs twice the last one counts, as for most JSON readers; to have it refused,
    /// give the path to [`scan`](crate::json::scan).
    #[must_use]
    pub fn get(&self, path: &Path<'_>) -> Option<Value<'a>> {
        (0..path.len()).try_fold(*self, |value, depth| match path.wants_key(depth)? {
            true => value
                .entries()
                .filter_map(|(key, value)| path.key_matches(depth, &key).then_some(value))
                .last(),
            false => value
                .elements()
                .enumerate()
                .find_map(|(index, value)| path.index_matches(depth, index).then_some(value)),
        })
    }
}

/// Walks over what a container holds. The text was validated, so an error means the end.
struct Members<'a> {
    raw: &'a str,
    offset: usize,
    pos: usize,
}

impl<'a> Members<'a> {
    fn new(value: Value<'a>, open: u8) -> Self {
        let pos = if skip::at(value.raw.as_bytes(), 0) == open {
            1
        } else {
            value.raw.len()
        };
        Self {
            raw: value.raw,
            offset: value.offset,
            pos,
        }
    }

    fn key(&mut self) -> Option<Text<'a>> {
        let text = self.raw.as_bytes();
        let start = skip::blank(text, self.pos);
        let key = skip::named_key(text, start).ok()?;
        self.pos = key.behind;
        let content = self.raw.get(start + 1..key.end)?;
        Some(Text::with(content, key.escaped))
    }

    fn value(&mut self) -> Option<Value<'a>> {
        let text = self.raw.as_bytes();
        let start = skip::blank(text, self.pos);
        let end = skip::value(text, start, DEPTH_BOUND).ok()?;
        let value = Value::new(self.raw.get(start..end)?, self.offset + start);
        let next = skip::blank(text, end);
        // Behind the last member stands the closing bracket, at which the next call stops.
        self.pos = if skip::at(text, next) == b',' {
            next + 1
        } else {
            next
        };
        Some(value)
    }
}
