//! Moments, as `2026-01-02T03:04:05Z`.
//!
//! A client may write a moment in its own time zone and to the nanosecond. It is kept in UTC, to the second or the
//! microsecond as the field has it, so that the same moment is the same text.

/// How fine a moment is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// `2026-01-02T03:04:05Z`
    Seconds,
    /// `2026-01-02T03:04:05.000000Z`
    Micros,
}

/// A moment in its one form; none if the text is no moment of RFC 3339 in the years 0 to 9999.
///
/// ```
/// use ringwatch_server::schema::time::{Precision, canonical};
///
/// let noon = canonical("2026-03-01T00:30:00.5+01:00", Precision::Seconds);
/// assert_eq!(noon.as_deref(), Some("2026-02-28T23:30:00Z"));
/// ```
pub fn canonical(text: &str, precision: Precision) -> Option<String> {
    let mut reader = Reader(text.as_bytes());
    let year = reader.number(4)?;
    reader.byte(b'-')?;
    let month = reader.number(2)?;
    reader.byte(b'-')?;
    let day = reader.number(2)?;
    reader.byte(b'T')?;
    let [hour, minute, second] = reader.clock()?;
    let micros = reader.fraction()?;
    let offset = reader.zone()?;
    let good_day = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    if !good_day || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let minutes = (days_before(year, month, day) * 24 + hour) * 60 + minute - offset;
    let [days, in_day] = [minutes.div_euclid(24 * 60), minutes.rem_euclid(24 * 60)];
    let (year, month, day) = date_of(days);
    if !(0..=9999).contains(&year) {
        return None;
    }
    let [hour, minute] = [in_day / 60, in_day % 60];
    let moment = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    Some(match precision {
        Precision::Seconds => format!("{moment}Z"),
        Precision::Micros => format!("{moment}.{micros:06}Z"),
    })
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self, expected: u8) -> Option<()> {
        (self.next()? == expected).then_some(())
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        (0..digits).try_fold(0, |sum, _| {
            let digit = char::from(self.next()?).to_digit(10)?;
            Some(sum * 10 + i64::from(digit))
        })
    }

    fn clock(&mut self) -> Option<[i64; 3]> {
        let hour = self.number(2)?;
        self.byte(b':')?;
        let minute = self.number(2)?;
        self.byte(b':')?;
        Some([hour, minute, self.number(2)?])
    }

    /// The microseconds; none if there is a point and no digit.
    fn fraction(&mut self) -> Option<i64> {
        if self.0.first() != Some(&b'.') {
            return Some(0);
        }
        self.next()?;
        let digits = self
            .0
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (fraction, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        let six = fraction
            .iter()
            .copied()
            .chain(std::iter::repeat(b'0'))
            .take(6);
        let micros = six.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        (digits > 0).then_some(micros)
    }

    /// The minutes by which the clock is ahead of UTC, at the end of the text.
    fn zone(&mut self) -> Option<i64> {
        let sign = match self.next()? {
            b'Z' => return self.0.is_empty().then_some(0),
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let hours = self.number(2)?;
        self.byte(b':')?;
        let minutes = self.number(2)?;
        let good = hours <= 23 && minutes <= 59 && self.0.is_empty();
        good.then_some(sign * (hours * 60 + minutes))
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the first of January of the year 0.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    days_before_year(year) + months + day - 1
}

/// Every year has 365 days, and one more for each leap year before it; the year 0 was one.
fn days_before_year(year: i64) -> i64 {
    let last = year - 1;
    365 * year + last.div_euclid(4) - last.div_euclid(100) + last.div_euclid(400) + 1
}

fn date_of(days: i64) -> (i64, i64, i64) {
    // Too high by the leap days only, which are a few years' worth at most: the loop is short.
    let mut year = days.div_euclid(365);
    while days_before_year(year) > days {
        year -= 1;
    }
    let mut rest = days - days_before_year(year);
    let mut month = 1;
    while rest >= days_in(year, month) {
        rest -= days_in(year, month);
        month += 1;
    }
    (year, month, rest + 1)
}
