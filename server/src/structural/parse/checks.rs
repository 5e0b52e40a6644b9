//! What a value must be beyond its type, as the words of a node say it.

use serde_json::Value;

use super::words::Words;
use crate::structural::format::Format;
use crate::structural::node::{Bound, Checks, Node, Type};
use crate::structural::pattern::{Pattern, Patterns};
use crate::validation::Faults;

/// How many values an enumeration may have, and names a list of required fields.
const MAX_NAMES: usize = 10_000;

/// Reads the plain words. Whether there were none.
pub(super) fn read(
    checks: &mut Checks,
    words: Words<'_>,
    patterns: &mut Patterns,
    faults: &mut Faults,
) -> bool {
    checks.format = words.text("format", faults).and_then(Format::find);
    checks.maximum = bound(words, "maximum", "exclusiveMaximum", faults);
    checks.minimum = bound(words, "minimum", "exclusiveMinimum", faults);
    checks.multiple_of = multiple_of(words, faults);
    checks.min_length = words.count("minLength", faults);
    checks.max_length = words.count("maxLength", faults);
    checks.min_items = words.count("minItems", faults);
    checks.max_items = words.count("maxItems", faults);
    checks.min_properties = words.count("minProperties", faults);
    checks.max_properties = words.count("maxProperties", faults);
    checks.pattern = pattern(words, patterns, faults);
    checks.values = words.list("enum", faults).into();
    let required = words.texts("required", faults);
    checks.required = required.into_iter().map(Box::from).collect();
    for (word, count) in [
        ("enum", checks.values.len()),
        ("required", checks.required.len()),
    ] {
        if count > MAX_NAMES {
            let detail = format!("must have at most {MAX_NAMES} entries");
            faults.forbidden(words.path.field(word), &detail);
        }
    }
    const PLAIN: [&str; 15] = [
        "format",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "pattern",
        "enum",
        "required",
    ];
    !PLAIN.iter().any(|word| words.map.contains_key(*word))
}

fn bound(words: Words<'_>, word: &str, exclusive: &str, faults: &mut Faults) -> Option<Bound> {
    let at = words.number(word, faults);
    let exclusive = words.flag(exclusive, faults);
    at.map(|at| Bound { at, exclusive })
}

fn multiple_of(words: Words<'_>, faults: &mut Faults) -> Option<f64> {
    let factor = words.number("multipleOf", faults)?;
    if factor <= 0.0 {
        let value = words.map.get("multipleOf").unwrap_or(&Value::Null);
        faults.invalid(
            words.path.field("multipleOf"),
            value,
            "must be greater than 0",
        );
        return None;
    }
    Some(factor)
}

fn pattern(words: Words<'_>, patterns: &mut Patterns, faults: &mut Faults) -> Option<Pattern> {
    let source = words
        .text("pattern", faults)
        .filter(|text| !text.is_empty())?;
    match patterns.read(source) {
        Ok(pattern) => Some(pattern),
        Err(why) => {
            let detail = format!("must be a valid regular expression, but isn't: {why}");
            faults.invalid(words.path.field("pattern"), &source.into(), detail);
            None
        }
    }
}

/// `x-kubernetes-int-or-string` is often said a second time, as alternatives of two types. They would be refused elsewhere, and
/// here add nothing.
pub(super) fn drop_int_or_string(checks: &mut Checks) {
    if is_int_or_string(&checks.any_of) {
        checks.any_of = Box::default();
    }
    if let Some(first) = checks.all_of.first_mut()
        && let Some(inside) = &mut first.checks
        && is_int_or_string(&inside.any_of)
    {
        inside.any_of = Box::default();
    }
}

fn is_int_or_string(nodes: &[Node]) -> bool {
    let types: Vec<Option<Type>> = nodes.iter().map(Node::type_of).collect();
    let bare = nodes.iter().all(|node| node.checks.is_none());
    bare && types == [Some(Type::Integer), Some(Type::String)]
}
