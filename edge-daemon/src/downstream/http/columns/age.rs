//! Times as people read them: how long ago.

use std::borrow::Cow;

use ringwatch_core::time::Instant;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// How long ago a time was that is written as JSON has it.
pub(super) fn since(time: Option<&str>, now: Instant) -> Cow<'static, str> {
    let Some(time) = time.filter(|time| !time.is_empty()) else {
        return Cow::Borrowed("<unknown>");
    };
    match seconds(time) {
        Some(seconds) => human(now.as_millis() as i64 / 1000 - seconds),
        None => Cow::Borrowed("<invalid>"),
    }
}

/// Seconds since 1970 of a time in UTC: `2026-01-02T03:04:05Z`, perhaps with parts of a second. API servers write no other.
fn seconds(time: &str) -> Option<i64> {
    let time = time.strip_suffix('Z')?;
    let (date, clock) = time.split_once('T')?;
    let clock = clock.split_once('.').map_or(clock, |(whole, _)| whole);
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(clock, ':')?;
    let valid = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    let days = valid.then(|| days(year, month, day))?;
    Some(days * DAY + hour * HOUR + minute * MINUTE + second)
}

fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let mut parts = text.split(between).map(|part| {
        let digits = part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|_| digits)
    });
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

/// Days from 1970-01-01 to a date. Years are counted from March, so that the day that some of them have more is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    before + (month * 153 + 2) / 5 + day - 719_469
}

/// A duration in its two or three most telling digits, as kubectl's users know it: `119s`, `9m59s`, `179m`, `7h59m`, `47h`, `7d23h`, `729d`,
/// `7y364d`, `8y`.
fn human(seconds: i64) -> Cow<'static, str> {
    let pair = |large, name, small, small_name| match seconds % large / small {
        0 => format!("{}{name}", seconds / large),
        rest => format!("{}{name}{rest}{small_name}", seconds / large),
    };
    Cow::Owned(match seconds {
        // Clocks differ.
        -1 => return Cow::Borrowed("0s"),
        ..0 => return Cow::Borrowed("<invalid>"),
        0..120 => format!("{seconds}s"),
        120..600 => pair(MINUTE, 'm', 1, 's'),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => pair(HOUR, 'h', MINUTE, 'm'),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => pair(DAY, 'd', HOUR, 'h'),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => pair(YEAR, 'y', DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (time, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:01Z", Some(951_825_601)),
            ("2026-01-02T00:00:00.123456Z", Some(1_767_312_000)),
            ("1969-12-31T23:59:59Z", Some(-1)),
            ("2026-13-01T00:00:00Z", None),
            ("2026-01-01T00:00:00+01:00", None),
            ("2026-01-01", None),
            ("2026-+1-01T00:00:00Z", None),
        ] {
            assert_eq!(seconds(time), expected, "{time}");
        }
    }

    #[test]
    fn ages_are_short() {
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR, "3h"),
            (8 * HOUR - 1, "7h59m"),
            (2 * DAY - 1, "47h"),
            (8 * DAY - 1, "7d23h"),
            (2 * YEAR - 1, "729d"),
            (8 * YEAR - 1, "7y364d"),
            (8 * YEAR, "8y"),
        ] {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
        assert_eq!(since(None, Instant::from_millis(0)), "<unknown>");
    }
}
