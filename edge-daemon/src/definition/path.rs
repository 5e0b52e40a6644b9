//! The part of JSONPath that columns of tables use.
//!
//! | text | meaning |
//! |---|---|
//! | `.spec.site`, `.metadata.labels.a\.b`, `['a.b']` | members |
//! | `[0]`, `[*]` | one element; each |
//! | `[?(@.type=="Ready")]` | the elements of which this is so; also `!=` |
//!
//! Of several values the first is taken. An API server allows more than this (slices, ranges, recursion), which hardly any column uses; a path
//! that is not of this form is refused when it is read, not when a row is made.

use std::error::Error;
use std::fmt;

use ringwatch_core::json::{Path, Value};
use serde::{Deserialize, Serialize};

/// The longest path, in bytes.
const MAX_BYTES: usize = 512;

/// Where in an object a column's value is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JsonPath {
    text: String,
    /// Members from the object's root, as a scan of the object finds them.
    head: String,
    rest: Vec<Step>,
}

/// One step from a value to others.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// Members and indices.
    Down(String),
    /// Each element.
    Each,
    /// Each element in which the value at a path is, or is not, this.
    Where {
        path: String,
        equal: bool,
        literal: String,
    },
}

/// A path that is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonPathError;

impl fmt::Display for JsonPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a path is written as .spec.site, .spec.list[0], .spec.list[*].name or .status.conditions[?(@.type==\"Ready\")].status",
        )
    }
}

impl Error for JsonPathError {}

impl TryFrom<String> for JsonPath {
    type Error = JsonPathError;

    fn try_from(text: String) -> Result<Self, JsonPathError> {
        Self::parse(&text)
    }
}

impl From<JsonPath> for String {
    fn from(path: JsonPath) -> Self {
        path.text
    }
}

impl JsonPath {
    /// Parses a path.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        if text.len() > MAX_BYTES {
            return Err(JsonPathError);
        }
        let braces = text
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'));
        let path = braces.unwrap_or(text);
        let mut rest = path.strip_prefix('$').unwrap_or(path);
        let mut steps: Vec<Step> = Vec::new();
        while !rest.is_empty() {
            let (step, after) = Step::parse(rest).ok_or(JsonPathError)?;
            match (steps.last_mut(), step) {
                (Some(Step::Down(before)), Step::Down(more)) => before.push_str(&more),
                (_, step) => steps.push(step),
            }
            rest = after;
        }
        let plain = |step: &Step| match step {
            Step::Down(path) | Step::Where { path, .. } => Path::parse(path).is_ok(),
            Step::Each => true,
        };
        let mut steps = steps.into_iter();
        match steps.next() {
            Some(Step::Down(head))
                if Path::parse(&head).is_ok() && steps.as_slice().iter().all(plain) =>
            {
                Ok(Self {
                    text: text.to_owned(),
                    head,
                    rest: steps.collect(),
                })
            }
            _ => Err(JsonPathError),
        }
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What to look for in the object first.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// The first value to which the rest of the path leads, from what was found at its head.
    pub fn follow<'a>(&self, head: Value<'a>) -> Option<Value<'a>> {
        follow(&self.rest, head)
    }
}

fn follow<'a>(steps: &[Step], value: Value<'a>) -> Option<Value<'a>> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(value);
    };
    match step {
        Step::Down(path) => follow(rest, value.get(&Path::parse(path).ok()?)?),
        Step::Each => value.elements().find_map(|value| follow(rest, value)),
        Step::Where {
            path,
            equal,
            literal,
        } => {
            let path = Path::parse(path).ok()?;
            let wanted = |value: &Value<'a>| {
                let found = value.get(&path).map(|found| is(found, literal));
                found.is_some_and(|same| same == *equal)
            };
            let mut elements = value.elements().filter(wanted);
            elements.find_map(|value| follow(rest, value))
        }
    }
}

/// Whether a value is what a literal says.
fn is(value: Value<'_>, literal: &str) -> bool {
    match value.as_text() {
        Some(text) => text.chars().eq(literal.chars()),
        None => value.raw() == literal,
    }
}

impl Step {
    /// The first step of a path, and what is behind it.
    fn parse(text: &str) -> Option<(Self, &str)> {
        if let Some(rest) = text.strip_prefix("[*]") {
            return Some((Self::Each, rest));
        }
        if let Some(rest) = text.strip_prefix("[?(@") {
            let (condition, rest) = rest.split_once(")]")?;
            let (path, equal, literal) = match condition.split_once("==") {
                Some((path, literal)) => (path, true, literal),
                None => {
                    let (path, literal) = condition.split_once("!=")?;
                    (path, false, literal)
                }
            };
            let step = Self::Where {
                path: path.trim().to_owned(),
                equal,
                literal: unquoted(literal.trim()).to_owned(),
            };
            return Some((step, rest));
        }
        for (open, close) in [("['", "']"), ("[\"", "\"]")] {
            if let Some(rest) = text.strip_prefix(open) {
                let (name, rest) = rest.split_once(close)?;
                return Some((Self::Down(member(name)), rest));
            }
        }
        if text.starts_with('[') {
            let end = text.find(']')? + 1;
            let (index, rest) = text.split_at_checked(end)?;
            return Some((Self::Down(index.to_owned()), rest));
        }
        let mut escaped = false;
        let mut letters = text.char_indices();
        let end = letters.find(|&(at, letter)| {
            let ends = !escaped && (letter == '[' || letter == '.' && at > 0);
            escaped = !escaped && letter == '\\';
            ends
        });
        let end = end.map_or(text.len(), |(at, _)| at);
        let (name, rest) = text.split_at_checked(end)?;
        let dotted = match name.starts_with('.') {
            true => name.to_owned(),
            false => format!(".{name}"),
        };
        Some((Self::Down(dotted), rest))
    }
}

/// A member's name in the words of the core's paths.
fn member(name: &str) -> String {
    let mut path = String::from('.');
    for letter in name.chars() {
        if matches!(letter, '.' | '[' | ']' | ',' | ':' | '\\' | ' ') {
            path.push('\\');
        }
        path.push(letter);
    }
    path
}

fn unquoted(literal: &str) -> &str {
    let quoted = |quote: char| literal.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\'')).unwrap_or(literal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringwatch_core::json::{Limits, scan};

    const OBJECT: &[u8] = br#"{"metadata":{"labels":{"a.b/c":"x"}},"spec":{"on":true,"ports":[{"n":1},{"n":2}],"site":"hall"},
        "status":{"conditions":[{"type":"Up","status":"False"},{"type":"Ready","status":"True","count":3}]}}"#;

    fn found(path: &str) -> Option<&'static str> {
        let path = JsonPath::parse(path).unwrap();
        let mut found = [None];
        let paths = [Path::parse(path.head()).unwrap()];
        scan(OBJECT, &Limits::default(), &paths, &mut found).unwrap();
        path.follow(found[0]?).map(|value| value.raw())
    }

    #[test]
    fn paths_lead_to_the_first_value() {
        for (path, value) in [
            (".spec.site", Some("\"hall\"")),
            ("spec.site", Some("\"hall\"")),
            ("{.spec.on}", Some("true")),
            ("$.spec.on", Some("true")),
            (r".metadata.labels.a\.b/c", Some("\"x\"")),
            (".metadata.labels['a.b/c']", Some("\"x\"")),
            (".spec.ports[1].n", Some("2")),
            (".spec.ports[*].n", Some("1")),
            (".spec.ports[?(@.n==2)].n", Some("2")),
            (
                ".status.conditions[?(@.type==\"Ready\")].status",
                Some("\"True\""),
            ),
            (".status.conditions[?(@.type == 'Ready')].count", Some("3")),
            (
                ".status.conditions[?(@.type!='Up')].status",
                Some("\"True\""),
            ),
            (".status.conditions[?(@.type=='Down')].status", None),
            (".spec.none", None),
            (".spec.site.none", None),
        ] {
            assert_eq!(found(path), value, "{path}");
        }
    }

    #[test]
    fn other_paths_are_refused() {
        for path in [
            "",
            "{}",
            "$",
            "[*].a",
            ".a..b",
            ".a[0:2]",
            ".a[",
            ".a['b",
            ".a[?(@.b)]",
            ".a[?(@.b>1)]",
            "..a",
        ] {
            assert_eq!(JsonPath::parse(path), Err(JsonPathError), "{path}");
        }
        assert!(JsonPath::parse(&format!(".{}", "a".repeat(600))).is_err());
    }
}
