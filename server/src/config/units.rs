//! Times and sizes as people write them: `90s`, `1h30m`, `32KiB`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A time: `5m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a time; write for example 90s, 5m or 1h30m");
        let span: jiff::SignedDuration = match text {
            "0" => jiff::SignedDuration::ZERO,
            text => text.parse().map_err(|_| wrong())?,
        };
        Duration::try_from(span).map(Self).map_err(|_| wrong())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            seconds if seconds > 0 && seconds % 3600 == 0 => write!(f, "{}h", seconds / 3600),
            seconds if seconds > 0 && seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            seconds => write!(f, "{seconds}s"),
        }
    }
}

/// A number of bytes: `32KiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) u32);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a size; write for example 4096, 32KiB or 3MiB");
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let number: u32 = number.parse().map_err(|_| wrong())?;
        let unit: u32 = match unit.trim() {
            "" | "B" => 1,
            "KiB" => 1024,
            "MiB" => 1024 * 1024,
            _ => return Err(wrong()),
        };
        number.checked_mul(unit).map(Self).ok_or_else(wrong)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MIB: u32 = 1024 * 1024;
        match self.0 {
            bytes if bytes > 0 && bytes % MIB == 0 => write!(f, "{}MiB", bytes / MIB),
            bytes if bytes > 0 && bytes % 1024 == 0 => write!(f, "{}KiB", bytes / 1024),
            bytes => write!(f, "{bytes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_read() {
        for seconds in [0, 1, 59, 60, 90, 3600, 5400, 86_400] {
            let span = Span(Duration::from_secs(seconds));
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        for bytes in [0, 1, 1000, 1024, 1025, 32 * 1024, 3 * 1024 * 1024, u32::MAX] {
            assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
        }
        assert_eq!("1h30m".parse(), Ok(Span(Duration::from_secs(5400))));
    }

    #[test]
    fn what_is_no_time_or_size_is_refused() {
        for text in ["", "5", "soon", "-5s", "5 parsecs"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        for text in ["", "KiB", "-1", "1.5MiB", "32kb", "4096MiB", "5GiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
