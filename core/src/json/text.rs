//! The content of a JSON string, with its escapes still in it.
//!
//! Most strings have no escapes and can be borrowed as they are; [`Text::plain`] gives that slice.
//! For the others [`Text`] compares, prints and copies the decoded characters without a buffer.
//!
//! ```
//! use ringwatch_core::json::{Limits, Path, scan};
//!
//! let mut found = [None];
//! scan(br#"{"name":"caf\u00e9"}"#, &Limits::default(), &[Path::parse("name")?], &mut found)?;
//! let name = found[0].and_then(|value| value.as_text()).unwrap();
//! assert_eq!(name.plain(), None);
//! assert_eq!(name, *"café");
//! let mut buffer = [0; 8];
//! assert_eq!(name.copy_to(&mut buffer)?, "café");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use core::error::Error;
use core::fmt;
use core::str::Chars;

/// A string's content from a text that was validated.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// What stands between the quotes.
    raw: &'a str,
    escaped: bool,
}

impl<'a> Text<'a> {
    /// `raw` is what stands between the quotes of a valid string.
    pub(crate) fn new(raw: &'a str) -> Self {
        Self {
            raw,
            escaped: raw.as_bytes().contains(&b'\\'),
        }
    }

    /// As [`new`](Self::new), for those who know whether there are escapes.
    pub(crate) fn with(raw: &'a str, escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// The content, if it has no escapes.
    #[must_use]
    pub fn plain(&self) -> Option<&'a str> {
        if self.escaped { None } else { Some(self.raw) }
    }

    /// The content as it stands in the JSON text, without the quotes.
    #[must_use]
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// The decoded characters.
    pub fn chars(&self) -> impl Iterator<Item = char> + Clone + use<'a> {
        Decoded {
            chars: self.raw.chars(),
        }
    }

    /// How many bytes the decoded text has.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.plain() {
            Some(plain) => plain.len(),
            None => self.chars().map(char::len_utf8).sum(),
        }
    }

    /// Whether there are no characters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Decodes into the front of `buffer`.
    ///
    /// # Errors
    ///
    /// [`TextTooLong`] if the buffer cannot hold it all; the buffer's content is then of no use.
    pub fn copy_to<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b str, TextTooLong> {
        let needed = self.len();
        let place = buffer.get_mut(..needed).ok_or(TextTooLong { needed })?;
        match self.plain() {
            Some(plain) => place.copy_from_slice(plain.as_bytes()),
            None => {
                let mut rest = &mut *place;
                for c in self.chars() {
                    let (spot, tail) = core::mem::take(&mut rest)
                        .split_at_mut_checked(c.len_utf8())
                        .ok_or(TextTooLong { needed })?;
                    c.encode_utf8(spot);
                    rest = tail;
                }
            }
        }
        core::str::from_utf8(place).map_err(|_| TextTooLong { needed })
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        match self.plain() {
            Some(plain) => plain == other,
            None => self.chars().eq(other.chars()),
        }
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

/// Equal when the decoded characters are.
impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.plain(), other.plain()) {
            (Some(plain), Some(other)) => plain == other,
            _ => self.chars().eq(other.chars()),
        }
    }
}

impl Eq for Text<'_> {}

/// Prints the decoded characters.
impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.plain() {
            Some(plain) => f.write_str(plain),
            None => self.chars().try_for_each(|c| fmt::Write::write_char(f, c)),
        }
    }
}

/// Prints the string as it stands in the JSON text.
impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.raw)
    }
}

/// A buffer that cannot hold a decoded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TextTooLong {
    /// Bytes that would have been enough.
    pub needed: usize,
}

impl fmt::Display for TextTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "text needs {} bytes", self.needed)
    }
}

impl Error for TextTooLong {}

/// Decodes escapes. The escapes were validated, so the fallbacks below are never taken; they end
/// the text or stand for themselves rather than panic.
#[derive(Clone)]
struct Decoded<'a> {
    chars: Chars<'a>,
}

impl Decoded<'_> {
    fn unit(&mut self) -> Option<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            unit = unit << 4 | self.chars.next()?.to_digit(16)?;
        }
        Some(unit)
    }
}

impl Iterator for Decoded<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let c = self.chars.next()?;
        if c != '\\' {
            return Some(c);
        }
        Some(match self.chars.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let mut code = self.unit()?;
                if let 0xd800..=0xdbff = code {
                    // The second half follows at once: backslash, `u`, four digits.
                    self.chars.next()?;
                    self.chars.next()?;
                    code = 0x1_0000 + ((code & 0x3ff) << 10) + (self.unit()? & 0x3ff);
                }
                char::from_u32(code)?
            }
            // Quote, backslash and slash stand for themselves.
            other => other,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.chars.size_hint().1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_escape_is_decoded() {
        let text = Text::new(r#"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00é"#);
        let decoded = "\"\\/\u{8}\u{c}\n\r\tA😀é";
        assert!(text == *decoded);
        assert_eq!(text.len(), decoded.len());
        assert!(text == Text::new(r#"\u0022\\/\u0008\u000c\u000a\u000D\u0009A\uD83D\uDE00\u00E9"#));
    }

    #[test]
    fn a_short_buffer_says_what_is_needed() {
        let mut buffer = [0; 4];
        assert_eq!(
            Text::new(r"abc\u00e9").copy_to(&mut buffer),
            Err(TextTooLong { needed: 5 })
        );
        assert_eq!(Text::new("abcd").copy_to(&mut buffer), Ok("abcd"));
    }
}
