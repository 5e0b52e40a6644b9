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
    let time = parse(text)?;
    match precision {
        Precision::Seconds => format(time.seconds),
        Precision::Micros => format_micros(time),
    }
}

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timestamp {
    /// Since 1970.
    pub(crate) seconds: i64,
    /// On top of that.
    pub(crate) nanos: u32,
}

/// The beginning of the year 1, which Go takes for "no time".
pub(crate) const NO_TIME: i64 = -62_135_596_800;

const DAY: i64 = 86_400;

/// Reads `2006-01-02T15:04:05[.999999999](Z|±07:00)`.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let mut text = Text(text.as_bytes());
    let year = text.digits(4)?;
    text.expect(b"-")?;
    let month = text.digits(2)?;
    text.expect(b"-")?;
    let day = text.digits(2)?;
    text.expect(b"T")?;
    let hour = text.digits(2)?;
    text.expect(b":")?;
    let minute = text.digits(2)?;
    text.expect(b":")?;
    let second = text.digits(2)?;
    if !(1..=12).contains(&month)
        || !(1..=month_length(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let nanos = text.fraction()?;
    let offset = text.offset()?;
    let seconds =
        days_from_civil(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
    Some(Timestamp { seconds, nanos })
}

/// Writes whole seconds, in UTC; none if the year has not four digits.
pub(crate) fn format(seconds: i64) -> Option<String> {
    Some(format!("{}Z", civil(seconds)?))
}

/// Writes microseconds, in UTC; none if the year has not four digits.
pub(crate) fn format_micros(time: Timestamp) -> Option<String> {
    Some(format!(
        "{}.{:06}Z",
        civil(time.seconds)?,
        time.nanos / 1000
    ))
}

fn civil(seconds: i64) -> Option<String> {
    let (year, month, day) = civil_from_days(seconds.div_euclid(DAY));
    if !(0..=9999).contains(&year) {
        return None;
    }
    let second = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    ))
}

struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.iter().try_fold(0, |value, &digit| {
            digit
                .is_ascii_digit()
                .then(|| value * 10 + i64::from(digit - b'0'))
        })
    }

    fn expect(&mut self, any_of: &[u8]) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        any_of.contains(&first).then(|| {
            self.0 = rest;
            first
        })
    }

    fn fraction(&mut self) -> Option<u32> {
        if self.expect(b".").is_none() {
            return Some(0);
        }
        let (mut nanos, mut digits) = (0, 0);
        while let Some(digit) = self.expect(b"0123456789") {
            // What is finer than a nanosecond is lost.
            if digits < 9 {
                nanos = nanos * 10 + u32::from(digit - b'0');
                digits += 1;
            }
        }
        (digits > 0).then(|| nanos * 10_u32.pow(9 - digits))
    }

    /// The distance from UTC in seconds, at the end of the text.
    fn offset(&mut self) -> Option<i64> {
        let offset = match self.expect(b"Z+-")? {
            b'+' => self.hours_and_minutes()?,
            b'-' => -self.hours_and_minutes()?,
            _ => 0,
        };
        self.0.is_empty().then_some(offset)
    }

    fn hours_and_minutes(&mut self) -> Option<i64> {
        let hours = self.digits(2)?;
        self.expect(b":")?;
        let minutes = self.digits(2)?;
        (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)
    }
}

fn month_length(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

// Years are counted from March, so that the leap day comes last, and in eras of 400, which all have as many days.

const ERA: i64 = 146_097;

/// Days since 1970 of a date.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date that many days after 1970.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (era, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}
