//! Types and values.
//!
//! The texts are those of the OpenAPI validator that kube-apiserver uses, with its name for where a value comes from: `in body`.

use std::cell::Cell;
use std::collections::HashMap;

use serde_json::{Number, Value};

use super::lists::keys_of;
use crate::schema::path::FieldPath;
use crate::structural::format;
use crate::structural::node::{Additional, Bound, Checks, ListType, Node, Type};
use crate::validation::{Faults, Reason};

/// How many values are held against how many checks, at most. Alternatives multiply: each element of a long list may have
/// hundreds of them.
const MAX_WORK: u64 = 5_000_000;

/// What is wrong with a value, and all that is in it. What is the same in `old` is let be.
pub(super) fn check(node: &Node, value: &Value, old: Option<&Value>) -> Faults {
    let left = Cell::new(MAX_WORK);
    let mut run = Run {
        faults: Faults::default(),
        left: &left,
    };
    check_value(node, value, old, &FieldPath::Root, &mut run);
    if left.get() == 0 {
        let detail = "checking the object against its schema takes too long";
        run.faults.forbidden("", detail);
    }
    run.faults
}

/// What was found so far, and how much may still be done.
struct Run<'a> {
    faults: Faults,
    left: &'a Cell<u64>,
}

impl Run<'_> {
    fn charge(&self, work: usize) {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1 + work as u64));
    }

    fn is_over(&self) -> bool {
        self.faults.is_full() || self.left.get() == 0
    }
}

fn check_value(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    run: &mut Run<'_>,
) {
    if run.is_over() || old.is_some_and(|old| !old.is_null() && old == value) {
        return;
    }
    run.charge(work_of(node, value));
    check_type(node, value, path, &mut run.faults);
    let checks = node.checks.as_deref();
    if let (false, Some(checks)) = (value.is_null(), checks) {
        check_alternatives(checks, value, path, run);
    }
    let faults = &mut run.faults;
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::String(text) => {
            if let Some(checks) = checks {
                check_text(checks, text, path, faults);
            }
        }
        Value::Number(number) => {
            if let Some(checks) = checks {
                check_number(node, checks, number, path, faults);
            }
        }
        Value::Array(list) => check_list(node, list, old, path, run),
        Value::Object(_) => {}
    }
    if let Some(checks) = checks {
        check_enum(checks, value, path, &mut run.faults);
    }
    if let Value::Object(fields) = value {
        check_object(node, fields, old, path, run);
    }
}

/// What a node costs beyond a step.
fn work_of(node: &Node, value: &Value) -> usize {
    let Some(checks) = node.checks.as_deref() else {
        return 0;
    };
    let text = value.as_str().map_or(0, str::len);
    let matched = if checks.pattern.is_some() {
        text / 16
    } else {
        0
    };
    matched + checks.values.len() / 8 + checks.required.len() / 4
}

/// The type of a value, as a schema would name it.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_of(value: &Value, of: Type) -> bool {
    match (of, value) {
        (Type::Object, Value::Object(_))
        | (Type::Array, Value::Array(_))
        | (Type::String, Value::String(_))
        | (Type::Number, Value::Number(_))
        | (Type::Boolean, Value::Bool(_)) => true,
        (Type::Integer, Value::Number(number)) => {
            !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
        }
        _ => false,
    }
}

fn check_type(node: &Node, value: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    if value.is_null() && node.nullable {
        return;
    }
    if node.int_or_string {
        if !(is_of(value, Type::Integer) || value.is_string()) {
            let detail = format!("\"{path}\" must validate at least one schema (anyOf)");
            faults.invalid("", &"".into(), detail);
            wrong_type(Type::Integer, value, path, faults);
        }
        return;
    }
    if let Some(of) = node.of
        && !is_of(value, of)
    {
        wrong_type(of, value, path, faults);
    }
}

fn wrong_type(wanted: Type, value: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    let name = type_name(value);
    let wanted = wanted.name();
    let detail = format!("{path} in body must be of type {wanted}: {name:?}");
    faults.add(path, Reason::TypeInvalid, Some(&name.into()), detail);
}

fn check_text(checks: &Checks, text: &str, path: &FieldPath<'_>, faults: &mut Faults) {
    let value = Value::from(text);
    let long = checks.max_length.is_some() || checks.min_length.is_some();
    let length = if long { text.chars().count() as u64 } else { 0 };
    if let Some(most) = checks.max_length.filter(|most| length > *most) {
        let detail = format!("may not be more than {most} bytes");
        faults.add(path, Reason::TooLong, None, detail);
    }
    if let Some(least) = checks.min_length.filter(|least| length < *least) {
        let detail = format!("{path} in body should be at least {least} chars long");
        faults.invalid(path, &value, detail);
    }
    if let Some(pattern) = &checks.pattern
        && !pattern.is_match(text)
    {
        let detail = format!("{path} in body should match '{}'", pattern.source());
        faults.invalid(path, &value, detail);
    }
    if let Some(format) = checks.format
        && !format.fits_text(text)
    {
        let name = format.name();
        let detail = format!("{path} in body must be of type {name}: {text:?}");
        faults.add(path, Reason::TypeInvalid, Some(&value), detail);
    }
}

fn check_number(
    node: &Node,
    checks: &Checks,
    number: &Number,
    path: &FieldPath<'_>,
    faults: &mut Faults,
) {
    let float = number.as_f64().unwrap_or_default();
    let value = shown(number, float);
    if let Some(format) = checks.format
        && !format::fits(format, &value)
    {
        let (of, name) = (node.of.map_or("number", Type::name), format.name());
        let detail = format!("Checked value must be of type {of} with format {name}");
        faults.invalid("", &"".into(), detail);
    }
    if let Some(factor) = checks.multiple_of
        && !is_multiple(float, factor)
    {
        let factor = go_float(factor);
        let detail = format!("{path} in body should be a multiple of {factor}");
        faults.invalid(path, &value, detail);
    }
    let outside = |bound: &Bound, beyond: bool| beyond || (bound.exclusive && float == bound.at);
    if let Some(bound) = checks
        .maximum
        .filter(|bound| outside(bound, float > bound.at))
    {
        let equal = if bound.exclusive { "" } else { " or equal to" };
        let at = go_float(bound.at);
        let detail = format!("{path} in body should be less than{equal} {at}");
        faults.invalid(path, &value, detail);
    }
    if let Some(bound) = checks
        .minimum
        .filter(|bound| outside(bound, float < bound.at))
    {
        let equal = if bound.exclusive { "" } else { " or equal to" };
        let at = go_float(bound.at);
        let detail = format!("{path} in body should be greater than{equal} {at}");
        faults.invalid(path, &value, detail);
    }
}

/// The number as Go shows it: without a fraction if it has none.
fn shown(number: &Number, float: f64) -> Value {
    let whole = number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15;
    if whole {
        (float as i64).into()
    } else {
        number.clone().into()
    }
}

fn is_multiple(value: f64, factor: f64) -> bool {
    let times = value / factor;
    let off = (times - times.round()).abs();
    off <= 1e-9 * times.abs().max(1.0)
}

/// A number as Go's `%v` writes it.
pub(in crate::structural) fn go_float(float: f64) -> String {
    if float != 0.0 && !(1e-4..1e21).contains(&float.abs()) {
        let text = format!("{float:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or_default();
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    format!("{float}")
}

fn check_list(
    node: &Node,
    list: &[Value],
    old: Option<&Value>,
    path: &FieldPath<'_>,
    run: &mut Run<'_>,
) {
    if let Some(items) = node.items() {
        let before = Before::of(node, old);
        for (index, element) in list.iter().enumerate() {
            let old = before.find(node, element);
            check_value(items, element, old, &path.index(index), run);
        }
    }
    let Some(checks) = node.checks.as_deref() else {
        return;
    };
    let faults = &mut run.faults;
    let length = list.len() as u64;
    if let Some(least) = checks.min_items.filter(|least| length < *least) {
        let detail = format!("{path} in body should have at least {least} items");
        faults.invalid(path, &length.into(), detail);
    }
    if let Some(most) = checks.max_items.filter(|most| length > *most) {
        too_many(length, most, path, faults);
    }
}

fn too_many(length: u64, most: u64, path: &FieldPath<'_>, faults: &mut Faults) {
    let detail = format!("must have at most {most} items");
    faults.add(path, Reason::TooMany, Some(&length.into()), detail);
}

/// The elements of an old list by their keys: only those of a map can be told apart.
pub(in crate::structural) struct Before<'a>(HashMap<String, &'a Value>);

impl<'a> Before<'a> {
    pub(in crate::structural) fn of(node: &Node, old: Option<&'a Value>) -> Self {
        let list = match (node.list, old) {
            (ListType::Map, Some(Value::Array(list))) => list.as_slice(),
            _ => &[],
        };
        let keyed = list
            .iter()
            .map(|element| (keys_of(node, element).to_string(), element));
        Self(keyed.collect())
    }

    pub(in crate::structural) fn find(&self, node: &Node, element: &Value) -> Option<&'a Value> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&keys_of(node, element).to_string()).copied()
    }
}

fn check_enum(checks: &Checks, value: &Value, path: &FieldPath<'_>, faults: &mut Faults) {
    let allowed = &checks.values;
    if allowed.is_empty() || allowed.iter().any(|allowed| is_same(allowed, value)) {
        return;
    }
    let quoted = |allowed: &Value| match allowed {
        Value::String(text) => format!("{text:?}"),
        other => format!("{:?}", other.to_string()),
    };
    let allowed: Vec<String> = allowed.iter().map(quoted).collect();
    let detail = format!("supported values: {}", allowed.join(", "));
    faults.add(path, Reason::NotSupported, Some(value), detail);
}

/// Equal, where 1 and 1.0 are.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64() == right.as_f64()
        }
        (left, right) => left == right,
    }
}

fn check_object(
    node: &Node,
    fields: &serde_json::Map<String, Value>,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    run: &mut Run<'_>,
) {
    let checks = node.checks.as_deref();
    let count = fields.len() as u64;
    if let Some(least) = checks.and_then(|checks| checks.min_properties)
        && count < least
    {
        let detail = format!("{path} in body should have at least {least} properties");
        run.faults.invalid(path, &count.into(), detail);
        return;
    }
    if let Some(most) = checks.and_then(|checks| checks.max_properties)
        && count > most
    {
        too_many(count, most, path, &mut run.faults);
        return;
    }
    for (name, value) in fields {
        let below = match (node.property(name), &node.additional) {
            (Some(property), _) => property,
            (None, Additional::Of(of)) => of,
            _ => continue,
        };
        let old = old.and_then(|old| old.get(name));
        check_value(below, value, old, &path.field(name), run);
    }
    let required = checks.map(|checks| &*checks.required).unwrap_or_default();
    for name in required
        .iter()
        .filter(|name| !fields.contains_key(&***name))
    {
        run.faults.required(path.field(name), "");
    }
}

/// `allOf`, `anyOf`, `oneOf` and `not`. What they find wrong in general names no field.
fn check_alternatives(checks: &Checks, value: &Value, path: &FieldPath<'_>, run: &mut Run<'_>) {
    let left = run.left;
    let try_one = |node: &Node| {
        let mut run = Run {
            faults: Faults::default(),
            left,
        };
        check_value(node, value, None, path, &mut run);
        run.faults
    };
    let try_each = |nodes: &[Node]| -> Vec<Faults> { nodes.iter().map(try_one).collect() };
    let faults = &mut run.faults;
    if !checks.any_of.is_empty() {
        let found = try_each(&checks.any_of);
        if !found.iter().any(Faults::is_empty) {
            let detail = format!("\"{path}\" must validate at least one schema (anyOf)");
            faults.invalid("", &"".into(), detail);
            faults.extend(best_of(found));
        }
    }
    if !checks.one_of.is_empty() {
        let found = try_each(&checks.one_of);
        let valid = found.iter().filter(|faults| faults.is_empty()).count();
        if valid != 1 {
            let outcome = match valid {
                0 => "Found none valid".to_owned(),
                valid => format!("Found {valid} valid alternatives"),
            };
            let detail =
                format!("\"{path}\" must validate one and only one schema (oneOf). {outcome}");
            faults.invalid("", &"".into(), detail);
            if valid == 0 {
                faults.extend(best_of(found));
            }
        }
    }
    if !checks.all_of.is_empty() {
        let found = try_each(&checks.all_of);
        let valid = found.iter().filter(|faults| faults.is_empty()).count();
        let total = found.len();
        for found in found {
            faults.extend(Some(found));
        }
        if valid != total {
            let none = if valid == 0 { ". None validated" } else { "" };
            let detail = format!("\"{path}\" must validate all the schemas (allOf){none}");
            faults.invalid("", &"".into(), detail);
        }
    }
    if let Some(not) = &checks.not
        && try_one(not).is_empty()
    {
        let detail = format!("\"{path}\" must not validate the schema (not)");
        faults.invalid("", &"".into(), detail);
    }
}

/// The alternative that the value is nearest to.
fn best_of(found: Vec<Faults>) -> Option<Faults> {
    found.into_iter().min_by_key(Faults::len)
}
