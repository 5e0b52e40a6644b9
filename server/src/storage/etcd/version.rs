//! Which versions of etcd can be asked for progress.
//!
//! Before the versions below, the answer to a progress request could overtake events on the same stream, or the events
//! of a starved stream could get lost around it: the answer claimed changes to be delivered that were not.
//! The notifications that etcd sends by itself travel in line with the events and are sound in all versions.

/// A version as etcd reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    major: u32,
    minor: u32,
    patch: u32,
    /// Whether it is a release: what comes before one is smaller.
    release: bool,
}

impl Version {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let numbers = text.split(['-', '+']).next()?;
        let mut numbers = numbers.split('.').map(|number| number.parse().ok());
        Some(Self {
            major: numbers.next()??,
            minor: numbers.next()??,
            patch: numbers.next()??,
            release: !text.contains('-'),
        })
    }

    /// Whether an answer to a progress request can be believed.
    pub(super) fn answers_progress_safely(self) -> bool {
        let since = |major, minor, patch| {
            self >= Self {
                major,
                minor,
                patch,
                release: true,
            }
        };
        match (self.major, self.minor) {
            (3, 4) => since(3, 4, 31),
            (3, 5) => since(3, 5, 13),
            _ => since(3, 6, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_repaired_versions_are_asked() {
        let safe = |text| Version::parse(text).unwrap().answers_progress_safely();
        for text in [
            "3.4.31", "3.4.37", "3.5.13", "3.5.16", "3.6.0", "3.7.2", "4.0.0",
        ] {
            assert!(safe(text), "{text}");
        }
        for text in [
            "3.3.27",
            "3.4.23",
            "3.4.30",
            "3.5.0",
            "3.5.12",
            "3.6.0-rc.1",
            "2.3.8",
        ] {
            assert!(!safe(text), "{text}");
        }
        assert!(safe("3.5.16+git"));
        for text in ["", "3", "3.5", "three", "3.x.1", "not_decided"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
