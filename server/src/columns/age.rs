//! Times as people read them.

use std::borrow::Cow;

use jiff::Timestamp;

use super::tree::{Object, Tree};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The time since the object was created.
pub(super) fn of(object: &Object<'_>, now: Timestamp) -> Cow<'static, str> {
    since(object.metadata().get("creationTimestamp"), now)
}

/// The time since `time`, a text as JSON has it; `<unknown>` if there is none.
pub(super) fn since(time: &Tree<'_>, now: Timestamp) -> Cow<'static, str> {
    match parse(time.text()) {
        Some(time) => between(time, now),
        None => Cow::Borrowed("<unknown>"),
    }
}

/// The time from one moment to the other.
pub(super) fn between(from: Timestamp, to: Timestamp) -> Cow<'static, str> {
    human(to.duration_since(from).as_secs())
}

/// A moment, if the text is one. The year 1 is how Go writes none.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let time: Timestamp = text.parse().ok()?;
    (time.as_second() != NO_TIME).then_some(time)
}

/// The first second of the year 1.
const NO_TIME: i64 = -62_135_596_800;

/// A duration in its two or three most telling digits.
///
/// | up to | written as |
/// |---|---|
/// | 2 minutes | `119s` |
/// | 10 minutes | `9m59s` |
/// | 3 hours | `179m` |
/// | 8 hours | `7h59m` |
/// | 2 days | `47h` |
/// | 8 days | `7d23h` |
/// | 2 years | `729d` |
/// | 8 years | `7y364d` |
/// | ever | `8y` |
///
/// A second part of zero is left out. Clocks differ: what is to happen within a second is now, what is
/// further in the future is not valid.
fn human(seconds: i64) -> Cow<'static, str> {
    let text = match seconds {
        ..=-2 => return Cow::Borrowed("<invalid>"),
        -1 => return Cow::Borrowed("0s"),
        0..120 => format!("{seconds}s"),
        120..600 => pair(seconds, (MINUTE, "m"), (1, "s")),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => pair(seconds, (HOUR, "h"), (MINUTE, "m")),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => pair(seconds, (DAY, "d"), (HOUR, "h")),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => pair(seconds, (YEAR, "y"), (DAY, "d")),
        _ => format!("{}y", seconds / YEAR),
    };
    Cow::Owned(text)
}

/// So many of one unit and the rest in a smaller one.
fn pair(
    seconds: i64,
    (large, large_name): (i64, &str),
    (small, small_name): (i64, &str),
) -> String {
    let whole = seconds / large;
    match seconds % large / small {
        0 => format!("{whole}{large_name}"),
        rest => format!("{whole}{large_name}{rest}{small_name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_border_of_the_table() {
        for (seconds, expected) in [
            (i64::MIN, "<invalid>"),
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (1, "1s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 59, "3h"),
            (3 * HOUR + 60, "3h1m"),
            (8 * HOUR - 1, "7h59m"),
            (8 * HOUR, "8h"),
            (2 * DAY - 1, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + HOUR, "2d1h"),
            (8 * DAY - 1, "7d23h"),
            (8 * DAY, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + DAY, "2y1d"),
            (8 * YEAR - 1, "7y364d"),
            (8 * YEAR, "8y"),
            (100 * YEAR, "100y"),
        ] {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn parts_of_a_second_do_not_count() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let from = at("2026-01-01T00:00:00.900000Z");
        assert_eq!(between(from, at("2026-01-01T00:00:02.100000Z")), "1s");
        assert_eq!(between(from, at("2026-01-01T00:00:00Z")), "0s");
        assert_eq!(between(from, at("2025-12-31T23:59:58Z")), "<invalid>");
    }
}
