//! The Common Expression Language, as far as the rules of schemas need it.
//!
//! ```text
//!   source ──► the crate's parser ──► compile: names, types, cost at most ──► Program ──► run on a budget
//! ```
//!
//! The crate `cel` reads the language and expands its macros. Its interpreter is not used: it cannot be stopped, and it copies each
//! element that it visits. Here an expression is bound to the types of a schema when it is compiled, so that what is misspelt
//! is refused with the definition, and it runs on the object's own JSON. Every step is paid for from a budget; when that is used up,
//! nothing can catch the failure.

use std::cell::Cell;

use serde_json::Value;

use super::node::{Node, Type};
use super::pattern::{Pattern, Patterns};

mod call;
mod compile;
mod convert;
mod functions;
mod network;
mod operators;
mod run;
mod shape;
mod value;

use run::Frame;
use value::Val;

pub(super) use shape::largest;

/// What one run of an expression may cost.
const CALL_LIMIT: u64 = 1_000_000;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Program {
    code: Code,
    uses_old: bool,
    cost: u64,
}

/// What an expression is about.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// The type of `self`.
    pub(super) node: &'a Node,
    /// Whether `self` has a kind and metadata.
    pub(super) is_object: bool,
    pub(super) old: Old,
}

/// What `oldSelf` is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Old {
    /// The value as it was.
    Plain,
    /// An optional, empty if there was none.
    Optional,
}

/// What an expression must come to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Bool,
    Text,
}

/// The values that an expression is run on.
pub(super) struct Bindings<'a> {
    pub(super) value: &'a Value,
    pub(super) old: Option<&'a Value>,
    pub(super) node: &'a Node,
    pub(super) optional_old: bool,
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fail {
    /// It is too expensive.
    CallLimit,
    /// All expressions together are.
    Budget,
    /// As CEL says it: `no such key: a`.
    Error(String),
}

/// What may still be spent on an object.
#[derive(Debug)]
pub(super) struct Budget(Cell<u64>);

impl Budget {
    pub(super) fn new(left: u64) -> Self {
        Self(Cell::new(left))
    }
}

/// An expression whose names are resolved.
#[derive(Debug)]
enum Code {
    Constant(Constant),
    This,
    Old,
    /// The variable of a macro, by its depth.
    Local(usize),
    /// A field, by its name in JSON.
    Select(Box<Self>, Box<str>),
    /// Whether the field is there.
    Has(Box<Self>, Box<str>),
    /// The field as an optional.
    OptionalSelect(Box<Self>, Box<str>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    If(Box<[Self; 3]>),
    List(Box<[Self]>),
    Map(Box<[(Self, Self)]>),
    Call(functions::Function, Box<[Self]>),
    /// A call with an expression that was compiled beforehand.
    Match(Box<Self>, functions::Matching, Box<Pattern>),
    Fold(Box<Fold>),
    /// What is made of the inside of an optional; an optional itself, if so.
    Inside(Box<Self>, Box<Self>, Flat),
}

/// What comes of the inside of an optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flat {
    /// A value: `optMap`.
    Value,
    /// An optional: `optFlatMap`.
    Optional,
}

/// A macro over the elements of a list, or the keys of a map.
#[derive(Debug)]
struct Fold {
    kind: FoldKind,
    range: Code,
    /// A condition, of `map` with three arguments and of `filter`.
    guard: Option<Code>,
    body: Code,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FoldKind {
    All,
    Exists,
    ExistsOne,
    Map,
}

/// A literal.
#[derive(Debug)]
enum Constant {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
}

impl Program {
    pub(super) fn compile(
        source: &str,
        scope: Scope<'_>,
        wanted: Wanted,
        patterns: &mut Patterns,
    ) -> Result<Self, String> {
        compile::program(source, scope, wanted, patterns)
    }

    pub(super) fn uses_old(&self) -> bool {
        self.uses_old
    }

    /// What a run may cost at most, by what the schema allows.
    pub(super) fn cost(&self) -> u64 {
        self.cost
    }

    pub(super) fn is_true(&self, bindings: &Bindings<'_>, budget: &Budget) -> Result<bool, Fail> {
        match self.run(bindings, budget)? {
            Val::Bool(truth) => Ok(truth),
            _ => Err(Fail::Error("no such overload".into())),
        }
    }

    pub(super) fn text(&self, bindings: &Bindings<'_>, budget: &Budget) -> Result<String, Fail> {
        let value = self.run(bindings, budget)?;
        let text = value.as_text().map(str::to_owned);
        text.ok_or_else(|| Fail::Error("no such overload".into()))
    }

    fn run<'a>(&'a self, bindings: &Bindings<'a>, budget: &Budget) -> Result<Val<'a>, Fail> {
        let limit = budget.0.get().min(CALL_LIMIT);
        let mut frame = Frame::new(bindings, limit);
        let outcome = frame.eval(&self.code);
        budget
            .0
            .set(budget.0.get() - (limit - frame.left().min(limit)));
        match outcome {
            Err(Fail::CallLimit) if limit < CALL_LIMIT => Err(Fail::Budget),
            outcome => outcome,
        }
    }
}

/// The words that a field may not be called by in an expression: there they are written with underscores around them.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// The name of a field in JSON, from how it is written in an expression.
fn unescape(name: &str) -> String {
    if let Some(word) = name
        .strip_prefix("__")
        .and_then(|rest| rest.strip_suffix("__"))
        && RESERVED.contains(&word)
    {
        return word.to_owned();
    }
    if !name.contains("__") {
        return name.to_owned();
    }
    let mut out = String::new();
    let mut rest = name;
    'next: while !rest.is_empty() {
        for (escaped, plain) in [
            ("__underscores__", "__"),
            ("__dot__", "."),
            ("__dash__", "-"),
            ("__slash__", "/"),
        ] {
            if let Some(after) = rest.strip_prefix(escaped) {
                out.push_str(plain);
                rest = after;
                continue 'next;
            }
        }
        let mut letters = rest.chars();
        out.extend(letters.next());
        rest = letters.as_str();
    }
    out
}

/// Whether a type is one that expressions see a moment, a span of time or bytes in.
fn is_plain_text(node: &Node) -> bool {
    node.of == Some(Type::String)
        && !matches!(
            node.format(),
            Some("byte" | "date" | "date-time" | "datetime" | "duration")
        )
}
