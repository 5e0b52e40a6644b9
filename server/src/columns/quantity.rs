//! Amounts like `500m` or `1Gi`, in the one spelling a kube-apiserver would show.
//!
//! | written | shown |
//! |---|---|
//! | `1024Mi` | `1Gi` |
//! | `0.5` | `500m` |
//! | `1000m` | `1` |
//! | `1e3` | `1e3` |
//! | `1.5Gi` | `1536Mi` |
//!
//! The spelling keeps its family (binary, decimal, exponent) and takes the largest unit that leaves a
//! whole number. What is no amount, or too large or too fine to count exactly here, is shown as written.

use std::borrow::Cow;

use super::tree::Tree;

/// The amount in its shortest exact form; `0` if there is none.
pub(super) fn canonical<'a>(amount: &'a Tree<'_>) -> Cow<'a, str> {
    match amount {
        Tree::Null => Cow::Borrowed("0"),
        Tree::Number(number) => match shortest(&number.to_string()) {
            Some(text) => Cow::Owned(text),
            None => Cow::Owned(number.to_string()),
        },
        other => match shortest(other.text()) {
            Some(text) => Cow::Owned(text),
            None => Cow::Borrowed(other.text()),
        },
    }
}

/// Units by the power of 1024 they stand for.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Units by a third of the power of ten they stand for, beginning with 10^-9.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// The finest amount that is counted, as a power of ten.
const FINEST: i32 = -9;

/// The largest exponent that is read; amounts end far below it.
const LARGEST: u32 = 1000;

fn shortest(text: &str) -> Option<String> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = rest.split_at(digits_end.unwrap_or(rest.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    // All digits as one number of 10^-places.
    let places = i32::try_from(fraction.len()).ok()?;
    let digits: i128 = match [whole, fraction].concat().trim_start_matches('0') {
        "" => return Some("0".to_owned()),
        digits => digits.parse().ok()?,
    };
    let sign = if negative { "-" } else { "" };
    let shown = if let Some(power) = BINARY.iter().position(|binary| *binary == unit) {
        let power = u32::try_from(power).ok()? + 1;
        let bytes = digits.checked_mul(1024_i128.checked_pow(power)?)?;
        let scale = 10_i128.checked_pow(u32::try_from(places).ok()?)?;
        if bytes % scale == 0 {
            binary(bytes / scale)
        } else {
            // Parts of a byte: the family is left, as there is no binary unit below one.
            decimal(bytes, -places)?
        }
    } else if let Some(power) = DECIMAL.iter().position(|decimal| *decimal == unit) {
        let power = i32::try_from(power).ok()? * 3 + FINEST;
        decimal(digits, power - places)?
    } else {
        let power: i32 = unit.strip_prefix(['e', 'E'])?.parse().ok()?;
        if power.abs_diff(0) > LARGEST {
            return None;
        }
        exponent(digits, power - places)?
    };
    Some(format!("{sign}{shown}"))
}

fn binary(mut bytes: i128) -> String {
    let mut unit = "";
    for next in BINARY {
        if bytes % 1024 != 0 {
            break;
        }
        bytes /= 1024;
        unit = next;
    }
    format!("{bytes}{unit}")
}

/// `digits` of 10^`power`, with as few digits as the powers of a thousand allow.
fn decimal(digits: i128, power: i32) -> Option<String> {
    let (digits, power) = by_thousands(digits, power, 18)?;
    let unit = DECIMAL.get(usize::try_from((power - FINEST) / 3).ok()?)?;
    Some(format!("{digits}{unit}"))
}

fn exponent(digits: i128, power: i32) -> Option<String> {
    match by_thousands(digits, power, i32::MAX / 2)? {
        (digits, 0) => Some(digits.to_string()),
        (digits, power) => Some(format!("{digits}e{power}")),
    }
}

/// The same amount with a power that is a multiple of 3, as large as it can be, but not above `most`.
fn by_thousands(mut digits: i128, mut power: i32, most: i32) -> Option<(i128, i32)> {
    while digits % 10 == 0 && digits != 0 {
        digits /= 10;
        power += 1;
    }
    let down = power.rem_euclid(3) + (power - power.rem_euclid(3) - most).max(0);
    let down = u32::try_from(down).ok()?;
    digits = digits.checked_mul(10_i128.checked_pow(down)?)?;
    power -= i32::try_from(down).ok()?;
    (power >= FINEST).then_some((digits, power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_in_their_shortest_form() {
        for (written, shown) in [
            ("0", "0"),
            ("0Gi", "0"),
            ("0.0", "0"),
            ("1", "1"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("1024Mi", "1Gi"),
            ("1Gi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1000Mi", "1000Mi"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("500m", "500m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("2500000n", "2500u"),
            ("10k", "10k"),
            ("1000k", "1M"),
            ("1e3", "1e3"),
            ("1000e3", "1e6"),
            ("12E6", "12e6"),
            ("1E", "1E"),
            ("1000E", "1000E"),
            ("-5Mi", "-5Mi"),
            ("+5Mi", "5Mi"),
            ("5Ei", "5Ei"),
            ("1024Ei", "1024Ei"),
        ] {
            let tree = Tree::Text(written.into());
            assert_eq!(canonical(&tree), shown, "{written}");
        }
    }

    #[test]
    fn what_is_no_amount_is_shown_as_it_is() {
        for text in [
            "",
            "x",
            "1.2.3",
            "1Zi",
            "Gi",
            "1e",
            "1ex",
            "1e2147483647",
            "1e-2147483648",
            "99999999999999999999999999999999999999999",
        ] {
            assert_eq!(canonical(&Tree::Text(text.into())), text);
        }
        assert_eq!(canonical(&Tree::Null), "0");
        assert_eq!(canonical(&Tree::Number(2000.into())), "2k");
    }
}
