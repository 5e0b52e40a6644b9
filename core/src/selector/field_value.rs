//! The value of a field requirement, read through its escapes.
//!
//! A valid value has exactly one escaped spelling (`\`, `,` and `=` always escaped, nothing else ever), so comparing
//! and sorting two values can use the spelling, and printing it needs no escaping.

use core::fmt::{self, Write};
use core::str::Chars;

use super::error::{SelectorError, SelectorErrorKind};

/// A field's value as it stands in the selector, escapes included; read it unescaped.
///
/// ```
/// use ringwatch_core::selector::FieldSelector;
///
/// let selector = FieldSelector::<&str>::parse(r"a=x\,y,b=z")?;
/// let value = selector.exact("a").unwrap();
/// assert!(value == *"x,y");
/// assert_eq!(format!("{value}"), "x,y");
/// assert_eq!(value.plain(), None);
/// assert_eq!(selector.exact("b").unwrap().plain(), Some("z"));
/// # Ok::<(), ringwatch_core::selector::SelectorError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldValue<'a> {
    escaped: &'a str,
}

impl<'a> FieldValue<'a> {
    /// Takes a value that [`check`] accepted.
    pub(super) fn new(escaped: &'a str) -> Self {
        Self { escaped }
    }

    /// The value itself, if nothing in it is escaped.
    pub fn plain(&self) -> Option<&'a str> {
        (!self.escaped.contains('\\')).then_some(self.escaped)
    }

    /// The value as written, escapes included.
    pub fn escaped(&self) -> &'a str {
        self.escaped
    }

    /// The value's characters, unescaped.
    pub fn chars(&self) -> impl Iterator<Item = char> + Clone + use<'a> {
        Unescaped(self.escaped.chars())
    }
}

impl PartialEq<str> for FieldValue<'_> {
    fn eq(&self, value: &str) -> bool {
        if self.escaped.len() <= value.len() {
            // An escape makes the spelling longer than the value: no room for one here.
            self.escaped == value && self.plain().is_some()
        } else {
            self.chars().eq(value.chars())
        }
    }
}

impl PartialEq<&str> for FieldValue<'_> {
    fn eq(&self, value: &&str) -> bool {
        *self == **value
    }
}

/// The value unescaped.
impl fmt::Display for FieldValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars()
            .try_for_each(|character| f.write_char(character))
    }
}

#[derive(Clone)]
struct Unescaped<'a>(Chars<'a>);

impl Iterator for Unescaped<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self.0.next()? {
            // A lone backslash at the end was refused by `check`; it would stand for itself.
            '\\' => Some(self.0.next().unwrap_or('\\')),
            character => Some(character),
        }
    }
}

/// Checks the escapes of a value that begins at `offset` in the selector's text.
pub(super) fn check(value: &str, offset: usize) -> Result<(), SelectorError> {
    let mut characters = value.char_indices();
    while let Some((index, character)) = characters.next() {
        let kind = match character {
            '\\' => match characters.next() {
                Some((_, '\\' | ',' | '=')) => continue,
                _ => SelectorErrorKind::InvalidEscape,
            },
            '=' => SelectorErrorKind::UnescapedEquals,
            _ => continue,
        };
        return Err(SelectorError::new(offset + index, kind));
    }
    Ok(())
}
