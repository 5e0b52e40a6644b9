//! The field list: from text to a table of spans, and back to canonical text.

use core::error::Error;
use core::fmt;

use crate::json::{Path, PathError};

/// Most fields in a list: the trailer has one bit for each.
pub const MAX_FIELDS: usize = 32;

/// A parsed field list.
///
/// It keeps the text it was parsed from (`T`: a `&str`, a heapless or an owned string) and a table
/// of fields (`Q`), whose capacity the caller chooses.
///
/// ```
/// use ringwatch_core::projection::{ParseError, Projection};
///
/// let projection = Projection::<_>::parse(" .spec.on : bool , spec.name:text( 16 )")?;
/// assert_eq!(projection.to_string(), "spec.on:bool,spec.name:text(16)");
/// assert_eq!(
///     Projection::<_>::parse("spec.on:boolean").err(),
///     Some(ParseError::UnknownType { offset: 8 }),
/// );
/// # Ok::<(), ParseError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Projection<T, Q = heapless::Vec<Field, 8>> {
    text: T,
    fields: Q,
}

/// One field: where its path stands in the text, and its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    start: u16,
    end: u16,
    kind: FieldType,
}

/// What a field is on the device. Complete: a new type needs a new version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// `bool`
    Bool,
    /// `i32`
    I32,
    /// `i64`
    I64,
    /// `u32`
    U32,
    /// `u64`
    U64,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// A string.
    Text {
        /// Most bytes of the decoded string.
        max: u16,
    },
    /// Any value as JSON text.
    Json {
        /// Most bytes of the JSON text.
        max: u16,
    },
}

impl<T: AsRef<str>, const N: usize> Projection<T, heapless::Vec<Field, N>> {
    /// Parses a list of at most `N` and at most [`MAX_FIELDS`] fields.
    ///
    /// # Errors
    ///
    /// Says what is wrong and at which byte; see [`ParseError`].
    pub fn parse(text: T) -> Result<Self, ParseError> {
        let list = text.as_ref();
        if list.len() > usize::from(u16::MAX) {
            return Err(ParseError::TooLong {
                offset: u16::MAX.into(),
            });
        }
        let mut fields = heapless::Vec::new();
        let mut pos = 0;
        loop {
            let (field, end) = field(list, pos)?;
            if fields.len() >= MAX_FIELDS || fields.push(field).is_err() {
                return Err(ParseError::TooManyFields {
                    offset: field.start.into(),
                });
            }
            match byte(list, end) {
                None => return Ok(Self { text, fields }),
                Some(b',') => pos = end + 1,
                Some(_) => return Err(ParseError::Unexpected { offset: end }),
            }
        }
    }
}

impl<T: AsRef<str>, Q: AsRef<[Field]>> Projection<T, Q> {
    /// How many fields there are; never zero.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a list is never empty")]
    pub fn len(&self) -> usize {
        self.fields.as_ref().len()
    }

    /// The text as it was given.
    pub fn text(&self) -> &str {
        self.text.as_ref()
    }

    /// The same projection, borrowed; for code that should not depend on the table's capacity.
    #[must_use]
    pub fn view(&self) -> Projection<&str, &[Field]> {
        Projection {
            text: self.text.as_ref(),
            fields: self.fields.as_ref(),
        }
    }

    /// The fields in order, with their paths.
    pub fn fields(&self) -> impl Iterator<Item = (&str, FieldType)> {
        let text = self.text.as_ref();
        self.fields.as_ref().iter().map(|field| {
            let path = text
                .get(field.start.into()..field.end.into())
                .unwrap_or_default();
            (path.strip_prefix('.').unwrap_or(path), field.kind)
        })
    }
}

/// Prints the canonical list: no white space, no leading dots.
impl<T: AsRef<str>, Q: AsRef<[Field]>> fmt::Display for Projection<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (path, kind)) in self.fields().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{path}:{kind}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::I32 => f.write_str("i32"),
            Self::I64 => f.write_str("i64"),
            Self::U32 => f.write_str("u32"),
            Self::U64 => f.write_str("u64"),
            Self::F32 => f.write_str("f32"),
            Self::F64 => f.write_str("f64"),
            Self::Text { max } => write!(f, "text({max})"),
            Self::Json { max } => write!(f, "json({max})"),
        }
    }
}

/// Why a text is not a field list. Offsets count bytes from the start of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ParseError {
    /// The path of a field is wrong; its offset is in the whole text.
    Path(PathError),
    /// A field without `:` and a type.
    MissingType {
        /// Where the colon should be.
        offset: usize,
    },
    /// A type that does not exist.
    UnknownType {
        /// Where the type begins.
        offset: usize,
    },
    /// `text` or `json` without a number of bytes from 1 to 65535 in parentheses.
    BadMaximum {
        /// Where the number should be.
        offset: usize,
    },
    /// A byte that cannot stand here.
    Unexpected {
        /// The byte.
        offset: usize,
    },
    /// More fields than the table or the format can hold.
    TooManyFields {
        /// The first field that is too many.
        offset: usize,
    },
    /// A text of more than 65535 bytes.
    TooLong {
        /// The first byte that is too many.
        offset: usize,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(error) => error.fmt(f),
            Self::MissingType { offset } => write!(f, "missing type at byte {offset}"),
            Self::UnknownType { offset } => write!(f, "unknown type at byte {offset}"),
            Self::BadMaximum { offset } => write!(f, "bad maximum at byte {offset}"),
            Self::Unexpected { offset } => write!(f, "unexpected character at byte {offset}"),
            Self::TooManyFields { offset } => write!(f, "too many fields at byte {offset}"),
            Self::TooLong { offset } => write!(f, "list too long at byte {offset}"),
        }
    }
}

impl Error for ParseError {}

/// Reads one field from `pos` on and gives the position of what follows it.
fn field(list: &str, pos: usize) -> Result<(Field, usize), ParseError> {
    let start = blank(list, pos);
    let end = path_end(list, start);
    let path = list.get(start..end).unwrap_or_default();
    Path::parse(path).map_err(|error| ParseError::Path(moved(error, start)))?;
    let colon = blank(list, end);
    match byte(list, colon) {
        Some(b':') => {}
        Some(b',') | None => return Err(ParseError::MissingType { offset: colon }),
        Some(_) => return Err(ParseError::Unexpected { offset: colon }),
    }
    let (kind, next) = field_type(list, blank(list, colon + 1))?;
    // The whole text is known to be at most 65535 bytes long.
    Ok((
        Field {
            start: start as u16,
            end: end as u16,
            kind,
        },
        blank(list, next),
    ))
}

/// The position of the first colon, comma or white space from `pos` on that no backslash protects,
/// or the end.
fn path_end(list: &str, pos: usize) -> usize {
    let mut escaped = false;
    for (index, byte) in list.bytes().enumerate().skip(pos) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b':' | b',' => return index,
            _ if byte.is_ascii_whitespace() => return index,
            _ => {}
        }
    }
    list.len()
}

fn field_type(list: &str, start: usize) -> Result<(FieldType, usize), ParseError> {
    let rest = list.get(start..).unwrap_or_default();
    let len = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let end = start + len;
    let kind = match rest.get(..len).unwrap_or_default() {
        "bool" => FieldType::Bool,
        "i32" => FieldType::I32,
        "i64" => FieldType::I64,
        "u32" => FieldType::U32,
        "u64" => FieldType::U64,
        "f32" => FieldType::F32,
        "f64" => FieldType::F64,
        "text" => {
            let (max, end) = maximum(list, end)?;
            return Ok((FieldType::Text { max }, end));
        }
        "json" => {
            let (max, end) = maximum(list, end)?;
            return Ok((FieldType::Json { max }, end));
        }
        _ => return Err(ParseError::UnknownType { offset: start }),
    };
    Ok((kind, end))
}

/// Reads `(N)` with optional white space inside.
fn maximum(list: &str, open: usize) -> Result<(u16, usize), ParseError> {
    let open = blank(list, open);
    if byte(list, open) != Some(b'(') {
        return Err(ParseError::BadMaximum { offset: open });
    }
    let start = blank(list, open + 1);
    let rest = list.get(start..).unwrap_or_default();
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    let close = blank(list, start + len);
    match rest.get(..len).and_then(|digits| digits.parse().ok()) {
        Some(max) if max > 0 && byte(list, close) == Some(b')') => Ok((max, close + 1)),
        _ => Err(ParseError::BadMaximum { offset: start }),
    }
}

fn blank(list: &str, pos: usize) -> usize {
    let rest = list.get(pos..).unwrap_or_default();
    pos + rest.bytes().take_while(u8::is_ascii_whitespace).count()
}

fn byte(list: &str, pos: usize) -> Option<u8> {
    list.as_bytes().get(pos).copied()
}

/// The same error, `by` bytes further on.
fn moved(error: PathError, by: usize) -> PathError {
    match error {
        PathError::EmptyKey { offset } => PathError::EmptyKey {
            offset: offset + by,
        },
        PathError::BadEscape { offset } => PathError::BadEscape {
            offset: offset + by,
        },
        PathError::BadIndex { offset } => PathError::BadIndex {
            offset: offset + by,
        },
        PathError::Unexpected { offset } => PathError::Unexpected {
            offset: offset + by,
        },
        PathError::TooManySegments { offset } => PathError::TooManySegments {
            offset: offset + by,
        },
        PathError::TooLong { offset } => PathError::TooLong {
            offset: offset + by,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> ParseError {
        Projection::<_>::parse(text).unwrap_err()
    }

    #[test]
    fn errors_point_at_the_fault() {
        assert_eq!(
            error(""),
            ParseError::Path(PathError::EmptyKey { offset: 0 })
        );
        assert_eq!(
            error("a:bool,"),
            ParseError::Path(PathError::EmptyKey { offset: 7 })
        );
        assert_eq!(
            error("a:bool, b..c:i32"),
            ParseError::Path(PathError::EmptyKey { offset: 10 })
        );
        assert_eq!(error("a"), ParseError::MissingType { offset: 1 });
        assert_eq!(error("a ,b:bool"), ParseError::MissingType { offset: 2 });
        assert_eq!(error("a b:bool"), ParseError::Unexpected { offset: 2 });
        assert_eq!(error("a:"), ParseError::UnknownType { offset: 2 });
        assert_eq!(error("a: I32"), ParseError::UnknownType { offset: 3 });
        assert_eq!(error("a:text"), ParseError::BadMaximum { offset: 6 });
        assert_eq!(error("a:text(0)"), ParseError::BadMaximum { offset: 7 });
        assert_eq!(error("a:json(65536)"), ParseError::BadMaximum { offset: 7 });
        assert_eq!(error("a:json(1"), ParseError::BadMaximum { offset: 7 });
        assert_eq!(error("a:bool b:bool"), ParseError::Unexpected { offset: 7 });
        assert_eq!(
            Projection::<_, heapless::Vec<Field, 1>>::parse("a:i32, b:i32").unwrap_err(),
            ParseError::TooManyFields { offset: 7 }
        );
    }

    #[test]
    fn separators_inside_keys_are_escaped() {
        let text = r"metadata.labels.a\.b/c\:d\,e\ :text(63),x[3]:json(9)";
        let projection = Projection::<_>::parse(text).unwrap();
        let mut fields = projection.fields();
        assert_eq!(
            fields.next(),
            Some((
                r"metadata.labels.a\.b/c\:d\,e\ ",
                FieldType::Text { max: 63 }
            ))
        );
        assert_eq!(fields.next(), Some(("x[3]", FieldType::Json { max: 9 })));
        assert_eq!(fields.next(), None);
    }
}
