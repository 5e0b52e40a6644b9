//! From one type to another.

use super::Fail;
use super::call::{fail, no_overload, overflow};
use super::functions::Function;
use super::value::{Val, moment};
use crate::structural::format::duration;
use crate::structural::validate::go_float;

/// The value in another type, as CEL converts it.
pub(super) fn convert<'a>(function: Function, value: &Val<'a>) -> Result<Val<'a>, Fail> {
    use Function as F;
    let text = value.as_text();
    let range = || Fail::Error("range error".into());
    match (function, value, text) {
        (F::ToInt, Val::Int(_), _) => Ok(value.clone()),
        (F::ToInt, Val::Uint(uint), _) => i64::try_from(*uint).map(Val::Int).map_err(|_| range()),
        (F::ToInt, Val::Double(double), _) => {
            let fits = double.abs() < 9.2e18;
            if fits {
                Ok(Val::Int(*double as i64))
            } else {
                Err(range())
            }
        }
        (F::ToInt, Val::Time(time), _) => i64::try_from(time.div_euclid(1_000_000_000))
            .map(Val::Int)
            .map_err(|_| range()),
        (F::ToInt, _, Some(text)) => match text.parse() {
            Ok(int) => Ok(Val::Int(int)),
            Err(_) => fail(format!(
                "strconv.ParseInt: parsing {text:?}: invalid syntax"
            )),
        },
        (F::ToUint, Val::Uint(_), _) => Ok(value.clone()),
        (F::ToUint, Val::Int(int), _) => u64::try_from(*int).map(Val::Uint).map_err(|_| range()),
        (F::ToUint, Val::Double(double), _) => {
            let fits = (0.0..1.8e19).contains(double);
            if fits {
                Ok(Val::Uint(*double as u64))
            } else {
                Err(range())
            }
        }
        (F::ToUint, _, Some(text)) => match text.parse() {
            Ok(uint) => Ok(Val::Uint(uint)),
            Err(_) => fail(format!(
                "strconv.ParseUint: parsing {text:?}: invalid syntax"
            )),
        },
        (F::ToDouble, Val::Double(_), _) => Ok(value.clone()),
        (F::ToDouble, Val::Int(int), _) => Ok(Val::Double(*int as f64)),
        (F::ToDouble, Val::Uint(uint), _) => Ok(Val::Double(*uint as f64)),
        (F::ToDouble, _, Some(text)) => match text.parse() {
            Ok(double) => Ok(Val::Double(double)),
            Err(_) => fail(format!(
                "strconv.ParseFloat: parsing {text:?}: invalid syntax"
            )),
        },
        (F::ToText, _, Some(_)) => Ok(value.clone()),
        (F::ToText, Val::Bool(truth), _) => Ok(Val::Text(if *truth { "true" } else { "false" })),
        (F::ToText, Val::Int(int), _) => Ok(Val::Made(int.to_string().into())),
        (F::ToText, Val::Uint(uint), _) => Ok(Val::Made(uint.to_string().into())),
        (F::ToText, Val::Double(double), _) => Ok(Val::Made(go_float(*double).into())),
        (F::ToText, Val::Bytes(bytes), _) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Val::Made(text.into())),
            Err(_) => fail("invalid UTF-8 in bytes, cannot convert to string"),
        },
        (F::ToText, Val::Url(url), _) => Ok(Val::Made(url.text().into())),
        (F::ToText, Val::Ip(ip), _) => Ok(Val::Made(ip.to_string().into())),
        (F::ToText, Val::Cidr(cidr), _) => {
            let text = format!("{}/{}", cidr.address, cidr.length);
            Ok(Val::Made(text.into()))
        }
        (F::ToText, Val::Span(span), _) => {
            let seconds = *span as f64 / 1e9;
            Ok(Val::Made(format!("{}s", go_float(seconds)).into()))
        }
        (F::ToText, Val::Time(time), _) => {
            let moment = jiff::Timestamp::from_nanosecond(*time);
            moment
                .map(|moment| Val::Made(moment.to_string().into()))
                .map_err(|_| range())
        }
        (F::ToBool, Val::Bool(_), _) => Ok(value.clone()),
        (F::ToBool, _, Some("true" | "True" | "TRUE" | "t" | "1")) => Ok(Val::Bool(true)),
        (F::ToBool, _, Some("false" | "False" | "FALSE" | "f" | "0")) => Ok(Val::Bool(false)),
        (F::ToBytes, _, Some(text)) => Ok(Val::Bytes(text.as_bytes().into())),
        (F::ToTime, Val::Time(_), _) | (F::ToSpan, Val::Span(_), _) => Ok(value.clone()),
        (F::ToTime, _, Some(text)) => match moment(text) {
            Some(time) => Ok(Val::Time(time)),
            None => fail(format!("parsing time {text:?}: cannot parse it")),
        },
        (F::ToSpan, _, Some(text)) => match duration(text) {
            Some(span) => Ok(Val::Span(span)),
            None => fail(format!("time: invalid duration {text:?}")),
        },
        _ => Err(no_overload()),
    }
}

/// What a clock shows at a moment, or how much a span of time is in a unit.
pub(super) fn clock<'a>(function: Function, value: &Val<'a>) -> Result<Val<'a>, Fail> {
    use Function as F;
    const SECOND: i128 = 1_000_000_000;
    let (nanos, wraps) = match value {
        Val::Span(span) => (i128::from(*span), false),
        Val::Time(time) => (*time, true),
        _ => return Err(no_overload()),
    };
    let (unit, turn) = match function {
        F::GetHours => (3600 * SECOND, 24),
        F::GetMinutes => (60 * SECOND, 60),
        F::GetSeconds => (SECOND, 60),
        _ => (1_000_000, 1000),
    };
    let count = match wraps {
        true => nanos.div_euclid(unit).rem_euclid(turn),
        false => nanos / unit,
    };
    i64::try_from(count).map(Val::Int).map_err(|_| overflow())
}
