//! From a JSON value to YAML that reads back as the same value, under any version of YAML.
//!
//! Mappings are in the order of their keys, lists begin where their key does, and texts of several
//! lines are blocks, as `kubectl` shows them.

use std::fmt::Write as _;

use serde_json::Value;

use super::scalar;

/// A value as a YAML document.
#[must_use]
pub fn from_json(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(members) if !members.is_empty() => mapping(value, 0, &mut out),
        Value::Array(items) if !items.is_empty() => sequence(items, 0, &mut out),
        scalar => {
            inline(scalar, 0, &mut out);
            out.push('\n');
        }
    }
    out
}

/// The members, each on its own line; the first one where the line is.
fn mapping(value: &Value, indent: usize, out: &mut String) {
    let Value::Object(members) = value else {
        return;
    };
    for (place, (key, value)) in members.iter().enumerate() {
        if place > 0 {
            pad(indent, out);
        }
        if is_plain(key) {
            out.push_str(key);
        } else {
            quoted(key, out);
        }
        out.push(':');
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                pad(indent + 2, out);
                mapping(value, indent + 2, out);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                pad(indent, out);
                sequence(items, indent, out);
            }
            value => {
                out.push(' ');
                inline(value, indent + 2, out);
                out.push('\n');
            }
        }
    }
}

fn sequence(items: &[Value], indent: usize, out: &mut String) {
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            pad(indent, out);
        }
        out.push_str("- ");
        match item {
            Value::Object(members) if !members.is_empty() => mapping(item, indent + 2, out),
            Value::Array(inner) if !inner.is_empty() => sequence(inner, indent + 2, out),
            item => {
                inline(item, indent + 2, out);
                out.push('\n');
            }
        }
    }
}

/// What fits behind a key, or begins there. Its further lines have `indent`.
fn inline(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => {
            let _ = write!(out, "{number}");
        }
        Value::String(text) if is_plain(text) => out.push_str(text),
        Value::String(text) if is_block(text) => block(text, indent, out),
        Value::String(text) => quoted(text, out),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

/// Whether a text can stand as it is and is a text to every reader.
fn is_plain(text: &str) -> bool {
    let tame = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+');
    // Inside a text these are no harm, as long as no blank is beside them that makes them signs.
    let inner =
        |c: char| tame(c) || matches!(c, ' ' | '(' | ')' | '=' | '@' | ',' | '\'' | ';' | '$');
    let (Some(first), Some(last)) = (text.chars().next(), text.chars().last()) else {
        return false;
    };
    tame(first)
        && !matches!(first, '-' | '+' | '.')
        && last != ' '
        && text.chars().all(|c| inner(c) || c == ':')
        && !text.contains(": ")
        && !text.ends_with(':')
        && !text.starts_with(|c: char| c.is_ascii_digit() && is_number_like(text))
        && matches!(scalar::plain(text), Ok(Value::String(_)))
}

/// Whether some version of YAML sees a number or a time in a text that begins with a digit.
fn is_number_like(text: &str) -> bool {
    let signs = |c: char| {
        matches!(
            c,
            '.' | '-' | '+' | ':' | '_' | 'e' | 'E' | 'T' | 't' | 'Z' | 'z' | ' '
        )
    };
    text.chars()
        .all(|c| c.is_ascii_hexdigit() || signs(c) || matches!(c, 'x' | 'o'))
}

/// Whether a text of several lines can stand line by line.
fn is_block(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && text.lines().all(|line| !line.ends_with([' ', '\t']))
        && text
            .chars()
            .all(|c| c == '\n' || c == '\t' || is_printable(c))
}

fn block(text: &str, indent: usize, out: &mut String) {
    let body = text.trim_end_matches('\n');
    let breaks = text.len() - body.len();
    out.push_str(match breaks {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(indent, out);
            out.push_str(line);
        }
    }
    // The line break behind the value ends the last line; what is more is kept by the sign.
    for _ in 1..breaks {
        out.push('\n');
    }
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            c => {
                let _ = match u32::from(c) {
                    code @ ..=0xff => write!(out, "\\x{code:02x}"),
                    code @ ..=0xffff => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
}

/// Whether YAML lets a character stand for itself, and no reader takes it for a line break.
fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}
