//! What label and field selectors are made of: a text, and rows that point into it.

use heapless::Vec;

use super::error::{SelectorError, SelectorErrorKind};
use super::requirement::Requirement;

/// A selector's text and the requirements found in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Table<T, Q> {
    text: T,
    rows: Q,
}

impl<T: AsRef<str>, const R: usize> Table<T, Vec<Requirement, R>> {
    /// Keeps `text` with the rows `parse` finds in it, if it is short enough for them to point into.
    pub(super) fn parse(
        text: T,
        parse: impl FnOnce(&str) -> Result<Vec<Requirement, R>, SelectorError>,
    ) -> Result<Self, SelectorError> {
        let reach = usize::from(u16::MAX);
        let given = text.as_ref();
        if given.len() > reach {
            let offset = given.floor_char_boundary(reach);
            return Err(SelectorError::new(offset, SelectorErrorKind::TextTooLong));
        }
        let rows = parse(given)?;
        Ok(Self { text, rows })
    }
}

impl<T: AsRef<str>, Q: AsRef<[Requirement]>> Table<T, Q> {
    pub(super) fn text(&self) -> &str {
        self.text.as_ref()
    }

    pub(super) fn rows(&self) -> &[Requirement] {
        self.rows.as_ref()
    }

    pub(super) fn map_rows<Q2>(self, f: impl FnOnce(Q) -> Q2) -> Table<T, Q2> {
        Table {
            text: self.text,
            rows: f(self.rows),
        }
    }
}

/// Adds a row that was found at `offset`.
pub(super) fn push<const R: usize>(
    rows: &mut Vec<Requirement, R>,
    row: Requirement,
    offset: usize,
) -> Result<(), SelectorError> {
    let full = SelectorErrorKind::TooManyRequirements { limit: R };
    rows.push(row).map_err(|_| SelectorError::new(offset, full))
}
