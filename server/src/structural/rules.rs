//! Rules in the Common Expression Language: `x-kubernetes-validations`.
//!
//! Rules are compiled when the schema is read. Those that do not compile are refused there, and those that could cost too much on
//! the largest object that the schema allows. They are run on a budget all the same.

use std::sync::OnceLock;

use serde_json::Value;

use super::cel::{self, Budget, Fail, Old, Program, Scope, Wanted};
use super::node::{Additional, ListType, Node, Type};
use super::pattern::Patterns;
use super::validate::Before;
use crate::schema::path::FieldPath;
use crate::validation::{Faults, Reason};

mod field_path;
mod read;

/// What all rules together may cost on one object.
const OBJECT_BUDGET: u64 = 10_000_000;
/// What one rule may be estimated to cost, over all places where it is run.
const RULE_LIMIT: u64 = 10_000_000;
/// What all rules of a schema may be estimated to cost.
const SCHEMA_LIMIT: u64 = 100_000_000;
/// How long a message may be that an expression makes.
const MAX_MESSAGE: usize = 5 * 1024;

/// A rule of a node.
#[derive(Debug)]
pub(super) struct Rule {
    source: Box<str>,
    message: Option<Box<str>>,
    message_expression: Option<Box<str>>,
    reason: Reason,
    field_path: Option<Box<str>>,
    optional_old: bool,
    /// Set when the schema has been read.
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    rule: Program,
    message: Option<Program>,
    /// What the field path comes to, as it is appended to a place.
    below: Option<Box<str>>,
}

/// Compiles every rule of a schema.
pub(super) fn compile(
    root: &Node,
    path: &FieldPath<'_>,
    patterns: &mut Patterns,
    faults: &mut Faults,
) {
    let mut compiler = Compiler {
        patterns,
        faults,
        total: 0,
    };
    let place = Place {
        is_object: true,
        times: 1,
        uncorrelated: None,
    };
    compiler.node(root, path, place);
    let total = compiler.total;
    if total > SCHEMA_LIMIT && faults.is_empty() {
        let detail = excess(
            "rule & messageExpression cost total for entire OpenAPIv3 schema",
            total,
            SCHEMA_LIMIT,
        );
        faults.forbidden(path, &detail);
    }
}

/// Where a node is, as far as rules must know.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// Whether it is a whole object, with kind and metadata.
    is_object: bool,
    /// How many values there may be of it in one object.
    times: u64,
    /// The list whose elements cannot be told apart.
    uncorrelated: Option<&'a FieldPath<'a>>,
}

struct Compiler<'f> {
    patterns: &'f mut Patterns,
    faults: &'f mut Faults,
    total: u64,
}

impl Compiler<'_> {
    fn node(&mut self, node: &Node, path: &FieldPath<'_>, place: Place<'_>) {
        if !node.has_rules || self.faults.is_full() {
            return;
        }
        let at = path.field("x-kubernetes-validations");
        for (index, rule) in node.rules.iter().enumerate() {
            self.rule(rule, node, &at.index(index), place);
        }
        let properties = path.field("properties");
        for (name, below) in node.properties() {
            let place = Place {
                is_object: below.embedded,
                ..place
            };
            self.node(below, &properties.key(name), place);
        }
        let times = place.times.saturating_mul(cel::largest(node));
        if let Additional::Of(below) = &node.additional {
            let at = path.field("additionalProperties");
            let place = Place {
                is_object: below.embedded,
                times,
                ..place
            };
            self.node(below, &at, place);
        }
        if let Some(below) = node.items() {
            let at = path.field("items");
            let apart = node.list == ListType::Map;
            let place = Place {
                is_object: below.embedded,
                times,
                uncorrelated: place.uncorrelated.or((!apart).then_some(path)),
            };
            self.node(below, &at, place);
        }
    }

    fn rule(&mut self, rule: &Rule, node: &Node, path: &FieldPath<'_>, place: Place<'_>) {
        let old = if rule.optional_old {
            Old::Optional
        } else {
            Old::Plain
        };
        let scope = Scope {
            node,
            is_object: place.is_object,
            old,
        };
        let source_at = path.field("rule");
        let program = self.expression(&rule.source, scope, Wanted::Bool, &source_at, place);
        let message = rule.message_expression.as_deref().and_then(|source| {
            let at = path.field("messageExpression");
            self.expression(source, scope, Wanted::Text, &at, place)
        });
        let below = rule.field_path.as_deref().and_then(|text| {
            let found = field_path::normalize(text, node);
            if let Err(why) = &found {
                let detail = format!("fieldPath must be a valid path: {why}");
                self.faults
                    .invalid(path.field("fieldPath"), &text.into(), detail);
            }
            found.ok()
        });
        let Some(program) = program else { return };
        if program.uses_old()
            && let Some(list) = place.uncorrelated
        {
            let detail = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
            );
            self.faults
                .invalid(source_at, &(&*rule.source).into(), detail);
        }
        if rule.optional_old && !program.uses_old() {
            let detail = "may not be set if oldSelf is not used in rule";
            self.faults
                .invalid(path.field("optionalOldSelf"), &true.into(), detail);
        }
        // It was empty: a schema is compiled once.
        let _ = rule.compiled.set(Compiled {
            rule: program,
            message,
            below,
        });
    }

    fn expression(
        &mut self,
        source: &str,
        scope: Scope<'_>,
        wanted: Wanted,
        at: &FieldPath<'_>,
        place: Place<'_>,
    ) -> Option<Program> {
        match Program::compile(source, scope, wanted, self.patterns) {
            Ok(program) => {
                let cost = program.cost().saturating_mul(place.times);
                self.total = self.total.saturating_add(cost);
                if cost > RULE_LIMIT {
                    let what = if wanted == Wanted::Bool {
                        "rule cost"
                    } else {
                        "messageExpression cost"
                    };
                    self.faults.forbidden(at, &excess(what, cost, RULE_LIMIT));
                }
                Some(program)
            }
            Err(why) => {
                self.faults
                    .invalid(at, &source.into(), format!("compilation failed: {why}"));
                None
            }
        }
    }
}

fn excess(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "estimated {what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, \
        maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

/// Runs every rule on an object.
pub(super) fn run(root: &Node, object: &Value, old: Option<&Value>, faults: &mut Faults) {
    let mut runner = Runner {
        faults,
        budget: Budget::new(OBJECT_BUDGET),
    };
    let visit = Visit {
        value: object,
        old,
        unchanged: false,
    };
    // An error means that there is no budget left, and has been told.
    let _ = runner.node(root, visit, &FieldPath::Root);
}

/// A value that rules are run on.
#[derive(Clone, Copy)]
struct Visit<'a> {
    value: &'a Value,
    old: Option<&'a Value>,
    /// Whether it, or what it is in, is as it was.
    unchanged: bool,
}

/// No further rule is run.
struct Exhausted;

struct Runner<'f> {
    faults: &'f mut Faults,
    budget: Budget,
}

impl Runner<'_> {
    fn node(
        &mut self,
        node: &Node,
        visit: Visit<'_>,
        path: &FieldPath<'_>,
    ) -> Result<(), Exhausted> {
        if !node.has_rules || visit.value.is_null() || self.faults.is_full() {
            return Ok(());
        }
        let same = |old: &Value| !old.is_null() && old == visit.value;
        let visit = Visit {
            unchanged: visit.unchanged || visit.old.is_some_and(same),
            ..visit
        };
        for rule in &node.rules {
            self.rule(rule, node, visit, path)?;
        }
        match visit.value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let old = visit.old.and_then(|old| old.get(name));
                    let (below, at) = match (node.property(name), node.additional()) {
                        (Some(below), _) => (below, path.field(name)),
                        (None, Some(below)) => (below, path.key(name)),
                        (None, None) => continue,
                    };
                    let visit = Visit {
                        value,
                        old,
                        ..visit
                    };
                    self.node(below, visit, &at)?;
                }
            }
            Value::Array(list) => {
                let Some(items) = node.items() else {
                    return Ok(());
                };
                let before = Before::of(node, visit.old);
                for (index, value) in list.iter().enumerate() {
                    let old = before.find(node, value);
                    let visit = Visit {
                        value,
                        old,
                        ..visit
                    };
                    self.node(items, visit, &path.index(index))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rule(
        &mut self,
        rule: &Rule,
        node: &Node,
        visit: Visit<'_>,
        path: &FieldPath<'_>,
    ) -> Result<(), Exhausted> {
        let Some(compiled) = rule.compiled.get() else {
            return Ok(());
        };
        let old = visit.old.filter(|old| !old.is_null());
        let uses_old = compiled.rule.uses_old();
        if uses_old && old.is_none() && !rule.optional_old {
            return Ok(());
        }
        let told: Value = node.of.map_or("", Type::name).into();
        let bindings = cel::Bindings {
            value: visit.value,
            old,
            node,
            optional_old: rule.optional_old,
        };
        let shown = rule.message.as_deref().unwrap_or(&rule.source).trim();
        match compiled.rule.is_true(&bindings, &self.budget) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(Fail::CallLimit) => {
                let detail = format!(
                    "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: {shown}"
                );
                self.faults.invalid(path, &told, detail);
                return Err(Exhausted);
            }
            Err(Fail::Budget) => {
                let detail = "validation failed due to running out of cost budget, no further validation rules will be run";
                self.faults.invalid(path, &told, detail);
                return Err(Exhausted);
            }
            Err(Fail::Error(why)) => {
                let detail = if why.starts_with("no such overload") {
                    format!(
                        "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {shown}"
                    )
                } else {
                    format!("{why} evaluating rule: {shown}")
                };
                self.faults.invalid(path, &told, detail);
                return Ok(());
            }
        }
        if visit.unchanged && !uses_old {
            return Ok(());
        }
        let detail = match &compiled.message {
            Some(expression) => message_of(expression, &bindings, &self.budget),
            None => None,
        };
        let detail = detail.unwrap_or_else(|| match &rule.message {
            Some(message) => message.trim().to_owned(),
            None => format!("failed rule: {}", rule.source.trim()),
        });
        let field = match &compiled.below {
            Some(below) if below.starts_with('[') => format!("{path}{below}"),
            Some(below) => path.field(below).to_string(),
            None => path.to_string(),
        };
        let (value, detail) = match rule.reason {
            Reason::Required | Reason::Forbidden => (None, detail),
            Reason::Duplicate => (Some(&told), String::new()),
            _ => (Some(&told), detail),
        };
        self.faults.add(field, rule.reason, value, detail);
        Ok(())
    }
}

/// The message that an expression makes, if it makes one that can be shown.
fn message_of(
    expression: &Program,
    bindings: &cel::Bindings<'_>,
    budget: &Budget,
) -> Option<String> {
    let text = expression.text(bindings, budget).ok()?;
    let text = text.trim();
    let good = !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n');
    good.then(|| text.to_owned())
}
