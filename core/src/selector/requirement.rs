//! One condition of a selector, as kept and as read.

use core::cmp::Ordering;
use core::fmt;

use super::ascending::ascending;

/// How a key and its values are compared.
///
/// Complete on purpose: these are all the operators of the Kubernetes grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// `=` or `==`: present with this value.
    Equals,
    /// `!=`: absent, or present with another value.
    NotEquals,
    /// `in`: present with one of the values.
    In,
    /// `notin`: absent, or present with none of the values.
    NotIn,
    /// The bare key: present.
    Exists,
    /// `!key`: absent.
    NotExists,
    /// `>`: present with a larger integer.
    GreaterThan,
    /// `<`: present with a smaller integer.
    LessThan,
}

/// One row of a selector's table: an operator and where in the text its key and values are.
///
/// A row means nothing without the text it was parsed from, so it shows nothing; a selector hands out readable
/// [`RequirementRef`]s instead. The type is public for its size: a table of `N` takes `10 × N` bytes.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    pub(super) key: Span,
    pub(super) operator: Operator,
    /// The one value, or for `in` and `notin` all between the parentheses: lists are split when they are read, so
    /// that their length costs no table space.
    pub(super) values: Span,
}

const _: () = assert!(size_of::<Requirement>() == 10, "the documented memory bill");

/// How many values are sorted in one pass over a list. Most lists are shorter; the longest there can be, some
/// 17 000 different values, takes some five hundred passes.
const VALUES_AT_ONCE: usize = 32;

/// A range of bytes in a selector's text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    start: u16,
    end: u16,
}

impl Span {
    /// `None` if the range lies beyond what a span can reach.
    pub(super) fn new(start: usize, end: usize) -> Option<Self> {
        Some(Self {
            start: start.try_into().ok()?,
            end: end.try_into().ok()?,
        })
    }

    /// The spanned text. Spans come from the text they are read with; should an owner's `as_ref` change its mind,
    /// the answer is empty rather than a panic.
    #[inline]
    pub(super) fn of(self, text: &str) -> &str {
        text.get(usize::from(self.start)..usize::from(self.end))
            .unwrap_or("")
    }
}

/// One requirement of a label selector, readable.
#[derive(Clone, Copy, Debug)]
pub struct RequirementRef<'a> {
    key: &'a str,
    operator: Operator,
    values: &'a str,
}

impl<'a> RequirementRef<'a> {
    #[inline]
    pub(super) fn new(text: &'a str, row: &Requirement) -> Self {
        Self {
            key: row.key.of(text),
            operator: row.operator,
            values: row.values.of(text),
        }
    }

    /// The label's key.
    pub fn key(&self) -> &'a str {
        self.key
    }

    /// The operator.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values in the order they were written, with repetitions: none for the existence operators, at least one
    /// for `in` and `notin` (`()` is the empty string), one for the others.
    pub fn values(&self) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        let none = matches!(self.operator, Operator::Exists | Operator::NotExists);
        // A single value has neither comma nor space, so it survives being treated as a list. `trim_ascii` knows one
        // space more than the lexer, the form feed, but no valid value has that.
        let list = (!none).then(|| self.values.split(','));
        list.into_iter().flatten().map(str::trim_ascii)
    }

    /// Whether a label with this value, or an absent one, meets the requirement.
    #[inline]
    pub fn matches(&self, label: Option<&str>) -> bool {
        match (self.operator, label) {
            (Operator::Equals, Some(value)) => value == self.values,
            (Operator::NotEquals, Some(value)) => value != self.values,
            (Operator::In, Some(value)) => self.lists(value),
            (Operator::NotIn, Some(value)) => !self.lists(value),
            (Operator::Exists, Some(_)) => true,
            (Operator::NotExists, Some(_)) => false,
            (Operator::GreaterThan, Some(value)) => self.order(value) == Some(Ordering::Greater),
            (Operator::LessThan, Some(value)) => self.order(value) == Some(Ordering::Less),
            (Operator::NotEquals | Operator::NotIn | Operator::NotExists, None) => true,
            (_, None) => false,
        }
    }

    /// The one value the label must have, if the requirement says so by `=` or by an `in` with one distinct value.
    pub fn exact(&self) -> Option<&'a str> {
        match self.operator {
            Operator::Equals => Some(self.values),
            Operator::In => {
                let mut values = self.values();
                let first = values.next()?;
                values.all(|value| value == first).then_some(first)
            }
            _ => None,
        }
    }

    /// The canonical order: by key, then operator, then the values as sets.
    pub(super) fn canonical_order(&self, other: &Self) -> Ordering {
        self.key
            .cmp(other.key)
            .then(self.operator.cmp(&other.operator))
            .then_with(|| self.sorted_values().cmp(other.sorted_values()))
    }

    fn sorted_values(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        ascending::<VALUES_AT_ONCE, _>(self.values(), Ord::cmp)
    }

    // Out of line, so that the equality arms stay small enough to inline into a selector's loop.
    #[inline(never)]
    fn lists(&self, value: &str) -> bool {
        self.values().any(|listed| listed == value)
    }

    /// The label's value against the requirement's, if both are integers.
    #[inline(never)]
    fn order(&self, value: &str) -> Option<Ordering> {
        let bound: i64 = self.values.parse().ok()?;
        value.parse().ok().map(|value: i64| value.cmp(&bound))
    }
}

/// The canonical text of this requirement: values sorted, each once, no spaces but those around `in` and `notin`.
impl fmt::Display for RequirementRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, values, .. } = self;
        match self.operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
            Operator::Exists => f.write_str(key),
            Operator::NotExists => write!(f, "!{key}"),
            Operator::In => self.write_list(f, "in"),
            Operator::NotIn => self.write_list(f, "notin"),
        }
    }
}

impl RequirementRef<'_> {
    fn write_list(&self, f: &mut fmt::Formatter<'_>, operator: &str) -> fmt::Result {
        write!(f, "{} {operator} (", self.key)?;
        super::ascending::write_joined(f, self.sorted_values())?;
        f.write_str(")")
    }
}
