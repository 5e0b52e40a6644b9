//! The field that a rule's fault is told of: `.spec.size` or `.labels['a.b']`.

use crate::structural::node::Node;

/// The path as it is appended to a place: `spec.size`, `labels[a.b]`.
pub(super) fn normalize(text: &str, node: &Node) -> Result<Box<str>, String> {
    let mut out = String::new();
    let mut node = Some(node);
    let mut rest = text;
    while !rest.is_empty() {
        let (name, after) = segment(rest)?;
        rest = after;
        let Some(here) = node else {
            return Err("does not refer to a valid field".into());
        };
        match (here.property(&name), here.additional()) {
            (Some(below), _) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(&name);
                node = Some(below);
            }
            (None, Some(below)) => {
                out.push('[');
                out.push_str(&name);
                out.push(']');
                node = Some(below);
            }
            (None, None) => return Err("does not refer to a valid field".into()),
        }
    }
    Ok(out.into())
}

/// The first name of a path, and the rest.
fn segment(text: &str) -> Result<(String, &str), String> {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        return match name.is_empty() {
            true => Err("unexpected end of JSON path".into()),
            false => Ok((name.to_owned(), rest)),
        };
    }
    let Some(quoted) = text.strip_prefix('[') else {
        return Err(format!("expected [ or . but got: {text}"));
    };
    let Some(inside) = quoted.strip_prefix('\'') else {
        return Err(format!("expected single quoted string but got {quoted}"));
    };
    let mut name = String::new();
    let mut letters = inside.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' => {
                let after = inside.get(at + 1..).unwrap_or_default();
                let after = after.strip_prefix(']');
                return after
                    .map(|after| (name, after))
                    .ok_or_else(|| "expected ]".into());
            }
            '\\' => match letters.next() {
                Some((_, escaped @ ('\'' | '\\'))) => name.push(escaped),
                _ => return Err("invalid string literal".into()),
            },
            other => name.push(other),
        }
    }
    Err("unexpected end of JSON path".into())
}
