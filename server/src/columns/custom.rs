//! The columns of custom resources, as their definitions give them.
//!
//! ```
//! use ringwatch_server::columns::custom::{Columns, Wanted};
//! use ringwatch_server::columns::{ColumnKind, Object, Printer};
//!
//! let printer = Printer::custom(Columns::new(&[Wanted {
//!     name: "Ready",
//!     kind: ColumnKind::String,
//!     format: "",
//!     description: "",
//!     priority: 0,
//!     json_path: r#".status.conditions[?(@.type=="Ready")].status"#,
//! }])?);
//! let bytes = br#"{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
//! let object = Object::read(bytes, &printer)?;
//! assert_eq!(printer.row(&object, "2026-01-01T00:00:00Z".parse()?).to_json(), r#"["a","True"]"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The first column is the name, whatever else is wanted. A path that leads nowhere gives an empty cell,
//! and so does a value of another type than its column; of several values the first is shown.

mod path;
mod walk;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use jiff::Timestamp;

pub use path::{JsonPath, MAX_BYTES, MAX_STEPS, PathError};

use super::row::{Cell, Row};
use super::tree::{Object, Tree};
use super::{Column, ColumnKind, age};

/// Most columns of one kind.
pub const MAX_COLUMNS: usize = 64;

/// A column that a definition asks for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its heading.
    pub name: &'a str,
    /// What its cells are.
    pub kind: ColumnKind,
    /// What its texts mean.
    pub format: &'a str,
    /// One sentence for people; made from the path if empty.
    pub description: &'a str,
    /// Above 0: shown only by `-o wide`.
    pub priority: i32,
    /// Where its values are in an object.
    pub json_path: &'a str,
}

/// The columns of one version of a custom resource, their paths parsed.
#[derive(Debug, Clone)]
pub struct Columns {
    /// One more than there are paths: the name comes first.
    definitions: Vec<Column>,
    paths: Vec<JsonPath>,
}

impl Columns {
    /// Parses the paths of the wanted columns.
    ///
    /// # Errors
    ///
    /// [`ColumnsError`] says which column is wrong and why.
    pub fn new(wanted: &[Wanted<'_>]) -> Result<Self, ColumnsError> {
        if wanted.len() > MAX_COLUMNS {
            return Err(ColumnsError::TooMany {
                columns: wanted.len(),
            });
        }
        let mut columns = Self {
            definitions: vec![Column::name()],
            paths: Vec::with_capacity(wanted.len()),
        };
        for (place, column) in wanted.iter().enumerate() {
            let path = JsonPath::parse(column.json_path)
                .map_err(|error| ColumnsError::Path { place, error })?;
            let description = match column.description {
                "" => format!("The value at {}.", column.json_path),
                given => given.to_owned(),
            };
            columns.definitions.push(Column {
                name: Cow::Owned(column.name.to_owned()),
                kind: column.kind,
                format: Cow::Owned(column.format.to_owned()),
                description: Cow::Owned(description),
                priority: column.priority,
            });
            columns.paths.push(path);
        }
        Ok(columns)
    }

    /// What a definition without columns gets: name and age.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            definitions: vec![Column::name(), AGE],
            paths: vec![JsonPath::creation()],
        }
    }

    pub(super) fn definitions(&self) -> &[Column] {
        &self.definitions
    }

    pub(super) fn row<'a>(&self, object: &'a Object<'_>, now: Timestamp) -> Row<'a> {
        let kinds = self.definitions.iter().skip(1).map(|column| column.kind);
        let values = self.paths.iter().zip(kinds);
        let name = std::iter::once(object.name().into());
        Row {
            cells: name
                .chain(values.map(|(path, kind)| match path.first(object) {
                    Some(value) => cell(value, kind, now),
                    None => Cell::Null,
                }))
                .collect(),
            conditions: &[],
        }
    }
}

const AGE: Column = Column::new(
    "Age",
    ColumnKind::Date,
    "The time since the object was created.",
);

/// A value in a column of this kind.
fn cell<'a>(value: &'a Tree<'_>, kind: ColumnKind, now: Timestamp) -> Cell<'a> {
    match (kind, value) {
        (_, Tree::Null) => match kind {
            // A path that leads to a null has led somewhere.
            ColumnKind::String => "null".into(),
            _ => Cell::Null,
        },
        (ColumnKind::String, Tree::Text(text)) => text.as_ref().into(),
        (ColumnKind::String, other) => walk::json(other).into(),
        (ColumnKind::Integer, Tree::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Cell::Integer(whole),
            // Saturates where the number is larger than any whole one.
            (None, Some(number)) => Cell::Integer(number as i64),
            (None, None) => Cell::Null,
        },
        (ColumnKind::Number, Tree::Number(number)) => {
            number.as_f64().map_or(Cell::Null, Cell::Number)
        }
        (ColumnKind::Boolean, Tree::Bool(value)) => Cell::Bool(*value),
        (ColumnKind::Date, Tree::Text(text)) => match text.as_ref() {
            "" | "null" => "<unknown>".into(),
            text if text.parse::<Timestamp>().is_err() => "<invalid>".into(),
            _ => age::since(value, now).into(),
        },
        _ => Cell::Null,
    }
}

/// Columns that cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnsError {
    /// More than [`MAX_COLUMNS`].
    TooMany {
        /// How many.
        columns: usize,
    },
    /// A path is wrong.
    Path {
        /// The column, counted from 0.
        place: usize,
        /// What is wrong.
        error: PathError,
    },
}

impl fmt::Display for ColumnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { columns } => write!(f, "{columns} columns, limit {MAX_COLUMNS}"),
            Self::Path { place, error } => write!(f, "column {place}: {error}"),
        }
    }
}

impl Error for ColumnsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::TooMany { .. } => None,
            Self::Path { error, .. } => Some(error),
        }
    }
}
