//! Macros: loops over lists and maps, and what is made of the inside of an optional.

use cel::common::ast::{ComprehensionExpr, Expr, IdedExpr, LiteralValue};

use super::super::shape::{Kind, Shape};
use super::super::{Code, Flat, Fold, FoldKind};
use super::{Compiled, Compiler, Typed};
use crate::structural::node::ListType;

impl<'n> Compiler<'n, '_> {
    /// The parser has made loops of the macros. What they were is seen by what they begin with.
    pub(super) fn fold(&mut self, fold: &ComprehensionExpr) -> Compiled<'n> {
        let unsupported = || Err("this macro is not supported".to_owned());
        let range = self.expression(&fold.iter_range)?;
        let Some(element) = range.shape.element() else {
            return Err(format!(
                "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                range.shape.name()
            ));
        };
        let Expr::Call(step) = &fold.loop_step.expr else {
            return unsupported();
        };
        let mut guard = None;
        let (kind, body) = match (&fold.accu_init.expr, step.args.as_slice()) {
            (Expr::Literal(LiteralValue::Boolean(begin)), [_, body]) => {
                let kind = if *begin.inner() {
                    FoldKind::All
                } else {
                    FoldKind::Exists
                };
                (kind, body)
            }
            (Expr::Literal(LiteralValue::Int(_)), [body, _, _]) => (FoldKind::ExistsOne, body),
            (Expr::List(_), [_, one]) => match single(one) {
                Some(body) => (FoldKind::Map, body),
                None => return unsupported(),
            },
            (Expr::List(_), [condition, add, _]) => {
                let Expr::Call(add) = &add.expr else {
                    return unsupported();
                };
                let Some(body) = add.args.get(1).and_then(single) else {
                    return unsupported();
                };
                guard = Some(condition);
                (FoldKind::Map, body)
            }
            _ => return unsupported(),
        };
        if fold.iter_var2.is_some() {
            return unsupported();
        }
        self.locals.push((fold.iter_var.clone(), element));
        let guard = guard.map(|guard| self.expression(guard)).transpose();
        let body = self.expression(body);
        self.locals.pop();
        let (guard, body) = (guard?, body?);
        let truth = |typed: &Typed<'_>| matches!(typed.shape.kind, Kind::Bool | Kind::Any);
        let is_test = kind != FoldKind::Map;
        if (is_test && !truth(&body)) || guard.as_ref().is_some_and(|guard| !truth(guard)) {
            return Err("the predicate of a macro must be a bool".into());
        }
        let size = range.shape.size;
        let each = body.cost.saturating_add(2);
        let each = each.saturating_add(guard.as_ref().map_or(0, |guard| guard.cost));
        let cost = range.cost.saturating_add(size.saturating_mul(each));
        let shape = match is_test {
            true => Shape::of(Kind::Bool),
            false => Shape {
                kind: Kind::List(Box::new(body.shape), ListType::Atomic),
                size,
            },
        };
        let fold = Fold {
            kind,
            range: range.code,
            guard: guard.map(|guard| guard.code),
            body: body.code,
        };
        Ok(Typed {
            code: Code::Fold(Box::new(fold)),
            shape,
            cost,
        })
    }

    /// The parser does not know the macros of optionals.
    pub(super) fn inside(
        &mut self,
        of: Option<&IdedExpr>,
        variable: &IdedExpr,
        body: &IdedExpr,
        flat: Flat,
    ) -> Compiled<'n> {
        let (Some(of), Expr::Ident(name)) = (of, &variable.expr) else {
            return Err("a macro of an optional takes a variable and an expression".into());
        };
        let of = self.expression(of)?;
        let inside = match of.shape.kind {
            Kind::Optional(inside) => *inside,
            Kind::Any => of.shape,
            _ => return Err(format!("type '{}' is no optional", of.shape.name())),
        };
        self.locals.push((name.clone(), inside));
        let body = self.expression(body);
        self.locals.pop();
        let body = body?;
        let shape = match (flat, &body.shape.kind) {
            (Flat::Value, _) => Shape::of(Kind::Optional(Box::new(body.shape))),
            (Flat::Optional, Kind::Optional(_) | Kind::Any) => body.shape,
            (Flat::Optional, _) => return Err("optFlatMap must come to an optional".into()),
        };
        Ok(Typed {
            code: Code::Inside(Box::new(of.code), Box::new(body.code), flat),
            shape,
            cost: of.cost.saturating_add(body.cost).saturating_add(1),
        })
    }
}

/// The element of a list of one.
fn single(expr: &IdedExpr) -> Option<&IdedExpr> {
    match &expr.expr {
        Expr::List(list) => match list.elements.as_slice() {
            [one] => Some(one),
            _ => None,
        },
        _ => None,
    }
}
