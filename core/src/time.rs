//! Time as an argument: a count of milliseconds that the caller read from its own clock.
//!
//! Nothing in this crate reads a clock. Whoever drives it passes `now`, from tokio, from embassy or
//! from a simulation; only differences matter, so any epoch will do as long as it stays the same.
//!
//! ```
//! use core::time::Duration;
//! use ringwatch_core::time::Instant;
//!
//! let start = Instant::from_millis(1_000);
//! let later = start + Duration::from_secs(2);
//! assert_eq!(later.since(start), Duration::from_secs(2));
//! assert_eq!(start.since(later), Duration::ZERO);
//! ```

use core::ops::Add;
use core::time::Duration;

/// A moment, in milliseconds since an epoch of the caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
// As small as it can be: see `Revision`.
#[repr(Rust, packed(4))]
pub struct Instant(u64);

#[cfg(feature = "defmt")]
impl defmt::Format for Instant {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Instant({=u64})", self.as_millis());
    }
}

impl Instant {
    /// The moment this many milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// A moment that does not come: the end of time.
    pub const NEVER: Self = Self(u64::MAX);

    /// Milliseconds after the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// How long ago `earlier` was; zero if it was not.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// The moment this much earlier, or `None` if that is before the epoch.
    pub fn checked_sub(self, duration: Duration) -> Option<Self> {
        self.0.checked_sub(millis(duration)).map(Self)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates at the end of time, some 584 million years after the epoch.
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }
}

/// Whole milliseconds. Seconds and the rest are scaled apart, since `Duration::as_millis` divides 128-bit
/// numbers, which a Cortex-M pays dearly for.
fn millis(duration: Duration) -> u64 {
    duration
        .as_secs()
        .saturating_mul(1_000)
        .saturating_add(u64::from(duration.subsec_millis()))
}
