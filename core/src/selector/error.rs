//! Why a text is not a selector.
//!
//! An error holds numbers only, so that it fits a microcontroller's reply as well as a server's. The words a
//! Kubernetes client expects need the text again: see [`SelectorError::describe`].

use core::fmt;

/// Where and why parsing stopped.
///
/// Sending the same text again fails again: the selector must be changed, or, for
/// [`TooManyRequirements`](SelectorErrorKind::TooManyRequirements), given to a peer with a larger table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SelectorError {
    /// Byte offset of the offending token, key, value or term. Never past the text's end, and always on a
    /// character boundary.
    pub offset: usize,
    /// The broken rule.
    pub kind: SelectorErrorKind,
}

impl SelectorError {
    pub(super) const fn new(offset: usize, kind: SelectorErrorKind) -> Self {
        Self { offset, kind }
    }
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.offset)
    }
}

impl core::error::Error for SelectorError {}

/// The rule a selector broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SelectorErrorKind {
    /// The text has more bytes than a requirement can point into (`u16::MAX`).
    TextTooLong,
    /// The table is full.
    TooManyRequirements {
        /// How many requirements the table holds.
        limit: usize,
    },

    /// A label selector must begin with a key, a `!`, or be empty.
    ExpectedRequirement,
    /// A comma between requirements promises another one.
    ExpectedRequirementAfterComma,
    /// A key after `!`, or a value after a comparison, was something else.
    ExpectedIdentifier,
    /// A key was followed by something that is no operator.
    ExpectedOperator,
    /// `in` or `notin` without its list.
    ExpectedOpen,
    /// A value list holds something that is neither value nor separator, or does not end.
    ExpectedValue,
    /// Two values without a comma between them, or a list that does not end.
    ExpectedCommaOrClose,
    /// A complete requirement was followed by something else than a comma.
    ExpectedCommaOrEnd,

    /// A key may have one `/`, between prefix and name.
    KeyHasManySlashes,
    /// The key's prefix is longer than 253 bytes.
    KeyPrefixTooLong,
    /// The key's prefix is not a lower-case DNS subdomain.
    KeyPrefixInvalid,
    /// The key's name is longer than 63 bytes.
    KeyNameTooLong,
    /// The key's name is empty or has a character it may not have, there or at all.
    KeyNameInvalid,
    /// The value is longer than 63 bytes.
    ValueTooLong,
    /// The value has a character it may not have, there or at all.
    ValueInvalid,
    /// `>` and `<` need a 64-bit integer.
    NotAnInteger,

    /// In a field value a backslash escapes only `\`, `,` and `=`.
    InvalidEscape,
    /// In a field value `=` must be written `\=`.
    UnescapedEquals,
    /// A field term has no operator.
    NoOperator,
}

impl fmt::Display for SelectorErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TextTooLong => "selector is longer than 65535 bytes",
            Self::TooManyRequirements { limit } => {
                return write!(f, "selector has more than {limit} requirements");
            }
            Self::ExpectedRequirement => "expected a key, '!' or the end",
            Self::ExpectedRequirementAfterComma => "expected a key or '!' after the comma",
            Self::ExpectedIdentifier => "expected a key or value",
            Self::ExpectedOperator => "expected an operator",
            Self::ExpectedOpen => "expected '('",
            Self::ExpectedValue => "expected a value, ',' or ')'",
            Self::ExpectedCommaOrClose => "expected ',' or ')'",
            Self::ExpectedCommaOrEnd => "expected ',' or the end",
            Self::KeyHasManySlashes => "key has more than one '/'",
            Self::KeyPrefixTooLong => "key prefix is longer than 253 bytes",
            Self::KeyPrefixInvalid => "key prefix is not a lower-case DNS subdomain",
            Self::KeyNameTooLong => "key name is longer than 63 bytes",
            Self::KeyNameInvalid => {
                "key name is not of letters, digits, '-', '_', '.' with a letter or digit at both ends"
            }
            Self::ValueTooLong => "value is longer than 63 bytes",
            Self::ValueInvalid => {
                "value is not of letters, digits, '-', '_', '.' with a letter or digit at both ends"
            }
            Self::NotAnInteger => "expected a 64-bit integer",
            Self::InvalidEscape => "invalid escape sequence",
            Self::UnescapedEquals => "unescaped '=' in a value",
            Self::NoOperator => "term without an operator",
        })
    }
}
