//! The printed form of one object.

use std::borrow::Cow;

/// One value in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// Nothing to show.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
}

impl Cell<'_> {
    /// Appends the cell as JSON.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Self::Integer(value) => out.extend_from_slice(value.to_string().as_bytes()),
            // JSON has no infinity; the serializer writes null for it.
            Self::Number(value) => write_json(value, out),
            Self::Text(text) => write_json(text, out),
        }
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for Cell<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

/// A fact about a row as a whole, for clients that hide finished work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// What is said; `Completed` is the only one in use.
    pub kind: &'static str,
    /// In one word, why.
    pub reason: &'static str,
    /// In one sentence, why.
    pub message: &'static str,
}

/// The cells of one object, in the order of the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// The cells.
    pub cells: Vec<Cell<'a>>,
    /// What holds for the row; all have the status `True`.
    pub conditions: &'static [Condition],
}

impl<'a> Row<'a> {
    pub(super) fn new<const N: usize>(cells: [Cell<'a>; N]) -> Self {
        Self {
            cells: cells.into(),
            conditions: &[],
        }
    }

    /// Appends the cells as a JSON array.
    pub fn write_cells(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (place, cell) in self.cells.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            cell.write_to(out);
        }
        out.push(b']');
    }

    /// The cells as a JSON array, for tests and examples.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        self.write_cells(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// Appends a value that cannot fail to be serialized, to a buffer that cannot fail to take it.
fn write_json<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}
