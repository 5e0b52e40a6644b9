//! What a plain scalar means, by the rules of YAML 1.1 as Kubernetes has them.
//!
//! | text | meaning |
//! |---|---|
//! | empty, `~`, `null`, `Null`, `NULL` | null |
//! | `y`, `yes`, `on`, `true`, and in capitals | true |
//! | `n`, `no`, `off`, `false`, and in capitals | false |
//! | `12`, `-0x1F`, `0b11`, `0o17`, `017`, `1_000` | whole numbers |
//! | `1.5`, `.5`, `1e3` | numbers |
//! | `.inf`, `.nan` | numbers that JSON does not have: refused |
//! | all else, times included | text |

use serde_json::{Number, Value};

/// A number that JSON cannot express.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoSuchNumber;

/// The value of a scalar without quotes and without a tag.
pub(super) fn plain(text: &str) -> Result<Value, NoSuchNumber> {
    if let "" | "~" | "null" | "Null" | "NULL" = text {
        return Ok(Value::Null);
    }
    if let Some(value) = boolean(text) {
        return Ok(Value::Bool(value));
    }
    // Every number begins with one of these, and most texts do not.
    if !text.starts_with([
        '+', '-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
    ]) {
        return Ok(Value::String(text.to_owned()));
    }
    match number(text) {
        Some(number) => number.map(Value::Number),
        None => Ok(Value::String(text.to_owned())),
    }
}

/// The boolean that a word stands for.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            Some(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            Some(false)
        }
        _ => None,
    }
}

/// The number that a text stands for, if it looks like one.
pub(super) fn number(text: &str) -> Option<Result<Number, NoSuchNumber>> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let ".inf" | ".Inf" | ".INF" = unsigned {
        return Some(Err(NoSuchNumber));
    }
    if let ".nan" | ".NaN" | ".NAN" = text {
        return Some(Err(NoSuchNumber));
    }
    let digits = unsigned.replace('_', "");
    let negative = text.starts_with('-');
    if let Some(whole) = whole(&digits) {
        if !negative {
            return Some(Ok(whole.into()));
        }
        if let Ok(number) = i64::try_from(-i128::from(whole)) {
            return Some(Ok(number.into()));
        }
    }
    // Beyond 64 bits only the rounded number is left.
    is_decimal(&digits).then(|| rounded(&digits, negative))
}

/// A whole number without sign: decimal, or in the base that its beginning says.
fn whole(digits: &str) -> Option<u64> {
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    // The standard parser takes a sign; here it has been taken already.
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    u64::from_str_radix(digits, base).ok().filter(|_| plain)
}

/// Digits with at most one point among them, and perhaps an exponent.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
    all_digits(whole)
        && all_digits(part)
        && !(whole.is_empty() && part.is_empty())
        && exponent.is_none_or(|digits| !digits.is_empty() && all_digits(digits))
}

/// A decimal as the nearest number; a whole one is written without a point, as in Go.
fn rounded(digits: &str, negative: bool) -> Result<Number, NoSuchNumber> {
    let number: f64 = digits.parse().map_err(|_| NoSuchNumber)?;
    let number = if negative { -number } else { number };
    if number.fract() == 0.0 && number.abs() < EXACT {
        return Ok(Number::from(number as i64));
    }
    Number::from_f64(number).ok_or(NoSuchNumber)
}

/// Below this, every whole number is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_mean_what_yaml_1_1_says() {
        for (text, expected) in [
            ("", "null"),
            ("~", "null"),
            ("NULL", "null"),
            ("nULL", r#""nULL""#),
            ("yes", "true"),
            ("On", "true"),
            ("y", "true"),
            ("oN", r#""oN""#),
            ("No", "false"),
            ("off", "false"),
            ("n", "false"),
            ("0", "0"),
            ("-0", "0"),
            ("12", "12"),
            ("+12", "12"),
            ("-12", "-12"),
            ("1_000", "1000"),
            ("0x1F", "31"),
            ("-0x1F", "-31"),
            ("0b11", "3"),
            ("0o17", "15"),
            ("017", "15"),
            ("08", "8"),
            ("0x", r#""0x""#),
            ("0xZZ", r#""0xZZ""#),
            ("0x-1", r#""0x-1""#),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("18446744073709551615", "18446744073709551615"),
            ("100000000000000000000", "1e+20"),
            ("1.5", "1.5"),
            ("1.0", "1"),
            (".5", "0.5"),
            ("5.", "5"),
            ("-1e3", "-1000"),
            ("1e", r#""1e""#),
            ("1.2.3", r#""1.2.3""#),
            ("1:30", r#""1:30""#),
            ("2026-11-16", r#""2026-11-16""#),
            ("500m", r#""500m""#),
            ("-", r#""-""#),
            (".", r#"".""#),
            ("--1", r#""--1""#),
            ("+-1", r#""+-1""#),
            ("v1", r#""v1""#),
        ] {
            let value = plain(text).unwrap();
            assert_eq!(value.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn numbers_that_json_lacks_are_refused() {
        for text in [".inf", "-.inf", "+.Inf", ".nan", "1e999"] {
            assert_eq!(plain(text), Err(NoSuchNumber), "{text}");
        }
    }
}
