//! How much is cached of each resource, from text: `pods=2000,deployments.apps=500,events=0`.
//!
//! Each entry names a resource, with its group unless that is the core group, and how many changes its ring holds. 0
//! switches the cache of the resource off, as in kube-apiserver's `--watch-cache-sizes`. What is not named is sized by
//! the rate of its changes, within [the usual bounds](Capacity::default).
//!
//! ```
//! use ringwatch_server::cache::{Capacity, Sizes};
//!
//! let sizes = Sizes::parse("pods=2000, deployments.apps=500, events=0")?;
//! assert_eq!(sizes.of("", "pods"), Some(Capacity::fixed(2000)));
//! assert_eq!(sizes.of("apps", "deployments"), Some(Capacity::fixed(500)));
//! assert_eq!(sizes.of("", "events"), None);
//! assert_eq!(sizes.of("", "nodes"), Some(Capacity::default()));
//!
//! let error = Sizes::parse("pods=2000,nodes=many").unwrap_err();
//! assert_eq!(error.to_string(), "at byte 16: `many` is not a number of changes");
//! # Ok::<(), ringwatch_server::cache::SizesError>(())
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use super::sizing::Capacity;

/// The most changes that one ring may be told to hold. Its places are allocated at once, so a slip of the pen must not take
/// all memory.
pub const MAX_SIZE: usize = 16 * 1024 * 1024;

/// The longest name of a resource with its group: two DNS names and a dot.
const MAX_NAME: usize = 63 + 1 + 253;

/// How much is cached of which resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    /// By `resource` or `resource.group`.
    named: BTreeMap<Box<str>, usize>,
}

impl Sizes {
    /// Reads a list of `RESOURCE[.GROUP]=SIZE`, separated by commas. Spaces around names and numbers do not count.
    pub fn parse(text: &str) -> Result<Self, SizesError> {
        let mut named = BTreeMap::new();
        let mut at = 0;
        for entry in text.split(',') {
            if entry.trim().is_empty() && text.trim().is_empty() {
                break;
            }
            let (name, size) = parse_entry(entry, at)?;
            if named.insert(name.into(), size).is_some() {
                return Err(problem(at, name, Problem::Twice));
            }
            at += entry.len() + 1;
        }
        Ok(Self { named })
    }

    /// The ring's capacity for a resource of a group (`""` for the core group); `None` if it is not to be cached.
    pub fn of(&self, group: &str, resource: &str) -> Option<Capacity> {
        let size = match group {
            "" => self.named.get(resource),
            group => self.named.get(format!("{resource}.{group}").as_str()),
        };
        match size {
            None => Some(Capacity::default()),
            Some(0) => None,
            Some(size) => Some(Capacity::fixed(*size)),
        }
    }

    /// The names that sizes were given for, so that one can be pointed out which no resource has.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(|name| &**name)
    }
}

/// One entry, which begins at byte `at` of the whole.
fn parse_entry(entry: &str, at: usize) -> Result<(&str, usize), SizesError> {
    let Some((name, size)) = entry.split_once('=') else {
        return Err(problem(at, entry, Problem::NoSize));
    };
    let (number_at, name_at) = (at + name.len() + 1, at);
    let (name, number) = (name.trim(), size.trim());
    if !is_name(name) {
        return Err(problem(name_at, name, Problem::Name));
    }
    let number_at = number_at + (size.len() - size.trim_start().len());
    // `parse` would take a leading `+`.
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(problem(number_at, number, Problem::Number));
    }
    match number.parse() {
        Ok(size) if size <= MAX_SIZE => Ok((name, size)),
        _ => Err(problem(number_at, number, Problem::TooLarge)),
    }
}

/// Names of resources and groups are lower-case DNS names.
fn is_name(name: &str) -> bool {
    let label = |part: &str| {
        let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty()
            && part.len() <= 63
            && part.bytes().all(inside)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    name.len() <= MAX_NAME && name.split('.').all(label)
}

fn problem(at: usize, text: &str, problem: Problem) -> SizesError {
    SizesError {
        at,
        text: text.trim().into(),
        problem,
    }
}

/// Why a text does not say how much to cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizesError {
    /// The byte where the trouble begins.
    pub at: usize,
    /// The part that is wrong.
    pub text: Box<str>,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// An entry without `=`.
    NoSize,
    /// Not the name of a resource.
    Name,
    /// Not a number.
    Number,
    /// More than [`MAX_SIZE`].
    TooLarge,
    /// A resource that was named before.
    Twice,
}

impl fmt::Display for SizesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, text, problem } = self;
        write!(f, "at byte {at}: `{text}` ")?;
        match problem {
            Problem::NoSize => f.write_str("should be RESOURCE=SIZE"),
            Problem::Name => f.write_str("is not the name of a resource"),
            Problem::Number => f.write_str("is not a number of changes"),
            Problem::TooLarge => write!(f, "is more than {MAX_SIZE} changes"),
            Problem::Twice => f.write_str("has a size already"),
        }
    }
}

impl Error for SizesError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> (usize, Problem) {
        let error = Sizes::parse(text).expect_err(text);
        (error.at, error.problem)
    }

    #[test]
    fn names_and_sizes_are_read() {
        let sizes = Sizes::parse("pods=2000,deployments.apps=1,leases.coordination.k8s.io=0");
        let sizes = sizes.expect("sizes");
        assert_eq!(sizes.of("", "pods"), Some(Capacity::fixed(2000)));
        assert_eq!(sizes.of("apps", "deployments"), Some(Capacity::fixed(1)));
        assert_eq!(sizes.of("coordination.k8s.io", "leases"), None);
        // The same resource in another group is another resource.
        assert_eq!(sizes.of("apps", "pods"), Some(Capacity::default()));
        assert_eq!(sizes.of("", "deployments"), Some(Capacity::default()));
        assert_eq!(sizes.names().count(), 3);
    }

    #[test]
    fn nothing_is_nothing_special() {
        for text in ["", "  "] {
            assert_eq!(Sizes::parse(text), Ok(Sizes::default()), "{text:?}");
        }
    }

    #[test]
    fn errors_say_where() {
        assert_eq!(error("pods"), (0, Problem::NoSize));
        assert_eq!(error("pods=1,"), (7, Problem::NoSize));
        assert_eq!(error(",pods=1"), (0, Problem::NoSize));
        assert_eq!(error("pods=1,,nodes=1"), (7, Problem::NoSize));
        assert_eq!(error("=1"), (0, Problem::Name));
        assert_eq!(error("pods=1,Nodes=1"), (7, Problem::Name));
        assert_eq!(error("pods.=1"), (0, Problem::Name));
        assert_eq!(error("pods="), (5, Problem::Number));
        assert_eq!(error("pods=+1"), (5, Problem::Number));
        assert_eq!(error("pods=1,nodes= -1"), (14, Problem::Number));
        assert_eq!(error("pods=99999999999999999999"), (5, Problem::TooLarge));
        assert_eq!(error("pods=16777217"), (5, Problem::TooLarge));
        assert_eq!(error("pods=1,pods=2"), (7, Problem::Twice));
        assert_eq!(error("pods=1=2"), (5, Problem::Number));
    }
}
