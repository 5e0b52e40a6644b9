//! Field selectors: conditions on a few fields that a resource offers for selection.
//!
//! ```text
//! selector = [ term *( "," term ) ]              empty terms are skipped
//! term     = field ( "!=" | "==" | "=" ) value   in the value: \\ \, \=
//! ```
//!
//! The grammar is simpler than that of labels and has no tokens: the text is cut at each comma that has no
//! backslash before it, and each term at its first operator. Spaces count. Which fields exist is for the
//! resource to say, so any name is accepted here, even an empty one.

use core::cmp::Ordering;
use core::fmt;

use heapless::Vec;

use super::ascending::{ascending, write_joined};
use super::error::{SelectorError, SelectorErrorKind};
use super::field_value::{FieldValue, check};
use super::requirement::{Operator, Requirement, Span};
use super::table::{Table, push};

/// A parsed field selector: all its requirements must hold.
///
/// `T` owns the text and `Q` the table of requirements, as in [`LabelSelector`](super::LabelSelector). The default
/// value is the empty selector, which matches everything.
///
/// ```
/// use ringwatch_core::selector::FieldSelector;
///
/// let selector = FieldSelector::<&str>::parse(r"spec.host==a\,b,spec.paused!=true")?;
/// assert!(selector.matches(|field| (field == "spec.host").then_some("a,b")));
/// assert!(!selector.matches(|_| None)); // an absent field is an empty one
/// assert_eq!(format!("{selector}"), r"spec.host=a\,b,spec.paused!=true");
/// # Ok::<(), ringwatch_core::selector::SelectorError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct FieldSelector<T, Q = Vec<Requirement, 8>>(Table<T, Q>);

impl<T: AsRef<str>, const R: usize> FieldSelector<T, Vec<Requirement, R>> {
    /// Parses a selector as a client writes it; `R` is the most requirements it may have.
    pub fn parse(text: T) -> Result<Self, SelectorError> {
        Table::parse(text, requirements).map(Self)
    }
}

impl<T: AsRef<str>, Q: AsRef<[Requirement]>> FieldSelector<T, Q> {
    /// Whether there are no requirements, so that everything matches.
    pub fn is_empty(&self) -> bool {
        self.0.rows().is_empty()
    }

    /// The text as it was given.
    pub fn text(&self) -> &str {
        self.0.text()
    }

    /// Whether an object matches whose fields are looked up by `field`; an absent field has the value `""`.
    #[inline]
    pub fn matches<'v>(&self, field: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.requirements()
            .all(|requirement| requirement.matches(field(requirement.key())))
    }

    /// The value that the field `key` must have, by the first requirement that says so.
    pub fn exact(&self, key: &str) -> Option<FieldValue<'_>> {
        self.terms()
            .find(|(term, _)| *term == key)
            .map(|(_, value)| value)
    }

    /// Each field that must have one certain value, with that value. A field that is required twice comes twice.
    pub fn terms(&self) -> impl Iterator<Item = (&str, FieldValue<'_>)> {
        self.requirements()
            .filter(|requirement| requirement.operator == Operator::Equals)
            .map(|requirement| (requirement.key, requirement.value))
    }

    /// The requirements in the order they were written; a resource checks here that it has the fields.
    #[inline]
    pub fn requirements(&self) -> impl Iterator<Item = FieldRequirementRef<'_>> + Clone {
        let text = self.0.text();
        let rows = self.0.rows().iter();
        rows.map(move |row| FieldRequirementRef {
            key: row.key.of(text),
            operator: row.operator,
            value: FieldValue::new(row.values.of(text)),
        })
    }

    /// Moves the requirements into other storage. `f` must keep them as they are, or the selector means something
    /// else.
    pub fn map_table<Q2: AsRef<[Requirement]>>(
        self,
        f: impl FnOnce(Q) -> Q2,
    ) -> FieldSelector<T, Q2> {
        FieldSelector(self.0.map_rows(f))
    }
}

/// The canonical text: requirements sorted and each once, with `=` for `==` and values escaped.
///
/// Takes time quadratic in the number of requirements.
impl<T: AsRef<str>, Q: AsRef<[Requirement]>> fmt::Display for FieldSelector<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sorted = ascending::<8, _>(self.requirements(), FieldRequirementRef::canonical_order);
        write_joined(f, sorted)
    }
}

/// One requirement of a field selector, readable.
#[derive(Clone, Copy, Debug)]
pub struct FieldRequirementRef<'a> {
    key: &'a str,
    operator: Operator,
    value: FieldValue<'a>,
}

impl<'a> FieldRequirementRef<'a> {
    /// The field's name, exactly as written: names have no escapes.
    pub fn key(&self) -> &'a str {
        self.key
    }

    /// [`Operator::Equals`] or [`Operator::NotEquals`].
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The value compared with.
    pub fn value(&self) -> FieldValue<'a> {
        self.value
    }

    /// Whether a field with this value, or an absent one, meets the requirement.
    #[inline]
    pub fn matches(&self, field: Option<&str>) -> bool {
        (self.value == *field.unwrap_or("")) == (self.operator == Operator::Equals)
    }

    fn canonical_order(&self, other: &Self) -> Ordering {
        let order = self.key.cmp(other.key);
        order
            .then(self.operator.cmp(&other.operator))
            .then(self.value.cmp(&other.value))
    }
}

/// The canonical text of this requirement.
impl fmt::Display for FieldRequirementRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.operator {
            Operator::Equals => "=",
            _ => "!=",
        };
        write!(f, "{}{operator}{}", self.key, self.value.escaped())
    }
}

fn requirements<const R: usize>(text: &str) -> Result<Vec<Requirement, R>, SelectorError> {
    let mut rows = Vec::new();
    let mut start = 0;
    while start <= text.len() {
        let term = term_at(text, start);
        if !term.is_empty() {
            push(&mut rows, requirement(term, start)?, start)?;
        }
        start += term.len() + 1;
    }
    Ok(rows)
}

/// The term that begins at `start` and ends before the next comma without a backslash.
pub(super) fn term_at(text: &str, start: usize) -> &str {
    let rest = text.get(start..).unwrap_or("");
    let mut escaped = false;
    let end = rest.bytes().position(|byte| {
        let ends = byte == b',' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.and_then(|end| rest.get(..end)).unwrap_or(rest)
}

/// Parses a term found at `offset`.
fn requirement(term: &str, offset: usize) -> Result<Requirement, SelectorError> {
    let no_operator = SelectorError::new(offset, SelectorErrorKind::NoOperator);
    let (key, operator, value) = split(term).ok_or(no_operator)?;
    let end = offset + term.len();
    let value_start = end - value.len();
    check(value, value_start)?;

    let too_long = SelectorError::new(offset, SelectorErrorKind::TextTooLong);
    Ok(Requirement {
        key: Span::new(offset, offset + key.len()).ok_or(too_long)?,
        operator,
        values: Span::new(value_start, end).ok_or(too_long)?,
    })
}

/// Cuts a term at its first operator. All of them have a `=`, so the first `=` is in the first operator; a lone `!`
/// belongs to the field's name.
fn split(term: &str) -> Option<(&str, Operator, &str)> {
    let (before, after) = term.split_once('=')?;
    Some(match before.strip_suffix('!') {
        Some(key) => (key, Operator::NotEquals, after),
        None => (
            before,
            Operator::Equals,
            after.strip_prefix('=').unwrap_or(after),
        ),
    })
}
