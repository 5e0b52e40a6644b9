//! JSON pointers (RFC 6901) and the places they name.

use core::fmt;

use serde_json::Value;

/// A JSON pointer, split and unescaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    text: String,
    tokens: Vec<String>,
}

impl Pointer {
    /// Parses `""` or `"/a/b~1c"`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let tokens = match text.strip_prefix('/') {
            Some(rest) => rest.split('/').map(unescape).collect(),
            None if text.is_empty() => Vec::new(),
            None => return None,
        };
        Some(Self {
            text: text.to_owned(),
            tokens,
        })
    }

    /// How many steps down it goes.
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether `other` lies inside the value that this one names.
    pub(super) fn holds(&self, other: &Self) -> bool {
        other.tokens.len() > self.tokens.len() && other.tokens.starts_with(&self.tokens)
    }

    /// The value it names. A field that an object has not is null, as upstream.
    pub(super) fn find<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        static NULL: Value = Value::Null;
        let Some((last, way)) = self.tokens.split_last() else {
            return Some(document);
        };
        let parent = way.iter().try_fold(document, |value, token| match value {
            Value::Object(map) => map.get(token),
            Value::Array(items) => items.get(index(token, items.len())?),
            _ => None,
        })?;
        match parent {
            Value::Object(map) => Some(map.get(last).unwrap_or(&NULL)),
            Value::Array(items) => items.get(index(last, items.len())?),
            _ => None,
        }
    }

    /// What holds the value that it names, and the last step; none for the whole document.
    pub(super) fn parent<'a>(&self, document: &'a mut Value) -> Option<(&'a mut Value, &str)> {
        let (last, way) = self.tokens.split_last()?;
        Some((descend(document, way)?, last))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The place of an element in a list of `len`. As upstream, negative numbers count from the end.
pub(super) fn index(token: &str, len: usize) -> Option<usize> {
    let (digits, from_end) = match token.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (token, false),
    };
    // `parse` would take a plus sign.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: usize = digits.parse().ok()?;
    let place = if from_end {
        len.checked_sub(number)?
    } else {
        number
    };
    (place < len).then_some(place)
}

fn descend<'a>(document: &'a mut Value, tokens: &[String]) -> Option<&'a mut Value> {
    tokens
        .iter()
        .try_fold(document, |value, token| match value {
            Value::Object(map) => map.get_mut(token),
            Value::Array(items) => {
                let place = index(token, items.len())?;
                items.get_mut(place)
            }
            _ => None,
        })
}

fn unescape(token: &str) -> String {
    // In this order, so that `~01` is `~1` and not `/`.
    token.replace("~1", "/").replace("~0", "~")
}
