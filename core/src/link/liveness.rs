//! Is the peer still there?

use core::time::Duration;

use crate::time::Instant;

/// Pings after half the silence that is tolerated, gives up after all of it.
#[derive(Debug)]
pub(super) struct Liveness {
    heard: Instant,
    /// Zero if any silence is tolerated.
    silence: Duration,
    pinged: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pulse {
    Fine,
    Ping,
    Gone,
}

impl Liveness {
    pub(super) const fn new(silence: Duration, now: Instant) -> Self {
        Self {
            heard: now,
            silence,
            pinged: false,
        }
    }

    pub(super) fn hear(&mut self, now: Instant) {
        self.heard = now;
        self.pinged = false;
    }

    pub(super) fn note_ping(&mut self) {
        self.pinged = true;
    }

    pub(super) fn pulse(&self, now: Instant) -> Pulse {
        if now < self.deadline() {
            Pulse::Fine
        } else if now >= self.heard + self.silence {
            Pulse::Gone
        } else {
            Pulse::Ping
        }
    }

    /// When to look again.
    pub(super) fn deadline(&self) -> Instant {
        if self.silence.is_zero() {
            Instant::NEVER
        } else if self.pinged {
            self.heard + self.silence
        } else {
            self.heard + self.silence / 2
        }
    }
}
