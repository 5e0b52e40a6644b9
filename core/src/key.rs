//! Where an object lives inside its resource: `namespace/name`, or `name` if it has no namespace.
//!
//! A key is one text, compared byte by byte. That is the order in which Kubernetes lists objects,
//! and it differs from the order by (namespace, name): `-` and `.` sort before `/`, so that
//! everything in namespace `a-b` comes before everything in namespace `a`.
//!
//! ```
//! use ringwatch_core::key::Key;
//!
//! let key = Key::parse("kitchen/lamp")?;
//! assert_eq!(key.namespace(), Some("kitchen"));
//! assert_eq!(key.name(), "lamp");
//! assert!(Key::parse("a-b/x")? < Key::parse("a/x")?);
//! assert!(Key::parse("kitchen/../secrets").is_err());
//! # Ok::<(), ringwatch_core::key::KeyError>(())
//! ```

use core::error::Error;
use core::fmt;

/// The longest key that Kubernetes names can make: a 63-byte namespace, `/`, and a 253-byte name.
pub const MAX_KEY_LEN: usize = 63 + 1 + 253;

/// A well-formed key, borrowed from wherever it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key<'a>(&'a str);

impl<'a> Key<'a> {
    /// Checks that each part can be a path segment and that there are one or two of them.
    pub fn parse(text: &'a str) -> Result<Self, KeyError> {
        if text.len() > MAX_KEY_LEN {
            return Err(KeyError::TooLong);
        }
        let mut parts = 0;
        for part in text.split('/') {
            parts += 1;
            match part {
                "" => return Err(KeyError::EmptyPart),
                "." | ".." => return Err(KeyError::DotPart),
                _ if part.bytes().any(|byte| byte == b'%' || byte < b' ') => {
                    return Err(KeyError::Character);
                }
                _ => {}
            }
        }
        if parts > 2 {
            return Err(KeyError::TooManyParts);
        }
        Ok(Self(text))
    }

    /// A text that was found to be a key before, and is kept as text. One that is no key makes
    /// look-ups miss, no worse.
    pub const fn checked_before(text: &'a str) -> Self {
        Self(text)
    }

    /// The whole text.
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// The part before the slash, if there is one.
    pub fn namespace(self) -> Option<&'a str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    /// The part after the slash, or all of it.
    pub fn name(self) -> &'a str {
        self.0.split_once('/').map_or(self.0, |(_, name)| name)
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum KeyError {
    /// Longer than [`MAX_KEY_LEN`].
    TooLong,
    /// No name, no namespace before the slash, or two slashes in a row.
    EmptyPart,
    /// A part is `.` or `..`.
    DotPart,
    /// A part holds `%` or a control character.
    Character,
    /// More than one slash.
    TooManyParts,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "key is longer than 317 bytes",
            Self::EmptyPart => "key has an empty part",
            Self::DotPart => "key part may not be '.' or '..'",
            Self::Character => "key may not contain '%' or control characters",
            Self::TooManyParts => "key has more than a namespace and a name",
        })
    }
}

impl Error for KeyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_keys_are_refused() {
        for (text, error) in [
            ("", KeyError::EmptyPart),
            ("/", KeyError::EmptyPart),
            ("a/", KeyError::EmptyPart),
            ("/a", KeyError::EmptyPart),
            ("a//b", KeyError::EmptyPart),
            ("..", KeyError::DotPart),
            ("a/.", KeyError::DotPart),
            ("a%2fb", KeyError::Character),
            ("a\0b", KeyError::Character),
            ("a/b/c", KeyError::TooManyParts),
        ] {
            assert_eq!(Key::parse(text), Err(error), "{text:?}");
        }
        assert!(Key::parse(&"a".repeat(MAX_KEY_LEN)).is_ok());
        let long = "a".repeat(MAX_KEY_LEN + 1);
        assert_eq!(Key::parse(&long), Err(KeyError::TooLong));
    }
}
