//! `timeout` in the query: how long a client is willing to wait, in the durations of Go.

use std::time::Duration;

use super::query::Query;
use crate::status::Failure;

/// How long a request may take: what it asks for, and never more than `most`. Watches do not come here.
pub(super) fn allowed(query: &Query<'_>, most: Duration) -> Result<Duration, Failure> {
    let asked = match query.text("timeout") {
        "" => return Ok(most),
        text => parse(text)
            .ok_or_else(|| Failure::bad_request("invalid timeout specified in the request URL"))?,
    };
    Ok(match asked {
        Duration::ZERO => most,
        asked => asked.min(most),
    })
}

/// Reads a duration such as `1m30s` or `1.5h`; `None` if it is none, is negative, or is beyond all measure.
fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let is_digit = |char: char| char.is_ascii_digit() || char == '.';
        let (number, after) = rest.split_at(rest.find(|char| !is_digit(char))?);
        let (unit, after) = after.split_at(after.find(is_digit).unwrap_or(after.len()));
        let scale = match unit {
            "ns" => 1e-9,
            // Both ways to write the letter.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * scale;
        rest = after;
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(seconds).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, expected) in [
            ("0", Some(0)),
            ("0s", Some(0)),
            ("32s", Some(32_000)),
            ("+1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("250ms", Some(250)),
            ("", None),
            ("5", None),
            ("s", None),
            ("-1s", None),
            ("1.2.3s", None),
            ("1 s", None),
            ("1d", None),
            ("99999999999999999999h", None),
        ] {
            let found = parse(text).map(|found| found.as_millis());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn nobody_waits_longer_than_the_server_likes() {
        let most = Duration::from_secs(60);
        for (query, expected) in [
            ("", 60),
            ("timeout=0s", 60),
            ("timeout=2m", 60),
            ("timeout=5s", 5),
        ] {
            let found = allowed(&Query::parse(Some(query)), most).map(|found| found.as_secs());
            assert_eq!(found, Ok(expected), "{query}");
        }
    }
}
