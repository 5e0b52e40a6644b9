//! Running a program on a budget.

use std::cell::Cell;

use super::functions::Matching;
use super::value::Val;
use super::{Bindings, Code, Constant, Fail, Flat, Fold, FoldKind, call};
use crate::structural::pattern::Pattern;

/// A run of a program.
pub(super) struct Frame<'a> {
    this: Val<'a>,
    old: Val<'a>,
    /// The variables of the macros around the present expression.
    locals: Vec<Val<'a>>,
    left: Cell<u64>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(bindings: &Bindings<'a>, limit: u64) -> Self {
        let node = Some(bindings.node);
        let old = bindings.old.map(|old| Val::lift(old, node));
        Self {
            this: Val::lift(bindings.value, node),
            old: match bindings.optional_old {
                true => Val::Optional(old.map(Into::into)),
                false => old.unwrap_or(Val::Null),
            },
            locals: Vec::new(),
            left: Cell::new(limit),
        }
    }

    /// What may still be spent.
    pub(super) fn left(&self) -> u64 {
        self.left.get()
    }

    /// Pays for a step. Nothing catches the failure.
    pub(super) fn charge(&self, cost: u64) -> Result<(), Fail> {
        match self.left.get().checked_sub(cost) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.left.set(0);
                Err(Fail::CallLimit)
            }
        }
    }

    pub(super) fn eval(&mut self, code: &'a Code) -> Result<Val<'a>, Fail> {
        self.charge(1)?;
        match code {
            Code::Constant(constant) => {
                if let Constant::Bytes(bytes) = constant {
                    self.charge(bytes.len() as u64 / 10)?;
                }
                Ok(Val::constant(constant))
            }
            Code::This => Ok(self.this.clone()),
            Code::Old => Ok(self.old.clone()),
            Code::Local(depth) => {
                let local = self.locals.get(*depth).cloned();
                local.ok_or_else(|| Fail::Error("no such variable".into()))
            }
            Code::Select(of, name) => {
                let of = self.eval(of)?;
                self.pay_lookup(&of)?;
                of.field(name)
                    .ok_or_else(|| Fail::Error(format!("no such key: {name}")))
            }
            Code::Has(of, name) => {
                let of = self.eval(of)?;
                self.pay_lookup(&of)?;
                Ok(Val::Bool(of.field(name).is_some()))
            }
            Code::OptionalSelect(of, name) => {
                let of = match self.eval(of)? {
                    Val::Optional(Some(inside)) => (*inside).clone(),
                    Val::Optional(None) => return Ok(Val::Optional(None)),
                    other => other,
                };
                self.pay_lookup(&of)?;
                Ok(Val::Optional(of.field(name).map(Into::into)))
            }
            Code::And(left, right) => self.logical(left, right, false),
            Code::Or(left, right) => self.logical(left, right, true),
            Code::If(parts) => {
                let [condition, yes, no] = &**parts;
                match self.eval(condition)? {
                    Val::Bool(true) => self.eval(yes),
                    Val::Bool(false) => self.eval(no),
                    _ => Err(call::no_overload()),
                }
            }
            Code::List(elements) => {
                let mut list = Vec::with_capacity(elements.len());
                for element in elements {
                    list.push(self.eval(element)?);
                }
                Ok(Val::List(list.into()))
            }
            Code::Map(entries) => {
                let mut map: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    let key = self.eval(key)?;
                    self.charge(map.len() as u64)?;
                    if map.iter().any(|(other, _)| other.equals(&key)) {
                        return Err(Fail::Error("Failed with repeated key".into()));
                    }
                    let value = self.eval(value)?;
                    map.push((key, value));
                }
                Ok(Val::Map(map.into()))
            }
            Code::Call(function, args) => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push(self.eval(arg)?);
                }
                call::call(*function, &values, self)
            }
            Code::Match(text, kind, pattern) => {
                let text = self.eval(text)?;
                self.matched(&text, *kind, pattern)
            }
            Code::Fold(fold) => self.fold(fold),
            Code::Inside(of, body, flat) => match self.eval(of)? {
                Val::Optional(Some(inside)) => {
                    let depth = self.locals.len();
                    self.locals.push((*inside).clone());
                    let made = self.eval(body);
                    self.locals.truncate(depth);
                    match flat {
                        Flat::Value => made.map(|made| Val::Optional(Some(made.into()))),
                        Flat::Optional => made,
                    }
                }
                Val::Optional(None) => Ok(Val::Optional(None)),
                _ => Err(call::no_overload()),
            },
        }
    }

    /// Maps that expressions make are searched from their beginning.
    fn pay_lookup(&self, of: &Val<'_>) -> Result<(), Fail> {
        match of {
            Val::Map(map) => self.charge(map.len() as u64),
            _ => Ok(()),
        }
    }

    /// One side that decides makes up for an error of the other.
    fn logical(&mut self, left: &'a Code, right: &'a Code, decides: bool) -> Result<Val<'a>, Fail> {
        let truth = |value: Val<'a>| match value {
            Val::Bool(truth) => Ok(truth),
            _ => Err(call::no_overload()),
        };
        let first = match self.eval(left).and_then(truth) {
            Ok(truth) if truth == decides => return Ok(Val::Bool(decides)),
            Err(Fail::Error(why)) => Err(Fail::Error(why)),
            Err(fatal) => return Err(fatal),
            Ok(truth) => Ok(truth),
        };
        let second = self.eval(right).and_then(truth)?;
        match first {
            _ if second == decides => Ok(Val::Bool(decides)),
            Err(error) => Err(error),
            Ok(_) => Ok(Val::Bool(second)),
        }
    }

    fn matched(&self, text: &Val<'a>, kind: Matching, pattern: &Pattern) -> Result<Val<'a>, Fail> {
        let Some(haystack) = text.as_text() else {
            return Err(call::no_overload());
        };
        let effort = pattern.source().len() as u64 / 4 + 1;
        self.charge(text.weight().saturating_mul(effort))?;
        let Some(regex) = pattern.regex() else {
            return Err(Fail::Error("the expression cannot be compiled".into()));
        };
        Ok(match kind {
            Matching::Matches => Val::Bool(regex.is_match(haystack)),
            Matching::Find => {
                let found = regex.find(haystack).map_or("", |found| found.as_str());
                Val::Made(found.into())
            }
            Matching::FindAll => {
                let found = regex.find_iter(haystack);
                found
                    .map(|found| Val::Made(found.as_str().into()))
                    .collect::<Vec<_>>()
                    .into_list()
            }
        })
    }

    fn fold(&mut self, fold: &'a Fold) -> Result<Val<'a>, Fail> {
        let range = self.eval(&fold.range)?;
        self.charge(range.len().unwrap_or(0) as u64)?;
        let Some(elements) = range.elements() else {
            return Err(call::no_overload());
        };
        let depth = self.locals.len();
        let outcome = self.each(fold, elements);
        self.locals.truncate(depth);
        outcome
    }

    fn each(&mut self, fold: &'a Fold, elements: Vec<Val<'a>>) -> Result<Val<'a>, Fail> {
        let depth = self.locals.len();
        let mut made = Vec::new();
        let mut count = 0;
        let mut failed = None;
        for element in elements {
            self.locals.truncate(depth);
            self.locals.push(element);
            if let Some(guard) = &fold.guard {
                match self.eval(guard)? {
                    Val::Bool(true) => {}
                    Val::Bool(false) => continue,
                    _ => return Err(call::no_overload()),
                }
            }
            let value = match (self.eval(&fold.body), fold.kind) {
                // A later element may decide in spite of it.
                (Err(Fail::Error(why)), FoldKind::All | FoldKind::Exists) => {
                    failed = Some(Fail::Error(why));
                    continue;
                }
                (value, _) => value?,
            };
            match (fold.kind, value) {
                (FoldKind::Map, value) => made.push(value),
                (FoldKind::All, Val::Bool(false)) => return Ok(Val::Bool(false)),
                (FoldKind::Exists, Val::Bool(true)) => return Ok(Val::Bool(true)),
                (FoldKind::ExistsOne, Val::Bool(true)) => count += 1,
                (_, Val::Bool(_)) => {}
                _ => return Err(call::no_overload()),
            }
        }
        match (failed, fold.kind) {
            (Some(failed), _) => Err(failed),
            (None, FoldKind::All) => Ok(Val::Bool(true)),
            (None, FoldKind::Exists) => Ok(Val::Bool(false)),
            (None, FoldKind::ExistsOne) => Ok(Val::Bool(count == 1)),
            (None, FoldKind::Map) => Ok(Val::List(made.into())),
        }
    }
}

/// A list of values as one.
pub(super) trait IntoList<'a> {
    fn into_list(self) -> Val<'a>;
}

impl<'a> IntoList<'a> for Vec<Val<'a>> {
    fn into_list(self) -> Val<'a> {
        Val::List(self.into())
    }
}
