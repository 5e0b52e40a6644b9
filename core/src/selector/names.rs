//! What label keys and values may look like.
//!
//! The rules are those for labels on objects: a requirement that no valid object could ever meet is refused
//! rather than silently matching nothing.

use super::error::SelectorErrorKind;

/// Longest name of a key, and longest value.
const NAME_MAX: usize = 63;
/// Longest prefix of a key, as for any DNS subdomain.
const PREFIX_MAX: usize = 253;

/// Checks `[prefix/]name`.
pub(super) fn check_key(key: &str) -> Result<(), SelectorErrorKind> {
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => return Err(SelectorErrorKind::KeyHasManySlashes),
        Some((prefix, name)) => {
            check_prefix(prefix)?;
            name
        }
    };
    if name.len() > NAME_MAX {
        Err(SelectorErrorKind::KeyNameTooLong)
    } else if !is_name(name) {
        Err(SelectorErrorKind::KeyNameInvalid)
    } else {
        Ok(())
    }
}

/// Checks a label's value, which may be empty.
pub(super) fn check_value(value: &str) -> Result<(), SelectorErrorKind> {
    if value.len() > NAME_MAX {
        Err(SelectorErrorKind::ValueTooLong)
    } else if !value.is_empty() && !is_name(value) {
        Err(SelectorErrorKind::ValueInvalid)
    } else {
        Ok(())
    }
}

fn check_prefix(prefix: &str) -> Result<(), SelectorErrorKind> {
    if prefix.len() > PREFIX_MAX {
        Err(SelectorErrorKind::KeyPrefixTooLong)
    } else if !prefix.split('.').all(is_dns_label) {
        Err(SelectorErrorKind::KeyPrefixInvalid)
    } else {
        Ok(())
    }
}

/// One part of a prefix between dots. Its length is bounded by the prefix's alone, as in Kubernetes.
fn is_dns_label(label: &str) -> bool {
    let edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    is_word(label.as_bytes(), edge, |byte| edge(byte) || *byte == b'-')
}

fn is_name(name: &str) -> bool {
    is_word(name.as_bytes(), u8::is_ascii_alphanumeric, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
    })
}

/// Not empty, `edge` bytes at both ends and `inner` ones everywhere.
fn is_word(word: &[u8], edge: impl Fn(&u8) -> bool, inner: impl Fn(&u8) -> bool) -> bool {
    word.first().is_some_and(&edge) && word.last().is_some_and(&edge) && word.iter().all(inner)
}
