//! Label selectors: conditions on an object's labels.

use core::fmt;

use heapless::Vec;

use super::ascending::{ascending, write_joined};
use super::error::SelectorError;
use super::parse;
use super::requirement::{Requirement, RequirementRef};
use super::table::Table;

/// A parsed label selector: all its requirements must hold.
///
/// `T` owns the text, `Q` the table of requirements. By default the table has room for eight; name another size to
/// get it, or move the rows into other storage with [`map_table`](Self::map_table).
///
/// The default value is the empty selector, which matches everything.
///
/// ```
/// use heapless::{String, Vec};
/// use ringwatch_core::selector::{LabelSelector, Requirement};
///
/// // A device's selector: owned text of at most 32 bytes, at most two requirements.
/// type Small = LabelSelector<String<32>, Vec<Requirement, 2>>;
/// let small = Small::parse("a in (1,2),b".try_into()?)?;
/// assert!(small.matches(|_| Some("2")));
/// assert!(Small::parse("a,b,c".try_into()?).is_err());
///
/// // A server's: parsed with much room, kept with none to spare.
/// let large = LabelSelector::<&str, Vec<Requirement, 64>>::parse("a=1,b=2")?;
/// let kept = large.map_table(|rows| rows.iter().copied().collect::<Box<[_]>>());
/// assert!(kept.terms().eq([("a", "1"), ("b", "2")]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LabelSelector<T, Q = Vec<Requirement, 8>>(Table<T, Q>);

impl<T: AsRef<str>, const R: usize> LabelSelector<T, Vec<Requirement, R>> {
    /// Parses a selector as a client writes it; `R` is the most requirements it may have.
    pub fn parse(text: T) -> Result<Self, SelectorError> {
        Table::parse(text, parse::requirements).map(Self)
    }
}

impl<T: AsRef<str>, Q: AsRef<[Requirement]>> LabelSelector<T, Q> {
    /// Whether there are no requirements, so that everything matches.
    pub fn is_empty(&self) -> bool {
        self.0.rows().is_empty()
    }

    /// The text as it was given.
    pub fn text(&self) -> &str {
        self.0.text()
    }

    /// Whether an object matches whose labels are looked up by `label`.
    #[inline]
    pub fn matches<'v>(&self, label: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.requirements()
            .all(|requirement| requirement.matches(label(requirement.key())))
    }

    /// The value that `key` must have, by the first requirement that says so.
    pub fn exact(&self, key: &str) -> Option<&str> {
        self.terms()
            .find(|(term, _)| *term == key)
            .map(|(_, value)| value)
    }

    /// Each key that must have one certain value, with that value: what an index can be asked for. A key that is
    /// required twice comes twice.
    pub fn terms(&self) -> impl Iterator<Item = (&str, &str)> {
        self.requirements()
            .filter_map(|requirement| Some((requirement.key(), requirement.exact()?)))
    }

    /// The requirements in the order they were written.
    #[inline]
    pub fn requirements(&self) -> impl Iterator<Item = RequirementRef<'_>> + Clone {
        let text = self.0.text();
        let rows = self.0.rows().iter();
        rows.map(move |row| RequirementRef::new(text, row))
    }

    /// Moves the requirements into other storage. `f` must keep them as they are, or the selector means something
    /// else.
    pub fn map_table<Q2: AsRef<[Requirement]>>(
        self,
        f: impl FnOnce(Q) -> Q2,
    ) -> LabelSelector<T, Q2> {
        LabelSelector(self.0.map_rows(f))
    }
}

/// The canonical text: requirements sorted and each once, without needless spaces.
///
/// Takes time quadratic in the number of requirements and in the length of a list: for logs and index keys, not for
/// every event.
impl<T: AsRef<str>, Q: AsRef<[Requirement]>> fmt::Display for LabelSelector<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sorted = ascending::<8, _>(self.requirements(), RequirementRef::canonical_order);
        write_joined(f, sorted)
    }
}
