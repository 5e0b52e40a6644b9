//! Amounts with a unit, as `500m` or `2Gi`.
//!
//! The same amount can be written in many ways, and is kept in one: without a fraction, with the largest unit that needs
//! none. Two objects that ask for the same then look the same.

use std::cmp::Ordering;

/// An amount: `mantissa` times ten to the `exponent`, times two to the `binary`.
#[derive(Debug, Clone, Copy)]
struct Amount {
    mantissa: i128,
    exponent: i32,
    binary: u32,
    style: Style,
}

/// How an amount was written, and is to be written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Powers of 1000 with letters.
    Decimal,
    /// Powers of 1024 with letters.
    Binary,
    /// Powers of ten with an exponent.
    Exponent,
}

/// The text is no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoQuantity;

/// An amount in its one form. What is too large or too small to be computed with stays as it is written.
///
/// ```
/// use ringwatch_server::schema::quantity::canonical;
///
/// assert_eq!(canonical("0.5").as_deref(), Ok("500m"));
/// assert_eq!(canonical("2048Mi").as_deref(), Ok("2Gi"));
/// assert!(canonical("two").is_err());
/// ```
pub fn canonical(text: &str) -> Result<String, NoQuantity> {
    match parse(text)? {
        Some(amount) => Ok(amount.render().unwrap_or_else(|| text.to_owned())),
        None => Ok(text.to_owned()),
    }
}

/// An amount to compute with.
#[derive(Debug, Clone, Copy)]
pub struct Quantity(Amount);

impl Quantity {
    /// Reads an amount; none if the text is none, or one beyond what can be computed with.
    pub fn parse(text: &str) -> Option<Self> {
        parse(text).ok().flatten().map(Self)
    }

    /// Which of two is larger.
    pub fn compare(self, other: Self) -> Ordering {
        let exact = || {
            let least = self.0.exponent.min(other.0.exponent);
            Some(self.0.scaled(least)?.cmp(&other.0.scaled(least)?))
        };
        exact().unwrap_or_else(|| self.approximate().total_cmp(&other.approximate()))
    }

    /// The whole number that it is, if it is one.
    pub fn whole(self) -> Option<i64> {
        let mantissa = self
            .0
            .mantissa
            .checked_mul(1i128.checked_shl(self.0.binary)?)?;
        i64::try_from(exact(mantissa, self.0.exponent)?).ok()
    }

    /// The nearest number.
    pub fn approximate(self) -> f64 {
        let Amount {
            mantissa,
            exponent,
            binary,
            ..
        } = self.0;
        mantissa as f64 * 10f64.powi(exponent) * 2f64.powi(binary.try_into().unwrap_or(0))
    }
}

/// Reads an amount; none if it is one, but beyond what can be computed with.
fn parse(text: &str) -> Result<Option<Amount>, NoQuantity> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(unsigned.len());
    let (number, unit) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return Err(NoQuantity);
    }
    let (style, exponent, binary) = unit_of(unit).ok_or(NoQuantity)?;
    let mut digits = whole.bytes().chain(fraction.bytes());
    let mantissa = digits.try_fold(0i128, |sum, digit| {
        sum.checked_mul(10)?
            .checked_add(i128::from(digit.wrapping_sub(b'0')))
    });
    let exponent = i32::try_from(fraction.len())
        .ok()
        .and_then(|places| exponent.checked_sub(places));
    let (Some(mantissa), Some(exponent)) = (mantissa, exponent) else {
        return Ok(None);
    };
    let negative = text.starts_with('-');
    Ok(Some(Amount {
        mantissa: if negative { -mantissa } else { mantissa },
        exponent,
        binary,
        style,
    }))
}

const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

fn unit_of(unit: &str) -> Option<(Style, i32, u32)> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == unit) {
        return Some((Style::Decimal, *exponent, 0));
    }
    if let Some((power, _)) = (0u32..).zip(BINARY).find(|(_, name)| *name == unit) {
        return Some((Style::Binary, 0, 10 * power));
    }
    let exponent = unit.strip_prefix(['e', 'E'])?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // A number that does not fit is an amount all the same: one too large to be computed with.
    plain.then(|| (Style::Exponent, exponent.parse().unwrap_or(i32::MAX / 2), 0))
}

impl Amount {
    /// How many times ten to the `exponent` it is.
    fn scaled(self, exponent: i32) -> Option<i128> {
        let mantissa = self.mantissa.checked_mul(1i128.checked_shl(self.binary)?)?;
        exact(mantissa, self.exponent.checked_sub(exponent)?)
    }

    fn render(self) -> Option<String> {
        if self.mantissa == 0 {
            return Some("0".into());
        }
        let mantissa = self.mantissa.checked_mul(1i128.checked_shl(self.binary)?)?;
        match self.style {
            Style::Binary => {
                // A fraction of a byte, or less than a kibibyte, is clearer in powers of ten.
                let whole = exact(mantissa, self.exponent).filter(|whole| whole.abs() >= 1024);
                match whole {
                    Some(whole) => Some(render_binary(whole)),
                    None => render_decimal(mantissa, self.exponent, Style::Decimal),
                }
            }
            style => render_decimal(mantissa, self.exponent, style),
        }
    }
}

/// The whole number that `mantissa` times ten to the `exponent` is, if it is one.
fn exact(mantissa: i128, exponent: i32) -> Option<i128> {
    let power = 10i128.checked_pow(exponent.unsigned_abs())?;
    if exponent >= 0 {
        mantissa.checked_mul(power)
    } else {
        (mantissa % power == 0).then_some(mantissa / power)
    }
}

fn render_binary(mut whole: i128) -> String {
    let mut power = 0;
    while whole % 1024 == 0 && power + 1 < BINARY.len() {
        whole /= 1024;
        power += 1;
    }
    let unit = BINARY.get(power).copied().unwrap_or_default();
    format!("{whole}{unit}")
}

fn render_decimal(mut mantissa: i128, mut exponent: i32, style: Style) -> Option<String> {
    while mantissa % 10 == 0 {
        mantissa /= 10;
        exponent = exponent.checked_add(1)?;
    }
    // Units go in steps of three, so up to two zeros come back.
    while exponent % 3 != 0 {
        mantissa = mantissa.checked_mul(10)?;
        exponent = exponent.checked_sub(1)?;
    }
    while exponent > 18 {
        mantissa = mantissa.checked_mul(1000)?;
        exponent -= 3;
    }
    let mantissa = i64::try_from(mantissa).ok()?;
    let (unit, _) = DECIMAL.iter().find(|(_, step)| *step == exponent)?;
    Some(match (style, exponent) {
        (Style::Exponent, 0) | (Style::Decimal | Style::Binary, _) => format!("{mantissa}{unit}"),
        (Style::Exponent, _) => format!("{mantissa}e{exponent}"),
    })
}
