//! From source to a program. Only this file and the one below it name the crate.

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr};
use cel::parser::PrattParser;

use super::functions::{self, Function, Matching};
use super::operators::{join, no_overload, operator};
use super::shape::{Kind, Shape};
use super::{Code, Constant, Flat, Old, Program, Scope, Wanted, unescape};
use crate::structural::node::ListType;
use crate::structural::pattern::Patterns;

mod macros;

/// How long an expression may be, in bytes.
const MAX_SOURCE: usize = 16 * 1024;
/// How deeply an expression may be nested, by brackets or by a chain of operators.
const MAX_DEPTH: usize = 200;
/// How deeply by brackets: the parser calls itself for each.
const MAX_BRACKETS: u16 = 48;

pub(super) fn program(
    source: &str,
    scope: Scope<'_>,
    wanted: Wanted,
    patterns: &mut Patterns,
) -> Result<Program, String> {
    if source.len() > MAX_SOURCE {
        return Err(format!("the expression is longer than {MAX_SOURCE} bytes"));
    }
    let parser = PrattParser::new()
        .max_recursion_depth(MAX_BRACKETS)
        .max_expression_node_count(2000)
        .error_recovery_limit(4)
        .error_reporting_limit(4)
        .enable_optional_syntax(true);
    let parsed = parser.parse(source).map_err(|errors| errors.to_string())?;
    let Some(this) = Shape::of_node(scope.node, scope.is_object) else {
        return Err("the type of self cannot be used in expressions".into());
    };
    let mut compiler = Compiler {
        this,
        old: scope.old,
        locals: Vec::new(),
        uses_old: false,
        depth: 0,
        patterns,
    };
    let typed = compiler.expression(&parsed)?;
    let (fits, name) = match wanted {
        Wanted::Bool => (matches!(typed.shape.kind, Kind::Bool | Kind::Any), "bool"),
        Wanted::Text => (matches!(typed.shape.kind, Kind::Text | Kind::Any), "string"),
    };
    if !fits {
        return Err(match wanted {
            Wanted::Bool => "cel expression must evaluate to a bool".into(),
            Wanted::Text => format!("messageExpression must evaluate to a {name}"),
        });
    }
    Ok(Program {
        code: typed.code,
        uses_old: compiler.uses_old,
        cost: typed.cost,
    })
}

/// An expression with its type and cost.
struct Typed<'n> {
    code: Code,
    shape: Shape<'n>,
    cost: u64,
}

struct Compiler<'n, 'p> {
    this: Shape<'n>,
    old: Old,
    /// The variables of the macros around an expression.
    locals: Vec<(String, Shape<'n>)>,
    uses_old: bool,
    depth: usize,
    patterns: &'p mut Patterns,
}

type Compiled<'n> = Result<Typed<'n>, String>;

impl<'n> Compiler<'n, '_> {
    fn expression(&mut self, expr: &IdedExpr) -> Compiled<'n> {
        if self.depth >= MAX_DEPTH {
            return Err(format!(
                "the expression is nested deeper than {MAX_DEPTH} levels"
            ));
        }
        self.depth += 1;
        let typed = match &expr.expr {
            Expr::Literal(literal) => constant(literal),
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                if !list.optional_indices.is_empty() {
                    return Err("optional elements of lists are not supported".into());
                }
                self.list(&list.elements)
            }
            Expr::Map(map) => self.map(map.entries.iter().map(|entry| &entry.expr)),
            Expr::Comprehension(fold) => self.fold(fold),
            Expr::Struct(made) => Err(format!("undeclared reference to '{}'", made.type_name)),
            Expr::Unspecified => Err("there is no expression".into()),
        };
        self.depth -= 1;
        typed
    }

    fn variable(&mut self, name: &str) -> Compiled<'n> {
        let local = self.locals.iter().rposition(|(local, _)| local == name);
        let (code, shape) = match (local, name) {
            (Some(depth), _) => {
                let shape = self.locals.get(depth).map(|(_, shape)| shape.clone());
                (Code::Local(depth), shape.unwrap_or(Shape::of(Kind::Any)))
            }
            (None, "self") => (Code::This, self.this.clone()),
            (None, "oldSelf") => {
                self.uses_old = true;
                let shape = match self.old {
                    Old::Plain => self.this.clone(),
                    Old::Optional => Shape::of(Kind::Optional(Box::new(self.this.clone()))),
                };
                (Code::Old, shape)
            }
            // The names of types, to compare with.
            (
                None,
                "int" | "uint" | "double" | "bool" | "string" | "bytes" | "list" | "map"
                | "null_type",
            ) => (
                Code::Constant(Constant::Text(name.into())),
                Shape::of(Kind::Any),
            ),
            (None, other) => {
                return Err(format!(
                    "undeclared reference to '{other}' (in container '')"
                ));
            }
        };
        Ok(Typed {
            code,
            shape,
            cost: 1,
        })
    }

    fn select(&mut self, select: &SelectExpr) -> Compiled<'n> {
        let operand = self.expression(&select.operand)?;
        let name = match operand.shape.kind {
            Kind::Map(_) => select.field.clone(),
            _ => unescape(&select.field),
        };
        let Some(shape) = operand.shape.field(&name) else {
            return Err(match operand.shape.kind {
                Kind::Object(..) | Kind::Metadata => format!("undefined field '{}'", select.field),
                _ => format!(
                    "type '{}' does not support field selection",
                    operand.shape.name()
                ),
            });
        };
        let (of, name) = (Box::new(operand.code), name.into());
        let (code, shape) = match select.test {
            true => (Code::Has(of, name), Shape::of(Kind::Bool)),
            false => (Code::Select(of, name), shape),
        };
        Ok(Typed {
            code,
            shape,
            cost: operand.cost.saturating_add(1),
        })
    }

    fn call(&mut self, call: &CallExpr) -> Compiled<'n> {
        let name = call.func_name.as_str();
        match (name, call.args.as_slice()) {
            ("_&&_" | "_||_", [_, _]) => return self.logical(name, &call.args),
            ("_?_:_", [_, _, _]) => return self.conditional(&call.args),
            ("_?._", [of, field]) => return self.optional_select(of, field),
            ("optMap", [variable, body]) => {
                return self.inside(call.target.as_deref(), variable, body, Flat::Value);
            }
            ("optFlatMap", [variable, body]) => {
                return self.inside(call.target.as_deref(), variable, body, Flat::Optional);
            }
            _ => {}
        }
        // `optional.of(x)` is a call of a function with a dot in its name.
        let qualified = call
            .target
            .as_deref()
            .and_then(|target| match &target.expr {
                Expr::Ident(space) => Some(format!("{space}.{name}")),
                _ => None,
            });
        let qualified = qualified.filter(|name| functions::exists(name));
        let mut args = Vec::new();
        let full = match (&qualified, call.target.as_deref()) {
            (Some(full), _) => full.clone(),
            (None, Some(target)) => {
                args.push(self.expression(target)?);
                format!(".{name}")
            }
            (None, None) => name.to_owned(),
        };
        for arg in &call.args {
            args.push(self.expression(arg)?);
        }
        let shapes: Vec<Shape<'n>> = args.iter().map(|arg| arg.shape.clone()).collect();
        if let Some(typed) = operator(&full, &shapes)? {
            return Ok(finish(typed.function, typed.shape, typed.cost, args));
        }
        if !functions::exists(&full) {
            return Err(format!(
                "undeclared reference to '{name}': the function is unknown or not supported by this server"
            ));
        }
        let Some(found) = functions::find(&full, &shapes) else {
            return Err(no_overload(
                name,
                &shapes,
                call.target.is_some() && qualified.is_none(),
            ));
        };
        if let Some(kind) = matching(&full) {
            return self.matched(kind, found, args, call.args.last());
        }
        Ok(finish(found.function, found.shape, found.cost, args))
    }

    /// A call with a pattern. It must be a literal: one that is made while it runs would have to be compiled each time.
    fn matched(
        &mut self,
        kind: Matching,
        found: functions::Found<'n>,
        args: Vec<Typed<'n>>,
        pattern: Option<&IdedExpr>,
    ) -> Compiled<'n> {
        let Some(Expr::Literal(LiteralValue::String(source))) = pattern.map(|expr| &expr.expr)
        else {
            return Err(
                "a regular expression must be a string literal to be supported by this server"
                    .into(),
            );
        };
        let pattern = self
            .patterns
            .read(source.inner())
            .map_err(|why| format!("invalid matches argument: {why}"))?;
        let cost = args
            .iter()
            .map(|arg| arg.cost)
            .fold(found.cost, u64::saturating_add);
        let Some(text) = args.into_iter().next() else {
            return Err("a regular expression is matched with a text".into());
        };
        Ok(Typed {
            code: Code::Match(Box::new(text.code), kind, Box::new(pattern)),
            shape: found.shape,
            cost,
        })
    }

    fn logical(&mut self, name: &str, args: &[IdedExpr]) -> Compiled<'n> {
        let mut sides = Vec::new();
        for arg in args {
            sides.push(self.expression(arg)?);
        }
        let shapes: Vec<Shape<'n>> = sides.iter().map(|side| side.shape.clone()).collect();
        if !shapes
            .iter()
            .all(|shape| matches!(shape.kind, Kind::Bool | Kind::Any))
        {
            return Err(no_overload(name, &shapes, false));
        }
        let cost = sides
            .iter()
            .map(|side| side.cost)
            .fold(0, u64::saturating_add);
        let mut sides = sides.into_iter().map(|side| Box::new(side.code));
        let (Some(left), Some(right)) = (sides.next(), sides.next()) else {
            return Err("an operator has two sides".into());
        };
        let code = match name {
            "_&&_" => Code::And(left, right),
            _ => Code::Or(left, right),
        };
        Ok(Typed {
            code,
            shape: Shape::of(Kind::Bool),
            cost,
        })
    }

    fn conditional(&mut self, args: &[IdedExpr]) -> Compiled<'n> {
        let [condition, yes, no] = args else {
            return Err("a condition has two outcomes".into());
        };
        let [condition, yes, no] = [
            self.expression(condition)?,
            self.expression(yes)?,
            self.expression(no)?,
        ];
        if !matches!(condition.shape.kind, Kind::Bool | Kind::Any) || !yes.shape.fits(&no.shape) {
            let shapes = [condition.shape, yes.shape, no.shape];
            return Err(no_overload("_?_:_", &shapes, false));
        }
        let kind = match &yes.shape.kind {
            Kind::Any | Kind::Null => no.shape.kind.clone(),
            other => other.clone(),
        };
        let size = yes.shape.size.max(no.shape.size);
        let cost = condition.cost.saturating_add(yes.cost.max(no.cost));
        Ok(Typed {
            code: Code::If(Box::new([condition.code, yes.code, no.code])),
            shape: Shape { kind, size },
            cost,
        })
    }

    fn optional_select(&mut self, of: &IdedExpr, field: &IdedExpr) -> Compiled<'n> {
        let operand = self.expression(of)?;
        let Expr::Literal(LiteralValue::String(name)) = &field.expr else {
            return Err("a field has a name".into());
        };
        let name = unescape(name.inner());
        let inside = match &operand.shape.kind {
            Kind::Optional(inside) => (**inside).clone(),
            _ => operand.shape.clone(),
        };
        let Some(shape) = inside.field(&name) else {
            return Err(format!("undefined field '{name}'"));
        };
        Ok(Typed {
            code: Code::OptionalSelect(Box::new(operand.code), name.into()),
            shape: Shape::of(Kind::Optional(Box::new(shape))),
            cost: operand.cost.saturating_add(1),
        })
    }

    fn list(&mut self, elements: &[IdedExpr]) -> Compiled<'n> {
        let mut cost: u64 = 10;
        let mut codes = Vec::new();
        let mut element: Option<Shape<'n>> = None;
        for expr in elements {
            let typed = self.expression(expr)?;
            cost = cost.saturating_add(typed.cost);
            element = Some(join(element, typed.shape));
            codes.push(typed.code);
        }
        let element = element.unwrap_or(Shape::of(Kind::Any));
        let size = codes.len() as u64;
        Ok(Typed {
            code: Code::List(codes.into()),
            shape: Shape {
                kind: Kind::List(Box::new(element), ListType::Atomic),
                size,
            },
            cost,
        })
    }

    fn map<'e>(&mut self, entries: impl Iterator<Item = &'e EntryExpr>) -> Compiled<'n> {
        let mut cost: u64 = 30;
        let mut codes = Vec::new();
        let mut value: Option<Shape<'n>> = None;
        for entry in entries {
            let EntryExpr::MapEntry(entry) = entry else {
                return Err("a map has keys and values".into());
            };
            if entry.optional {
                return Err("optional entries of maps are not supported".into());
            }
            let [key, held] = [self.expression(&entry.key)?, self.expression(&entry.value)?];
            cost = cost.saturating_add(key.cost).saturating_add(held.cost);
            value = Some(join(value, held.shape));
            codes.push((key.code, held.code));
        }
        let size = codes.len() as u64;
        let value = value.unwrap_or(Shape::of(Kind::Any));
        Ok(Typed {
            code: Code::Map(codes.into()),
            shape: Shape {
                kind: Kind::Map(Box::new(value)),
                size,
            },
            cost,
        })
    }
}

fn constant<'n>(literal: &LiteralValue) -> Compiled<'n> {
    let (constant, kind, size) = match literal {
        LiteralValue::Null => (Constant::Null, Kind::Null, 1),
        LiteralValue::Boolean(value) => (Constant::Bool(*value.inner()), Kind::Bool, 1),
        LiteralValue::Int(value) => (Constant::Int(*value.inner()), Kind::Int, 1),
        LiteralValue::UInt(value) => (Constant::Uint(*value.inner()), Kind::Uint, 1),
        LiteralValue::Double(value) => (Constant::Double(*value.inner()), Kind::Double, 1),
        LiteralValue::String(value) => {
            let text = value.inner();
            (Constant::Text(text.into()), Kind::Text, text.len() as u64)
        }
        LiteralValue::Bytes(value) => {
            let bytes = value.inner();
            (
                Constant::Bytes(bytes.into()),
                Kind::Bytes,
                bytes.len() as u64,
            )
        }
    };
    Ok(Typed {
        code: Code::Constant(constant),
        shape: Shape { kind, size },
        cost: 0,
    })
}

fn finish<'n>(function: Function, shape: Shape<'n>, cost: u64, args: Vec<Typed<'n>>) -> Typed<'n> {
    let cost = args
        .iter()
        .map(|arg| arg.cost)
        .fold(cost, u64::saturating_add);
    Typed {
        code: Code::Call(function, args.into_iter().map(|arg| arg.code).collect()),
        shape,
        cost,
    }
}

fn matching(name: &str) -> Option<Matching> {
    match name {
        "matches" | ".matches" => Some(Matching::Matches),
        ".find" => Some(Matching::Find),
        ".findAll" => Some(Matching::FindAll),
        _ => None,
    }
}
