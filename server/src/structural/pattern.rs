//! Patterns of texts: the expressions of RE2, which Kubernetes has, in linear time.
//!
//! The engine is the `regex` crate. What it means differently is translated: classes such as `\d` are of ASCII in RE2, a class in
//! brackets knows no operations there, and `\Q…\E` quotes. What cannot be compiled in a bounded size is refused when the
//! schema is read.

use std::collections::HashSet;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// How large a compiled expression may be.
const MAX_SIZE: usize = 512 * 1024;
/// How long an expression may be, in bytes.
const MAX_SOURCE: usize = 16 * 1024;

/// An expression that is known to compile. It is compiled when it is first used: a schema without objects costs its text.
#[derive(Debug)]
pub(super) struct Pattern {
    source: Box<str>,
    compiled: OnceLock<Option<Regex>>,
}

/// How many different expressions a schema may have, those of its rules included. To try one takes milliseconds.
const MAX_DIFFERENT: usize = 500;

/// Reads the expressions of a schema, each of which is tried once.
#[derive(Debug, Default)]
pub(super) struct Patterns(HashSet<Box<str>>);

impl Patterns {
    pub(super) fn read(&mut self, source: &str) -> Result<Pattern, String> {
        if !self.0.contains(source) {
            if self.0.len() >= MAX_DIFFERENT {
                return Err(format!("a schema may have {MAX_DIFFERENT} different ones"));
            }
            // Also if it does not compile: that it was tried counts.
            self.0.insert(source.into());
            compile(source)?;
        }
        Ok(Pattern {
            source: source.into(),
            compiled: OnceLock::new(),
        })
    }
}

impl Pattern {
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    /// None never comes of a schema that was accepted: all of its expressions compiled.
    pub(super) fn regex(&self) -> Option<&Regex> {
        let regex = self.compiled.get_or_init(|| compile(&self.source).ok());
        regex.as_ref()
    }
}

fn compile(source: &str) -> Result<Regex, String> {
    if source.len() > MAX_SOURCE {
        return Err(format!("it is longer than {MAX_SOURCE} bytes"));
    }
    let built = RegexBuilder::new(&translate(source))
        .size_limit(MAX_SIZE)
        .dfa_size_limit(MAX_SIZE)
        .nest_limit(100)
        .octal(true)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large when compiled".to_owned(),
        // The message begins with a drawing of the place.
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    })
}

/// The expression of RE2 as one of the `regex` crate.
fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut rest = source;
    let mut in_class = false;
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        match (first, in_class) {
            ('\\', _) => rest = escape(after, in_class, &mut out),
            ('[', false) => {
                out.push('[');
                in_class = true;
                // A bracket right after the opening is a member.
                let (negated, mut inside) = match after.strip_prefix('^') {
                    Some(inside) => ("^", inside),
                    None => ("", after),
                };
                out.push_str(negated);
                if let Some(after) = inside.strip_prefix(']') {
                    out.push_str("\\]");
                    inside = after;
                }
                rest = inside;
            }
            ('[', true) => match after
                .strip_prefix(':')
                .and_then(|name| name.split_once(":]"))
            {
                Some((name, after))
                    if name.bytes().all(|b| b.is_ascii_lowercase() || b == b'^') =>
                {
                    out.push_str("[:");
                    out.push_str(name);
                    out.push_str(":]");
                    rest = after;
                }
                _ => {
                    out.push_str("\\[");
                    rest = after;
                }
            },
            (']', true) => {
                out.push(']');
                in_class = false;
                rest = after;
            }
            // Twice they would be operations on classes.
            ('&' | '~', true) => {
                out.push('\\');
                out.push(first);
                rest = after;
            }
            ('-', true) if after.starts_with('-') => {
                out.push_str("\\-");
                rest = after;
            }
            (other, _) => {
                out.push(other);
                rest = after;
            }
        }
    }
    out
}

/// Writes what stands after a backslash, and returns what is left.
fn escape<'a>(after: &'a str, in_class: bool, out: &mut String) -> &'a str {
    let Some(letter) = after.chars().next() else {
        out.push('\\');
        return after;
    };
    let rest = after.get(letter.len_utf8()..).unwrap_or_default();
    let plain = match letter {
        'd' => "0-9",
        'w' => "0-9A-Za-z_",
        's' => "\\t\\n\\x0C\\r ",
        'D' => "[^0-9]",
        'W' => "[^0-9A-Za-z_]",
        'S' => "[^\\t\\n\\x0C\\r ]",
        'b' | 'B' if !in_class => {
            out.push_str("(?-u:\\");
            out.push(letter);
            out.push(')');
            return rest;
        }
        'Q' if !in_class => {
            let (quoted, rest) = rest.split_once("\\E").unwrap_or((rest, ""));
            out.push_str(&regex::escape(quoted));
            return rest;
        }
        _ => {
            out.push('\\');
            out.push(letter);
            return rest;
        }
    };
    if in_class || plain.starts_with('[') {
        out.push_str(plain);
    } else {
        out.push('[');
        out.push_str(plain);
        out.push(']');
    }
    rest
}
