//! The device's side: from packed fields to a struct.

use core::error::Error;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::project::Issue;

/// Reads packed fields and the trailer behind them.
///
/// `T` is a struct with one `Option` per field, in the order of the list. A device that does not
/// care about issues may use `postcard::from_bytes::<T>` instead, which leaves the trailer unread.
///
/// # Errors
///
/// See [`ReadError`]. All of them mean that sender and receiver disagree on the list of fields, or
/// that the bytes were damaged; reading the same bytes again does not help.
pub fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<(T, Issues), ReadError> {
    let (fields, trailer) = postcard::take_from_bytes(bytes).map_err(|_| ReadError::Fields)?;
    let offset = bytes.len() - trailer.len();
    let (issues, rest) =
        postcard::take_from_bytes(trailer).map_err(|_| ReadError::Trailer { offset })?;
    if !rest.is_empty() {
        return Err(ReadError::TrailingBytes {
            offset: bytes.len() - rest.len(),
        });
    }
    Ok((fields, issues))
}

/// Which fields are `None` although the object had a value for them.
///
/// Fields are counted from 0 in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Issues {
    mismatched: u32,
    too_long: u32,
}

impl Issues {
    /// Whether every value in the object could be packed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.mismatched == 0 && self.too_long == 0
    }

    /// Whether field `index` had a value of another type, or a number out of range.
    #[must_use]
    pub const fn is_mismatched(&self, index: usize) -> bool {
        self.mismatched & bit(index) != 0
    }

    /// Whether field `index` had a value longer than its maximum.
    #[must_use]
    pub const fn is_too_long(&self, index: usize) -> bool {
        self.too_long & bit(index) != 0
    }

    pub(super) fn note(&mut self, index: usize, issue: Issue) {
        match issue {
            Issue::Mismatched => self.mismatched |= bit(index),
            Issue::TooLong => self.too_long |= bit(index),
        }
    }
}

/// The bit of a field; none for an index that no field can have.
const fn bit(index: usize) -> u32 {
    if index < 32 { 1 << index } else { 0 }
}

/// Why packed fields could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes do not begin with the struct.
    Fields,
    /// No trailer behind the struct.
    Trailer {
        /// Where it should begin.
        offset: usize,
    },
    /// Bytes behind the trailer.
    TrailingBytes {
        /// The first of them.
        offset: usize,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fields => f.write_str("the fields do not fit the struct"),
            Self::Trailer { offset } => write!(f, "no trailer at byte {offset}"),
            Self::TrailingBytes { offset } => {
                write!(f, "bytes behind the trailer at byte {offset}")
            }
        }
    }
}

impl Error for ReadError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_bytes_are_refused() {
        type One = (Option<bool>,);
        assert_eq!(read::<One>(&[]), Err(ReadError::Fields));
        assert_eq!(read::<One>(&[2, 0, 0]), Err(ReadError::Fields));
        assert_eq!(
            read::<One>(&[1, 1, 0]),
            Err(ReadError::Trailer { offset: 2 })
        );
        assert_eq!(
            read::<One>(&[0, 0, 0, 9]),
            Err(ReadError::TrailingBytes { offset: 3 })
        );
        assert!(read::<One>(&[0, 1, 0]).unwrap().1.is_mismatched(0));
    }

    #[test]
    fn no_field_beyond_the_last_has_an_issue() {
        let issues = Issues {
            mismatched: u32::MAX,
            too_long: u32::MAX,
        };
        assert!(issues.is_mismatched(31) && issues.is_too_long(31));
        assert!(!issues.is_mismatched(32) && !issues.is_too_long(usize::MAX));
    }
}
