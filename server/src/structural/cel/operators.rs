//! The types of operators, which depend on each other.

use super::functions::{Found, Function};
use super::shape::{Kind, Shape};
use crate::structural::node::ListType;

/// What an operator with these sides comes to; none if there is no such operator.
pub(super) fn operator<'n>(name: &str, args: &[Shape<'n>]) -> Result<Option<Found<'n>>, String> {
    let [left, right] = args else { return Ok(None) };
    let wrong = || Err(no_overload(name, args, false));
    let found = |function, shape, cost| {
        Ok(Some(Found {
            function,
            shape,
            cost,
        }))
    };
    let compared = match name {
        "_==_" => Some(Function::Equal),
        "_!=_" => Some(Function::NotEqual),
        _ => None,
    };
    let numbers = |shape: &Shape<'_>| matches!(shape.kind, Kind::Int | Kind::Uint | Kind::Double);
    if let Some(function) = compared {
        let comparable = left.fits(right) || (numbers(left) && numbers(right));
        if !comparable {
            return wrong();
        }
        let cost = left.walk_cost().min(right.walk_cost());
        return found(function, Shape::of(Kind::Bool), cost);
    }
    let ordered = match name {
        "_<_" => Some(Function::Less),
        "_<=_" => Some(Function::LessEqual),
        "_>_" => Some(Function::Greater),
        "_>=_" => Some(Function::GreaterEqual),
        _ => None,
    };
    if let Some(function) = ordered {
        let orderable = |shape: &Shape<'_>| {
            numbers(shape)
                || matches!(
                    shape.kind,
                    Kind::Any | Kind::Text | Kind::Bytes | Kind::Bool | Kind::Time | Kind::Span
                )
        };
        let comparable = left.fits(right) || (numbers(left) && numbers(right));
        if !comparable || !orderable(left) || !orderable(right) {
            return wrong();
        }
        let cost = left.walk_cost().min(right.walk_cost());
        return found(function, Shape::of(Kind::Bool), cost);
    }
    let arithmetic = match name {
        "_+_" => Some(Function::Add),
        "_-_" => Some(Function::Subtract),
        "_*_" => Some(Function::Multiply),
        "_/_" => Some(Function::Divide),
        "_%_" => Some(Function::Modulo),
        _ => None,
    };
    if let Some(function) = arithmetic {
        let size = left.size.saturating_add(right.size);
        let kind = match (name, &left.kind, &right.kind) {
            (_, Kind::Any, _) | (_, _, Kind::Any) => Kind::Any,
            (_, Kind::Int, Kind::Int) => Kind::Int,
            (_, Kind::Uint, Kind::Uint) => Kind::Uint,
            (name, Kind::Double, Kind::Double) if name != "_%_" => Kind::Double,
            ("_+_", Kind::Text, Kind::Text) => Kind::Text,
            ("_+_", Kind::Bytes, Kind::Bytes) => Kind::Bytes,
            ("_+_", Kind::List(of, ListType::Atomic), Kind::List(other, ListType::Atomic)) => {
                let element = join(Some((**of).clone()), (**other).clone());
                Kind::List(Box::new(element), ListType::Atomic)
            }
            ("_+_", Kind::List(..), Kind::List(..)) => {
                return Err(
                    "adding lists of list type set or map is not supported by this server".into(),
                );
            }
            ("_+_", Kind::Time, Kind::Span) | ("_+_", Kind::Span, Kind::Time) => Kind::Time,
            ("_-_", Kind::Time, Kind::Span) => Kind::Time,
            ("_-_", Kind::Time, Kind::Time) => Kind::Span,
            ("_+_" | "_-_", Kind::Span, Kind::Span) => Kind::Span,
            _ => return wrong(),
        };
        let cost = match kind {
            Kind::Text | Kind::Bytes | Kind::Any => size / 10 + 1,
            Kind::List(..) => size.saturating_add(1),
            _ => 1,
        };
        return found(function, Shape { kind, size }, cost);
    }
    match name {
        "@in" => match &right.kind {
            Kind::List(of, _) if left.fits(of) => {
                let cost = right
                    .size
                    .saturating_mul(left.walk_cost().min(of.walk_cost()));
                found(Function::In, Shape::of(Kind::Bool), cost)
            }
            Kind::Map(_) | Kind::Any => found(Function::In, Shape::of(Kind::Bool), 1),
            _ => wrong(),
        },
        "_[_]" | "_[?_]" => {
            let shape = match (&left.kind, &right.kind) {
                (Kind::List(of, _), Kind::Int | Kind::Any) => (**of).clone(),
                (Kind::Map(of), Kind::Text | Kind::Any) => (**of).clone(),
                (Kind::Any, _) => left.clone(),
                _ => return wrong(),
            };
            match name {
                "_[_]" => found(Function::Index, shape, 1),
                _ => {
                    let shape = Shape::of(Kind::Optional(Box::new(shape)));
                    found(Function::OptionalIndex, shape, 1)
                }
            }
        }
        _ => Ok(None),
    }
}

/// What is said of arguments that a function does not take.
pub(super) fn no_overload(name: &str, args: &[Shape<'_>], is_member: bool) -> String {
    let mut names: Vec<String> = args.iter().map(Shape::name).collect();
    let applied = if is_member && !names.is_empty() {
        let receiver = names.remove(0);
        format!("{receiver}.({})", names.join(", "))
    } else {
        format!("({})", names.join(", "))
    };
    format!("found no matching overload for '{name}' applied to '{applied}'")
}

/// A type for the values of both.
pub(super) fn join<'n>(before: Option<Shape<'n>>, next: Shape<'n>) -> Shape<'n> {
    match before {
        None => next,
        Some(before) if before.fits(&next) => Shape {
            size: before.size.max(next.size),
            ..before
        },
        Some(before) => Shape {
            kind: Kind::Any,
            size: before.size.max(next.size),
        },
    }
}
