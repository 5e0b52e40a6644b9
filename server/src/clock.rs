//! Time as the core counts it, on tokio's clock.

use std::time::Duration;

use ringwatch_core::time::Instant;

/// Counts from the moment it was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(std::time::Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn now(self) -> Instant {
        Instant::from_millis(self.0.elapsed().as_millis() as u64)
    }

    /// The moment on tokio's clock.
    pub(crate) fn at(self, instant: Instant) -> tokio::time::Instant {
        tokio::time::Instant::from_std(self.0 + Duration::from_millis(instant.as_millis()))
    }
}
