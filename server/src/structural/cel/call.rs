//! What the functions do.

use std::cmp::Ordering;
use std::rc::Rc;

use super::functions::Function;
use super::run::{Frame, IntoList};
use super::value::Val;
use super::{Fail, convert, network};
use crate::schema::quantity::Quantity;

type Outcome<'a> = Result<Val<'a>, Fail>;

pub(super) fn no_overload() -> Fail {
    Fail::Error("no such overload".into())
}

pub(super) fn fail<'a>(why: impl Into<String>) -> Outcome<'a> {
    Err(Fail::Error(why.into()))
}

/// Calls a function. What it reads is paid for before.
pub(super) fn call<'a>(function: Function, args: &[Val<'a>], frame: &Frame<'a>) -> Outcome<'a> {
    use Function as F;
    let weight = || args.iter().map(Val::weight).fold(0, u64::saturating_add);
    match function {
        F::Not | F::Negate | F::Index | F::OptionalIndex | F::HasValue | F::Value => {}
        // Lists know their length; characters are counted.
        F::Size if args.iter().all(|arg| arg.as_text().is_none()) => {}
        F::OrValue | F::OptionalOf | F::OptionalNone | F::ToAny | F::Type => {}
        F::SetContains | F::SetIntersects | F::SetEquivalent => {
            let product = args.iter().map(Val::weight).fold(1, u64::saturating_mul);
            frame.charge(product)?;
        }
        F::In => {
            let weights: Vec<u64> = args.iter().map(Val::weight).collect();
            frame.charge(weights.iter().copied().fold(0, u64::saturating_add))?;
        }
        _ => frame.charge(weight())?,
    }
    match (function, args) {
        (F::Equal, [left, right]) => Ok(Val::Bool(left.equals(right))),
        (F::NotEqual, [left, right]) => Ok(Val::Bool(!left.equals(right))),
        (F::Less, [left, right]) => ordered(left, right, Ordering::is_lt),
        (F::LessEqual, [left, right]) => ordered(left, right, Ordering::is_le),
        (F::Greater, [left, right]) => ordered(left, right, Ordering::is_gt),
        (F::GreaterEqual, [left, right]) => ordered(left, right, Ordering::is_ge),
        (F::Add | F::Subtract | F::Multiply | F::Divide | F::Modulo, [left, right]) => {
            arithmetic(function, left, right)
        }
        (F::Not, [Val::Bool(truth)]) => Ok(Val::Bool(!truth)),
        (F::Negate, [Val::Int(int)]) => int.checked_neg().map(Val::Int).ok_or_else(overflow),
        (F::Negate, [Val::Double(double)]) => Ok(Val::Double(-double)),
        (F::In, [value, container]) => contains(value, container),
        (F::Index, [of, index]) => indexed(of, index),
        (F::OptionalIndex, [of, index]) => {
            Ok(Val::Optional(indexed(of, index).ok().map(Into::into)))
        }
        (F::Size, [of]) => size(of),
        (F::HasValue, [Val::Optional(inside)]) => Ok(Val::Bool(inside.is_some())),
        (F::Value, [Val::Optional(Some(inside))]) => Ok((**inside).clone()),
        (F::Value, [Val::Optional(None)]) => fail("optional.none() dereference"),
        (F::OrValue, [Val::Optional(inside), other]) => {
            Ok(inside.as_deref().unwrap_or(other).clone())
        }
        (F::OptionalOf, [inside]) => Ok(Val::Optional(Some(Rc::new(inside.clone())))),
        (F::OptionalNone, []) => Ok(Val::Optional(None)),
        (F::ToAny, [value]) => Ok(value.clone()),
        (F::Type, [value]) => Ok(Val::Text(value.type_name())),
        (
            F::IsSorted
            | F::Sum
            | F::Min
            | F::Max
            | F::Join
            | F::SetContains
            | F::SetIntersects
            | F::SetEquivalent,
            _,
        ) => on_lists(function, args, frame),
        (F::IndexOf | F::LastIndexOf, [list, wanted]) if list.list().is_some() => {
            let list = list.list().unwrap_or_default();
            let is_it = |value: &Val<'_>| value.equals(wanted);
            let place = match function {
                F::IndexOf => list.iter().position(is_it),
                _ => list.iter().rposition(is_it),
            };
            Ok(place_of(place))
        }
        (
            F::ToInt
            | F::ToUint
            | F::ToDouble
            | F::ToText
            | F::ToBool
            | F::ToBytes
            | F::ToTime
            | F::ToSpan,
            [value],
        ) => convert::convert(function, value),
        (F::GetHours | F::GetMinutes | F::GetSeconds | F::GetMilliseconds, [value]) => {
            convert::clock(function, value)
        }
        (F::Quantity, [text]) => match text.as_text().and_then(Quantity::parse) {
            Some(quantity) => Ok(Val::Quantity(quantity)),
            None => fail(
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
        },
        (
            F::CompareTo
            | F::IsGreaterThan
            | F::IsLessThan
            | F::Sign
            | F::AsInteger
            | F::AsApproximateFloat,
            _,
        ) => on_quantities(function, args),
        (
            F::Url
            | F::Ip
            | F::Cidr
            | F::IsUrl
            | F::IsIp
            | F::IsCidr
            | F::GetScheme
            | F::GetHost
            | F::GetHostname
            | F::GetPort
            | F::GetEscapedPath
            | F::GetQuery
            | F::Family
            | F::IsLoopback
            | F::IsUnspecified
            | F::PrefixLength
            | F::ContainsIp
            | F::ContainsCidr,
            args,
        ) => network::call(function, args),
        (_, [text, rest @ ..]) => match text.as_text() {
            Some(text) => on_text(function, text, rest, frame),
            None => Err(no_overload()),
        },
        _ => Err(no_overload()),
    }
}

pub(super) fn overflow() -> Fail {
    Fail::Error("integer overflow".into())
}

fn place_of<'a>(place: Option<usize>) -> Val<'a> {
    Val::Int(
        place
            .and_then(|place| i64::try_from(place).ok())
            .unwrap_or(-1),
    )
}

fn ordered<'a>(left: &Val<'a>, right: &Val<'a>, is: fn(Ordering) -> bool) -> Outcome<'a> {
    match left.order(right) {
        Some(order) => Ok(Val::Bool(is(order))),
        None if matches!((left, right), (Val::Double(_), _) | (_, Val::Double(_))) => {
            Ok(Val::Bool(false))
        }
        None => Err(no_overload()),
    }
}

fn arithmetic<'a>(function: Function, left: &Val<'a>, right: &Val<'a>) -> Outcome<'a> {
    use Function as F;
    if let (F::Add, Some(left), Some(right)) = (function, left.as_text(), right.as_text()) {
        return Ok(Val::Made([left, right].concat().into()));
    }
    match (function, left, right) {
        (F::Divide, _, Val::Int(0) | Val::Uint(0)) => fail("division by zero"),
        (F::Modulo, _, Val::Int(0) | Val::Uint(0)) => fail("modulus by zero"),
        (_, Val::Int(left), Val::Int(right)) => {
            let result = match function {
                F::Add => left.checked_add(*right),
                F::Subtract => left.checked_sub(*right),
                F::Multiply => left.checked_mul(*right),
                F::Divide => left.checked_div(*right),
                _ => left.checked_rem(*right),
            };
            result.map(Val::Int).ok_or_else(overflow)
        }
        (_, Val::Uint(left), Val::Uint(right)) => {
            let result = match function {
                F::Add => left.checked_add(*right),
                F::Subtract => left.checked_sub(*right),
                F::Multiply => left.checked_mul(*right),
                F::Divide => left.checked_div(*right),
                _ => left.checked_rem(*right),
            };
            let why = || Fail::Error("unsigned integer overflow".into());
            result.map(Val::Uint).ok_or_else(why)
        }
        (_, Val::Double(left), Val::Double(right)) => match function {
            F::Add => Ok(Val::Double(left + right)),
            F::Subtract => Ok(Val::Double(left - right)),
            F::Multiply => Ok(Val::Double(left * right)),
            F::Divide => Ok(Val::Double(left / right)),
            _ => Err(no_overload()),
        },
        (F::Add, Val::Bytes(left), Val::Bytes(right)) => {
            Ok(Val::Bytes([&**left, &**right].concat().into()))
        }
        (F::Add, Val::Time(time), Val::Span(span)) | (F::Add, Val::Span(span), Val::Time(time)) => {
            Ok(Val::Time(time + i128::from(*span)))
        }
        (F::Subtract, Val::Time(time), Val::Span(span)) => Ok(Val::Time(time - i128::from(*span))),
        (F::Subtract, Val::Time(left), Val::Time(right)) => {
            let span = i64::try_from(left - right);
            span.map(Val::Span)
                .map_err(|_| Fail::Error("duration overflow".into()))
        }
        (F::Add | F::Subtract, Val::Span(left), Val::Span(right)) => {
            let span = match function {
                F::Add => left.checked_add(*right),
                _ => left.checked_sub(*right),
            };
            span.map(Val::Span)
                .ok_or_else(|| Fail::Error("duration overflow".into()))
        }
        (F::Add, left, right) => match (left.list(), right.list()) {
            (Some(mut list), Some(more)) => {
                list.extend(more);
                Ok(list.into_list())
            }
            _ => Err(no_overload()),
        },
        _ => Err(no_overload()),
    }
}

fn contains<'a>(value: &Val<'a>, container: &Val<'a>) -> Outcome<'a> {
    if let Some(list) = container.list() {
        return Ok(Val::Bool(list.iter().any(|element| element.equals(value))));
    }
    match (container.elements(), value.as_text()) {
        (Some(_), Some(name)) => Ok(Val::Bool(container.field(name).is_some())),
        (Some(keys), None) => Ok(Val::Bool(keys.iter().any(|key| key.equals(value)))),
        _ => Err(no_overload()),
    }
}

fn indexed<'a>(of: &Val<'a>, index: &Val<'a>) -> Outcome<'a> {
    if let Some(name) = index.as_text() {
        let found = of.field(name);
        return found.ok_or_else(|| Fail::Error(format!("no such key: {name}")));
    }
    let place = match index {
        Val::Int(place) => *place,
        Val::Uint(place) => i64::try_from(*place).unwrap_or(i64::MAX),
        Val::Double(place) if place.fract() == 0.0 => *place as i64,
        _ => return Err(no_overload()),
    };
    let found = usize::try_from(place).ok().and_then(|place| of.at(place));
    found.ok_or_else(|| Fail::Error(format!("index out of bounds: {place}")))
}

fn size<'a>(of: &Val<'a>) -> Outcome<'a> {
    let size = match (of, of.as_text()) {
        (_, Some(text)) => Some(text.chars().count()),
        (Val::Bytes(bytes), _) => Some(bytes.len()),
        (other, _) => other.len(),
    };
    let size = size.and_then(|size| i64::try_from(size).ok());
    size.map(Val::Int).ok_or_else(no_overload)
}

fn on_lists<'a>(function: Function, args: &[Val<'a>], frame: &Frame<'a>) -> Outcome<'a> {
    use Function as F;
    let lists: Vec<Vec<Val<'a>>> = args.iter().filter_map(Val::list).collect();
    let has = |list: &[Val<'a>], wanted: &Val<'a>| list.iter().any(|value| value.equals(wanted));
    match (function, lists.as_slice(), args.get(1)) {
        (F::Join, [list], separator) => {
            let texts: Option<Vec<&str>> = list.iter().map(Val::as_text).collect();
            let separator = match separator {
                Some(separator) => separator.as_text(),
                None => Some(""),
            };
            match texts.zip(separator) {
                Some((texts, separator)) => {
                    pay_for_text(texts.len().saturating_mul(separator.len()), frame)?;
                    Ok(Val::Made(texts.join(separator).into()))
                }
                None => Err(no_overload()),
            }
        }
        (F::IsSorted, [list], _) => {
            let mut pairs = list.iter().zip(list.iter().skip(1));
            let sorted = pairs.try_fold(true, |sorted, (left, right)| {
                let order = left.order(right)?;
                Some(sorted && order.is_le())
            });
            sorted.map(Val::Bool).ok_or_else(no_overload)
        }
        (F::Sum, [list], _) => {
            let mut values = list.iter().cloned();
            let Some(first) = values.next() else {
                return Ok(Val::Int(0));
            };
            // Texts and lists would grow with each step.
            if !matches!(
                first,
                Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Span(_)
            ) {
                return Err(no_overload());
            }
            values.try_fold(first, |sum, value| arithmetic(F::Add, &sum, &value))
        }
        (F::Min | F::Max, [list], _) => {
            let wanted = if function == F::Min {
                Ordering::Less
            } else {
                Ordering::Greater
            };
            let mut best: Option<Val<'a>> = None;
            for value in list {
                let better = match &best {
                    None => true,
                    Some(best) => value.order(best).ok_or_else(no_overload)? == wanted,
                };
                if better {
                    best = Some(value.clone());
                }
            }
            let name = if function == F::Min { "min" } else { "max" };
            best.ok_or_else(|| Fail::Error(format!("{name} called on empty list")))
        }
        (F::SetContains, [list, wanted], _) => {
            Ok(Val::Bool(wanted.iter().all(|value| has(list, value))))
        }
        (F::SetIntersects, [left, right], _) => {
            Ok(Val::Bool(left.iter().any(|value| has(right, value))))
        }
        (F::SetEquivalent, [left, right], _) => {
            let both = left.iter().all(|value| has(right, value))
                && right.iter().all(|value| has(left, value));
            Ok(Val::Bool(both))
        }
        _ => Err(no_overload()),
    }
}

fn on_quantities<'a>(function: Function, args: &[Val<'a>]) -> Outcome<'a> {
    use Function as F;
    let number = |order: Ordering| match order {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    };
    match (function, args) {
        (F::CompareTo, [Val::Quantity(left), Val::Quantity(right)]) => {
            Ok(Val::Int(number(left.compare(*right))))
        }
        (F::IsGreaterThan, [Val::Quantity(left), Val::Quantity(right)]) => {
            Ok(Val::Bool(left.compare(*right).is_gt()))
        }
        (F::IsLessThan, [Val::Quantity(left), Val::Quantity(right)]) => {
            Ok(Val::Bool(left.compare(*right).is_lt()))
        }
        (F::Sign, [Val::Quantity(quantity)]) => {
            let sign = quantity.approximate().total_cmp(&0.0);
            Ok(Val::Int(number(sign)))
        }
        (F::AsInteger, [Val::Quantity(quantity)]) => match quantity.whole() {
            Some(whole) => Ok(Val::Int(whole)),
            None => fail("cannot convert value to integer"),
        },
        (F::AsApproximateFloat, [Val::Quantity(quantity)]) => {
            Ok(Val::Double(quantity.approximate()))
        }
        _ => Err(no_overload()),
    }
}

fn on_text<'a>(function: Function, text: &str, rest: &[Val<'a>], frame: &Frame<'a>) -> Outcome<'a> {
    use Function as F;
    let made = |text: &str| Ok(Val::Made(text.into()));
    match (function, rest) {
        (F::LowerAscii, []) => made(&text.to_ascii_lowercase()),
        (F::UpperAscii, []) => made(&text.to_ascii_uppercase()),
        (F::Trim, []) => made(text.trim()),
        (F::IsQuantity, []) => Ok(Val::Bool(Quantity::parse(text).is_some())),
        (F::CharAt, [Val::Int(place)]) => {
            let length = text.chars().count();
            match usize::try_from(*place) {
                Ok(place) if place == length => made(""),
                Ok(place) if place < length => {
                    made(&text.chars().skip(place).take(1).collect::<String>())
                }
                _ => fail(format!("index out of range: {place}")),
            }
        }
        (F::Substring, [Val::Int(from)]) => substring(text, *from, None),
        (F::Substring, [Val::Int(from), Val::Int(to)]) => substring(text, *from, Some(*to)),
        (_, [second, more @ ..]) => match (second.as_text(), more) {
            (Some(second), []) => on_two_texts(function, text, second),
            (Some(from), [to]) if function == F::Replace => match to.as_text() {
                Some(to) => {
                    pay_for_text(text.matches(from).count().saturating_mul(to.len()), frame)?;
                    Ok(Val::Made(text.replace(from, to).into()))
                }
                None => Err(no_overload()),
            },
            _ => Err(no_overload()),
        },
        _ => Err(no_overload()),
    }
}

/// Pays for a text that is longer than what it is made of, before it is made.
fn pay_for_text(length: usize, frame: &Frame<'_>) -> Result<(), Fail> {
    frame.charge(length as u64 / 10 + 1)
}

fn substring<'a>(text: &str, from: i64, to: Option<i64>) -> Outcome<'a> {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let to = to.unwrap_or(length);
    if from < 0 || from > length {
        return fail(format!("index out of range: {from}"));
    }
    if to < from || to > length {
        return fail(format!("invalid substring range. start: {from}, end: {to}"));
    }
    let [skip, take] = [from, to - from].map(|count| usize::try_from(count).unwrap_or(0));
    let part: String = text.chars().skip(skip).take(take).collect();
    Ok(Val::Made(part.into()))
}

fn on_two_texts<'a>(function: Function, text: &str, second: &str) -> Outcome<'a> {
    use Function as F;
    let letters = |at: usize| text.get(..at).map(|before| before.chars().count());
    match function {
        F::Contains => Ok(Val::Bool(text.contains(second))),
        F::StartsWith => Ok(Val::Bool(text.starts_with(second))),
        F::EndsWith => Ok(Val::Bool(text.ends_with(second))),
        F::IndexOf => Ok(place_of(text.find(second).and_then(letters))),
        F::LastIndexOf => Ok(place_of(text.rfind(second).and_then(letters))),
        F::Split if second.is_empty() => {
            let letters = text
                .chars()
                .map(|letter| Val::Made(letter.to_string().into()));
            Ok(letters.collect::<Vec<_>>().into_list())
        }
        F::Split => {
            let parts = text.split(second).map(|part| Val::Made(part.into()));
            Ok(parts.collect::<Vec<_>>().into_list())
        }
        _ => Err(no_overload()),
    }
}
