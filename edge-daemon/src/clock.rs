//! Time as the engine counts it: milliseconds since 1970, but never back, so that it means something after a restart too.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringwatch_core::time::Instant;

/// A clock that was set when the program began, and then runs by itself.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    began: std::time::Instant,
    at: u64,
}

impl Clock {
    /// A clock that is set now.
    pub fn start() -> Self {
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            began: std::time::Instant::now(),
            at: at.map_or(0, |at| at.as_millis() as u64),
        }
    }

    /// The time.
    pub fn now(&self) -> Instant {
        Instant::from_millis(self.at + self.began.elapsed().as_millis() as u64)
    }

    /// The moment on tokio's clock; far away for one that does not come.
    pub fn at(&self, instant: Instant) -> tokio::time::Instant {
        let ahead = instant.as_millis().saturating_sub(self.at);
        let ahead = Duration::from_millis(ahead.min(1 << 40));
        tokio::time::Instant::from_std(self.began + ahead)
    }
}
