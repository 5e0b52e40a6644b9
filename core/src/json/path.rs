//! Where in an object a value is: `metadata.labels`, `spec.containers[0].image`.
//!
//! A [`Path`] is parsed once, keeps the text it came from and remembers where its segments are, so
//! that comparing a key costs a length check and one comparison of bytes. Parsing is `const`, so a
//! fixed path can be checked by the compiler.
//!
//! ```
//! use ringwatch_core::json::{Path, PathError};
//!
//! const NODE: Path<'static> = match Path::parse("spec.nodeName") {
//!     Ok(path) => path,
//!     Err(_) => panic!("a path with a typing error does not compile"),
//! };
//! assert_eq!(NODE.len(), 2);
//! // A leading dot is tolerated; a dot inside a key is escaped.
//! assert_eq!(Path::parse(r".metadata.labels.app\.kubernetes\.io/name")?.len(), 3);
//! assert_eq!(Path::parse("spec..x"), Err(PathError::EmptyKey { offset: 5 }));
//! # Ok::<(), PathError>(())
//! ```

use core::error::Error;
use core::fmt;

use super::text::Text;

/// Most segments a path can have.
pub const MAX_SEGMENTS: usize = 8;

/// A parsed path of at most [`MAX_SEGMENTS`] keys and indices.
///
/// | text | meaning |
/// |---|---|
/// | `a.b` | member `b` of the object that is member `a` |
/// | `.a` | the same as `a` |
/// | `a[3]` | fourth element of the array that is member `a` |
/// | `a\.b` | member `a.b`; a backslash takes the meaning from any of `. [ ] , : \` and space |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path<'a> {
    text: &'a str,
    segments: [Segment; MAX_SEGMENTS],
    len: u8,
}

/// One step of a path. Positions are `u16`, so that a table of paths stays small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Segment {
    Key { start: u16, end: u16, escaped: bool },
    Index(u16),
}

impl<'a> Path<'a> {
    /// Parses a path.
    ///
    /// # Errors
    ///
    /// Says what is wrong and at which byte; see [`PathError`].
    pub const fn parse(text: &'a str) -> Result<Self, PathError> {
        if text.len() > u16::MAX as usize {
            return Err(PathError::TooLong {
                offset: u16::MAX as usize,
            });
        }
        let bytes = text.as_bytes();
        let mut path = Path {
            text,
            segments: [Segment::Index(0); MAX_SEGMENTS],
            len: 0,
        };
        let mut rest = bytes;
        if let [b'.', tail @ ..] = rest {
            rest = tail;
        }
        loop {
            let offset = bytes.len() - rest.len();
            let segment;
            (segment, rest) = match rest {
                [b'[', tail @ ..] => match index(tail, bytes.len()) {
                    Ok(parsed) => parsed,
                    Err(error) => return Err(error),
                },
                _ => match key(rest, bytes.len()) {
                    Ok(parsed) => parsed,
                    Err(error) => return Err(error),
                },
            };
            let Some((_, places)) = path.segments.split_at_mut_checked(path.len as usize) else {
                return Err(PathError::TooManySegments { offset });
            };
            let Some(place) = places.first_mut() else {
                return Err(PathError::TooManySegments { offset });
            };
            *place = segment;
            path.len += 1;
            rest = match rest {
                [] => return Ok(path),
                [b'[', ..] => rest,
                [b'.', tail @ ..] if !matches!(tail, [b'[', ..]) => tail,
                _ => {
                    return Err(PathError::Unexpected {
                        offset: bytes.len() - rest.len(),
                    });
                }
            };
        }
    }

    /// The text without a leading dot.
    #[must_use]
    pub fn as_str(&self) -> &'a str {
        self.text.strip_prefix('.').unwrap_or(self.text)
    }

    /// How many segments there are; never zero.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a path is never empty")]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the segment at `depth` is the key `key`.
    #[inline]
    pub(crate) fn key_matches(&self, depth: usize, key: &Text<'_>) -> bool {
        let Some(&Segment::Key {
            start,
            end,
            escaped,
        }) = self.segment(depth)
        else {
            return false;
        };
        let wanted = usize::from(start)..usize::from(end);
        match key.plain() {
            Some(plain) if !escaped => {
                // The length tells most keys apart.
                plain.len() == wanted.len()
                    && self.text.as_bytes().get(wanted) == Some(plain.as_bytes())
            }
            _ => unescaped(self.text.get(wanted).unwrap_or_default()).eq(key.chars()),
        }
    }

    /// Whether the segment at `depth` is the index `index`.
    pub(crate) fn index_matches(&self, depth: usize, index: usize) -> bool {
        matches!(self.segment(depth), Some(&Segment::Index(wanted)) if usize::from(wanted) == index)
    }

    /// Whether the segment at `depth` is a key (`Some(true)`) or an index (`Some(false)`).
    pub(crate) fn wants_key(&self, depth: usize) -> Option<bool> {
        self.segment(depth)
            .map(|segment| matches!(segment, Segment::Key { .. }))
    }

    /// The segment at `depth`, which callers keep below [`len`](Self::len).
    fn segment(&self, depth: usize) -> Option<&Segment> {
        self.segments.get(depth)
    }
}

/// Prints the path so that it parses to the same segments.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a text is not a path. Offsets count bytes from the start of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum PathError {
    /// A key without characters.
    EmptyKey {
        /// Where the key should be.
        offset: usize,
    },
    /// A backslash before a character that needs none, or at the end.
    BadEscape {
        /// The backslash.
        offset: usize,
    },
    /// Brackets that hold no number up to 65535 without leading zeros.
    BadIndex {
        /// The first byte inside the brackets.
        offset: usize,
    },
    /// A byte that cannot stand here.
    Unexpected {
        /// The byte.
        offset: usize,
    },
    /// More than [`MAX_SEGMENTS`] segments.
    TooManySegments {
        /// The first segment that is too many.
        offset: usize,
    },
    /// A text of more than 65535 bytes.
    TooLong {
        /// The first byte that is too many.
        offset: usize,
    },
}

impl PathError {
    /// Where in the text the error is.
    #[must_use]
    pub const fn offset(&self) -> usize {
        match *self {
            Self::EmptyKey { offset }
            | Self::BadEscape { offset }
            | Self::BadIndex { offset }
            | Self::Unexpected { offset }
            | Self::TooManySegments { offset }
            | Self::TooLong { offset } => offset,
        }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::EmptyKey { .. } => "empty key",
            Self::BadEscape { .. } => "needless or unfinished escape",
            Self::BadIndex { .. } => "bad index",
            Self::Unexpected { .. } => "unexpected character",
            Self::TooManySegments { .. } => "too many segments",
            Self::TooLong { .. } => "path too long",
        };
        write!(f, "{what} at byte {}", self.offset())
    }
}

impl Error for PathError {}

/// Reads a key from the front of `rest`, the end of a text of `len` bytes.
const fn key(mut rest: &[u8], len: usize) -> Result<(Segment, &[u8]), PathError> {
    let start = len - rest.len();
    let mut escaped = false;
    loop {
        rest = match rest {
            [] | [b'.' | b'[', ..] => break,
            [
                b'\\',
                b'.' | b'[' | b']' | b',' | b':' | b' ' | b'\\',
                tail @ ..,
            ] => {
                escaped = true;
                tail
            }
            [b'\\', ..] => {
                return Err(PathError::BadEscape {
                    offset: len - rest.len(),
                });
            }
            [b']', ..] => {
                return Err(PathError::Unexpected {
                    offset: len - rest.len(),
                });
            }
            [_, tail @ ..] => tail,
        };
    }
    let end = len - rest.len();
    if start == end {
        return Err(PathError::EmptyKey { offset: start });
    }
    // The whole text is known to be at most 65535 bytes long.
    Ok((
        Segment::Key {
            start: start as u16,
            end: end as u16,
            escaped,
        },
        rest,
    ))
}

/// Reads a number and the closing bracket.
const fn index(mut rest: &[u8], len: usize) -> Result<(Segment, &[u8]), PathError> {
    let offset = len - rest.len();
    let mut index: u16 = 0;
    loop {
        let digit;
        (digit, rest) = match rest {
            [b']', tail @ ..] if len - rest.len() > offset => {
                return Ok((Segment::Index(index), tail));
            }
            // One spelling per number: a second digit after a zero is refused.
            [digit @ b'0'..=b'9', tail @ ..] if index > 0 || len - rest.len() == offset => {
                ((*digit - b'0') as u16, tail)
            }
            _ => return Err(PathError::BadIndex { offset }),
        };
        index = match index.checked_mul(10) {
            Some(tens) => match tens.checked_add(digit) {
                Some(index) => index,
                None => return Err(PathError::BadIndex { offset }),
            },
            None => return Err(PathError::BadIndex { offset }),
        };
    }
}

/// The characters of a key with its backslashes taken away.
fn unescaped(key: &str) -> impl Iterator<Item = char> + '_ {
    let mut chars = key.chars();
    core::iter::from_fn(move || match chars.next() {
        Some('\\') => chars.next(),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_point_at_the_fault() {
        for (text, error) in [
            ("", PathError::EmptyKey { offset: 0 }),
            (".", PathError::EmptyKey { offset: 1 }),
            ("a.", PathError::EmptyKey { offset: 2 }),
            ("a.[0]", PathError::Unexpected { offset: 1 }),
            ("a[0]b", PathError::Unexpected { offset: 4 }),
            ("a[]", PathError::BadIndex { offset: 2 }),
            ("a[01]", PathError::BadIndex { offset: 2 }),
            ("a[65536]", PathError::BadIndex { offset: 2 }),
            ("a[1", PathError::BadIndex { offset: 2 }),
            ("a]", PathError::Unexpected { offset: 1 }),
            (r"a\x", PathError::BadEscape { offset: 1 }),
            (r"a\", PathError::BadEscape { offset: 1 }),
            (
                "a.b.c.d.e.f.g.h.i",
                PathError::TooManySegments { offset: 16 },
            ),
        ] {
            assert_eq!(Path::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn the_longest_path_is_accepted() {
        assert_eq!(
            Path::parse("a.b[65535][0].e.f.g.h").map(|path| path.len()),
            Ok(8)
        );
    }

    #[test]
    fn a_table_of_paths_stays_small() {
        assert!(size_of::<Path<'_>>() <= 72, "{}", size_of::<Path<'_>>());
    }
}
