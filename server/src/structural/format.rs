//! Formats of texts and numbers: `format`.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Number, Value};

use crate::schema::time::{Precision, canonical};
use crate::validation::names::subdomain_faults;

/// A format that is checked. Others are allowed and say nothing; whoever creates a definition is warned of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format(&'static str);

/// Whether a text is of a format.
type Check = fn(&str) -> bool;

/// The formats of texts.
const TEXTS: &[(&str, Check)] = &[
    ("bsonobjectid", |text| text.len() == 24 && is_hex(text)),
    ("byte", is_base64),
    ("cidr", is_cidr),
    ("creditcard", is_credit_card),
    ("date", |text| is_moment(&format!("{text}T00:00:00Z"))),
    ("date-time", is_moment),
    ("datetime", is_moment),
    ("duration", |text| duration(text).is_some()),
    ("email", is_email),
    ("hexcolor", is_hex_color),
    ("hostname", |text| {
        text.len() <= 255 && subdomain_faults(&text.to_ascii_lowercase()).is_empty()
    }),
    ("ipv4", |text| text.parse::<Ipv4Addr>().is_ok()),
    ("ipv6", |text| text.parse::<Ipv6Addr>().is_ok()),
    ("isbn", |text| is_isbn10(text) || is_isbn13(text)),
    ("isbn10", is_isbn10),
    ("isbn13", is_isbn13),
    ("k8s-long-name", |text| subdomain_faults(text).is_empty()),
    ("k8s-short-name", |text| {
        crate::validation::names::label_faults(text).is_empty()
    }),
    ("mac", is_mac),
    ("password", |_| true),
    ("rgbcolor", is_rgb_color),
    ("ssn", |text| {
        is_shaped(text, "ddd-dd-dddd") || is_shaped(text, "ddd dd dddd")
    }),
    ("uri", |text| is_uri(text)),
    ("uuid", |text| is_uuid(text, None)),
    ("uuid3", |text| is_uuid(text, Some('3'))),
    ("uuid4", |text| is_uuid(text, Some('4'))),
    ("uuid5", |text| is_uuid(text, Some('5'))),
];

/// The formats of numbers.
const NUMBERS: &[&str] = &["double", "float", "int32", "int64"];

impl Format {
    /// The format of that name, if it is checked.
    pub(super) fn find(name: &str) -> Option<Self> {
        let texts = TEXTS.iter().map(|(known, _)| *known);
        let mut all = texts.chain(NUMBERS.iter().copied());
        all.find(|known| *known == name).map(Self)
    }

    pub(super) fn name(self) -> &'static str {
        self.0
    }

    /// Whether a text is of this format; true if it is one of numbers.
    pub(super) fn fits_text(self, text: &str) -> bool {
        let found = TEXTS.iter().find(|(name, _)| *name == self.0);
        found.is_none_or(|(_, check)| check(text))
    }

    /// Whether a number can be kept in this format.
    pub(super) fn fits_number(self, number: &Number) -> bool {
        match (self.0, number.as_i64()) {
            ("int32", Some(whole)) => i32::try_from(whole).is_ok(),
            ("int64", None) => number.as_f64().is_some_and(|float| float.abs() < 9.3e18),
            ("int32", None) => false,
            ("float", _) => number
                .as_f64()
                .is_some_and(|float| float.abs() <= f64::from(f32::MAX)),
            _ => true,
        }
    }
}

/// A duration as Go writes it, `1h30m`, in nanoseconds.
pub(super) fn duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total: i128 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let scale: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() == 0 || whole.len() > 18 || fraction.contains('.') {
            return None;
        }
        let whole: i128 = if whole.is_empty() {
            0
        } else {
            whole.parse().ok()?
        };
        // More digits than a nanosecond has are of no account.
        let fraction = fraction.get(..fraction.len().min(15))?;
        let places = u32::try_from(fraction.len()).ok()?;
        let part: i128 = if fraction.is_empty() {
            0
        } else {
            fraction.parse().ok()?
        };
        total += whole * scale + part * scale / 10i128.pow(places);
        rest = after;
        if total > i128::from(i64::MAX) {
            return None;
        }
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// Whether base64 stands there, as Go reads it.
pub(super) fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && body.bytes().all(good)
}

/// Whether a moment of RFC 3339 stands there.
pub(super) fn is_moment(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    canonical(&upper, Precision::Seconds).is_some()
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let most = if address.parse::<Ipv4Addr>().is_ok() {
        32
    } else if address.parse::<Ipv6Addr>().is_ok() {
        128
    } else {
        return false;
    };
    let plain = length.bytes().all(|byte| byte.is_ascii_digit());
    plain && length.parse::<u8>().is_ok_and(|length| length <= most)
}

fn is_mac(text: &str) -> bool {
    let separator = if text.contains('-') { '-' } else { ':' };
    let parts: Vec<&str> = text.split(separator).collect();
    matches!(parts.len(), 6 | 8 | 20) && parts.iter().all(|part| part.len() == 2 && is_hex(part))
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let hex: String = text.chars().filter(|c| *c != '-').collect();
    let shaped = is_shaped(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
        || is_shaped(text, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    let variant = |wanted: char| {
        let [version, variant] = [12, 16].map(|at| hex.chars().nth(at));
        let strict = wanted == '3' || matches!(variant, Some('8' | '9' | 'a' | 'b' | 'A' | 'B'));
        version == Some(wanted) && strict
    };
    shaped && version.is_none_or(variant)
}

/// Whether a text has a shape, where `d` is a digit and `x` a hexadecimal one.
fn is_shaped(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text
            .chars()
            .zip(shape.chars())
            .all(|(c, wanted)| match wanted {
                'd' => c.is_ascii_digit(),
                'x' => c.is_ascii_hexdigit(),
                other => c == other,
            })
}

fn is_email(text: &str) -> bool {
    let Some((user, host)) = text.rsplit_once('@') else {
        return false;
    };
    let quoted = user.len() > 1 && user.starts_with('"') && user.ends_with('"');
    let plain = !user.is_empty()
        && !user.starts_with('.')
        && !user.ends_with('.')
        && !user.contains("..")
        && user
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(&byte));
    (quoted || plain) && subdomain_faults(&host.to_ascii_lowercase()).is_empty()
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && is_hex(digits)
}

fn is_rgb_color(text: &str) -> bool {
    let inside = text
        .strip_prefix("rgb(")
        .and_then(|rest| rest.strip_suffix(')'));
    let parts = inside.map(|inside| inside.split(',').map(str::trim).collect::<Vec<_>>());
    parts.is_some_and(|parts| {
        parts.len() == 3 && parts.iter().all(|part| part.parse::<u8>().is_ok())
    })
}

fn digits(text: &str) -> Option<Vec<u32>> {
    let kept = text.chars().filter(|c| !matches!(c, '-' | ' '));
    kept.map(|c| c.to_digit(10)).collect()
}

fn is_credit_card(text: &str) -> bool {
    let Some(digits) = digits(text).filter(|digits| (13..=19).contains(&digits.len())) else {
        return false;
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match at % 2 {
            0 => *digit,
            _ => digit * 2 / 10 + digit * 2 % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

fn is_isbn10(text: &str) -> bool {
    let kept: String = text.chars().filter(|c| !matches!(c, '-' | ' ')).collect();
    let values: Option<Vec<u32>> = kept
        .chars()
        .enumerate()
        .map(|(at, c)| {
            if at == 9 && c == 'X' {
                Some(10)
            } else {
                c.to_digit(10)
            }
        })
        .collect();
    values.is_some_and(|values| {
        let sum: u32 = values
            .iter()
            .zip(1..)
            .map(|(value, place)| value * place)
            .sum();
        values.len() == 10 && sum.is_multiple_of(11)
    })
}

fn is_isbn13(text: &str) -> bool {
    digits(text).is_some_and(|values| {
        let weights = [1, 3].into_iter().cycle();
        let sum: u32 = values
            .iter()
            .zip(weights)
            .map(|(value, weight)| value * weight)
            .sum();
        values.len() == 13 && sum.is_multiple_of(10)
    })
}

/// Whether an absolute address or a path stands there, as Go's parser of requests takes it.
pub(super) fn is_uri(text: &str) -> bool {
    let printable = text.bytes().all(|byte| byte > b' ' && byte != 0x7f);
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let named = scheme.is_some_and(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    printable && (text.starts_with('/') || named) && percents_are_whole(text)
}

fn percents_are_whole(text: &str) -> bool {
    let mut parts = text.split('%');
    parts.next();
    parts.all(|part| part.get(..2).is_some_and(is_hex))
}

/// The value as a test of formats sees it: whether it is text or number at all.
pub(super) fn fits(format: Format, value: &Value) -> bool {
    match value {
        Value::String(text) => format.fits_text(text),
        Value::Number(number) => format.fits_number(number),
        _ => true,
    }
}
