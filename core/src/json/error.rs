//! What can be wrong with a JSON text, and where.

use core::error::Error;
use core::fmt;

/// Why a text was refused by [`scan`](crate::json::scan).
///
/// Every variant is the text's fault and stays wrong when tried again, except [`TooLarge`] and
/// [`TooDeep`], which larger [`Limits`](crate::json::Limits) may allow, and [`Paths`], which is the
/// caller's fault. Offsets count bytes from the start of the text.
///
/// [`TooLarge`]: ScanError::TooLarge
/// [`TooDeep`]: ScanError::TooDeep
/// [`Paths`]: ScanError::Paths
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ScanError {
    /// The text is longer than the limit.
    TooLarge {
        /// Bytes in the text.
        len: usize,
        /// Bytes allowed.
        max: usize,
    },
    /// A container is nested deeper than the limit.
    TooDeep {
        /// The bracket that opens the container.
        offset: usize,
    },
    /// The bytes are not UTF-8.
    NotUtf8 {
        /// The first byte that belongs to no character.
        offset: usize,
    },
    /// The text is not an object.
    NotAnObject {
        /// The first byte after leading white space.
        offset: usize,
    },
    /// A byte that the grammar does not allow here, or the end of the text where more is needed.
    Unexpected {
        /// The byte, or the length of the text.
        offset: usize,
    },
    /// A raw control character inside a string.
    Control {
        /// The character.
        offset: usize,
    },
    /// A backslash that begins no known escape.
    BadEscape {
        /// The backslash.
        offset: usize,
    },
    /// A `\u` escape that is half of a surrogate pair.
    LoneSurrogate {
        /// The backslash.
        offset: usize,
    },
    /// A number that does not follow the grammar.
    BadNumber {
        /// The byte where the number goes wrong.
        offset: usize,
    },
    /// Something other than white space after the object.
    Trailing {
        /// The first byte of it.
        offset: usize,
    },
    /// A wanted path, or the beginning of one, occurs twice.
    Duplicate {
        /// The opening quote of the second key.
        offset: usize,
    },
    /// More paths than [`MAX_PATHS`](crate::json::MAX_PATHS), or fewer places for found values than
    /// paths.
    Paths {
        /// How many paths there would have been room for.
        room: usize,
    },
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooLarge { len, max } => write!(f, "JSON text of {len} bytes, limit {max}"),
            Self::TooDeep { offset } => write!(f, "nested too deep at byte {offset}"),
            Self::NotUtf8 { offset } => write!(f, "not UTF-8 at byte {offset}"),
            Self::NotAnObject { offset } => write!(f, "expected an object at byte {offset}"),
            Self::Unexpected { offset } => write!(f, "unexpected byte or end at byte {offset}"),
            Self::Control { offset } => write!(f, "control character in string at byte {offset}"),
            Self::BadEscape { offset } => write!(f, "bad escape at byte {offset}"),
            Self::LoneSurrogate { offset } => write!(f, "lone surrogate at byte {offset}"),
            Self::BadNumber { offset } => write!(f, "bad number at byte {offset}"),
            Self::Trailing { offset } => write!(f, "text after the object at byte {offset}"),
            Self::Duplicate { offset } => write!(f, "duplicate key at byte {offset}"),
            Self::Paths { room } => write!(f, "too many paths, room for {room}"),
        }
    }
}

impl Error for ScanError {}
