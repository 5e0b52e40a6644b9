//! Revisions: where in the history of a store something happened, and where a reader wants to begin.
//!
//! A [`Revision`] is what Kubernetes shows as `resourceVersion` and etcd counts as its store
//! revision. Text from a request ends here: it becomes a [`Revision`] or a [`StartFrom`] once, and
//! no other module takes a revision as a string.
//!
//! ```
//! use ringwatch_core::revision::{Match, Revision, StartFrom};
//!
//! assert_eq!("1234".parse(), Ok(Revision::new(1234)));
//! assert!("+1".parse::<Revision>().is_err());
//!
//! // `""` asks for the newest state, `"0"` for any state that is at hand.
//! assert_eq!(StartFrom::for_list("", None, false), Ok(StartFrom::Newest));
//! assert_eq!(StartFrom::for_list("0", None, false), Ok(StartFrom::Any));
//! let exact = StartFrom::for_list("7", Some(Match::Exact), false);
//! assert_eq!(exact, Ok(StartFrom::Exact(Revision::new(7))));
//! ```

use core::error::Error;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point in the history of one origin (an etcd cluster, an embedded store).
///
/// Revisions of one origin are comparable as numbers, whatever object or hop they came from.
/// [`Revision::ZERO`] is before the first change; it never stands for an object.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(from = "u64", into = "u64")]
// Some hundred are in every table, beside a pointer and a byte or two: at a multiple of 8 half of their room would be left empty on a 32-bit target.
#[repr(Rust, packed(4))]
pub struct Revision(u64);

#[cfg(feature = "defmt")]
impl defmt::Format for Revision {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Revision({=u64})", self.get());
    }
}

impl Revision {
    /// Before every change.
    pub const ZERO: Self = Self(0);

    /// The revision with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number, as shown in `resourceVersion`.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The revision just before this one; [`Revision::ZERO`] stays where it is.
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl From<Revision> for u64 {
    fn from(revision: Revision) -> Self {
        revision.get()
    }
}

impl From<u64> for Revision {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl FromStr for Revision {
    type Err = ParseRevisionError;

    /// Decimal digits and nothing else: no sign, no space, no other base.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `u64::from_str` would take a leading `+`.
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ParseRevisionError::Syntax);
        }
        text.parse()
            .map(Self)
            .map_err(|_| ParseRevisionError::OutOfRange)
    }
}

/// Why a text is not a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ParseRevisionError {
    /// Something other than decimal digits.
    Syntax,
    /// Digits, but more than 64 bits hold.
    OutOfRange,
}

impl fmt::Display for ParseRevisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "invalid syntax",
            Self::OutOfRange => "value out of range",
        })
    }
}

impl Error for ParseRevisionError {}

/// Which state a get or list is to be answered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFrom {
    /// Whatever is at hand, however old.
    Any,
    /// A state that contains every write that ended before the request began.
    Newest,
    /// Exactly the state at this revision.
    Exact(Revision),
    /// This state or a later one.
    NotOlderThan(Revision),
}

/// The `resourceVersionMatch` parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// `Exact`
    Exact,
    /// `NotOlderThan`
    NotOlderThan,
}

impl StartFrom {
    /// The `resourceVersion` of a GET, which knows no exact read.
    pub fn for_get(resource_version: &str) -> Result<Self, ParseRevisionError> {
        Ok(match parse_requested(resource_version)? {
            None => Self::Newest,
            Some(Revision::ZERO) => Self::Any,
            Some(revision) => Self::NotOlderThan(revision),
        })
    }

    /// The `resourceVersion` and `resourceVersionMatch` of a LIST; `limited` says whether `limit` is set.
    ///
    /// A limited list at a revision without a match is exact: paging began that way, and clients
    /// rely on it.
    pub fn for_list(
        resource_version: &str,
        matching: Option<Match>,
        limited: bool,
    ) -> Result<Self, ListStartError> {
        let requested = parse_requested(resource_version).map_err(ListStartError::Revision)?;
        match (requested, matching) {
            (None, Some(_)) => Err(ListStartError::MatchWithoutRevision),
            (None, None) => Ok(Self::Newest),
            (Some(Revision::ZERO), Some(Match::Exact)) => Err(ListStartError::ExactZero),
            (Some(Revision::ZERO), _) => Ok(Self::Any),
            (Some(revision), Some(Match::Exact)) => Ok(Self::Exact(revision)),
            (Some(revision), None) if limited => Ok(Self::Exact(revision)),
            (Some(revision), _) => Ok(Self::NotOlderThan(revision)),
        }
    }
}

/// `None` for the empty text, which differs from `"0"`.
fn parse_requested(text: &str) -> Result<Option<Revision>, ParseRevisionError> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some)
}

/// Why the parameters of a list name no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ListStartError {
    /// `resourceVersion` is not a revision.
    Revision(ParseRevisionError),
    /// `resourceVersionMatch` without `resourceVersion`.
    MatchWithoutRevision,
    /// `resourceVersionMatch=Exact` with `resourceVersion=0`.
    ExactZero,
}

impl fmt::Display for ListStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revision(error) => write!(f, "resourceVersion: {error}"),
            Self::MatchWithoutRevision => {
                f.write_str("resourceVersionMatch is forbidden unless resourceVersion is provided")
            }
            Self::ExactZero => {
                f.write_str("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")
            }
        }
    }
}

impl Error for ListStartError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_decimals_are_revisions() {
        for text in ["", "+1", "-1", " 1", "1 ", "0x1", "1_0", "१", "abc"] {
            assert_eq!(
                text.parse::<Revision>(),
                Err(ParseRevisionError::Syntax),
                "{text:?}"
            );
        }
        assert_eq!("007".parse(), Ok(Revision::new(7)));
        assert_eq!("18446744073709551615".parse(), Ok(Revision::new(u64::MAX)));
        assert_eq!(
            "18446744073709551616".parse::<Revision>(),
            Err(ParseRevisionError::OutOfRange)
        );
    }

    #[test]
    fn list_start_follows_the_table() {
        let n = Revision::new(5);
        let at_least = Some(Match::NotOlderThan);
        let cases = [
            ("", None, false, Ok(StartFrom::Newest)),
            ("", None, true, Ok(StartFrom::Newest)),
            ("0", None, true, Ok(StartFrom::Any)),
            ("0", at_least, true, Ok(StartFrom::Any)),
            ("5", None, false, Ok(StartFrom::NotOlderThan(n))),
            ("5", None, true, Ok(StartFrom::Exact(n))),
            ("5", at_least, true, Ok(StartFrom::NotOlderThan(n))),
            ("5", Some(Match::Exact), false, Ok(StartFrom::Exact(n))),
            (
                "0",
                Some(Match::Exact),
                false,
                Err(ListStartError::ExactZero),
            ),
            (
                "",
                at_least,
                false,
                Err(ListStartError::MatchWithoutRevision),
            ),
        ];
        for (text, matching, limited, expected) in cases {
            assert_eq!(StartFrom::for_list(text, matching, limited), expected);
        }
        assert_eq!(StartFrom::for_get(""), Ok(StartFrom::Newest));
        assert_eq!(StartFrom::for_get("0"), Ok(StartFrom::Any));
        assert_eq!(StartFrom::for_get("5"), Ok(StartFrom::NotOlderThan(n)));
    }
}
