//! Is the peer still there?

use core::time::Duration;

use crate::time::Instant;

/// Pings after half the silence that is tolerated, gives up after all of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Liveness {
    heard: Instant,
    /// In milliseconds; 0 if any is tolerated.
    silence: u32,
    pinged: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pulse {
    Fine,
    Ping,
    Gone,
}

impl Liveness {
    pub(super) fn new(silence: Duration, now: Instant) -> Self {
        Self {
            heard: now,
            silence: u32::try_from(silence.as_millis()).unwrap_or(u32::MAX),
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
        } else if now >= self.after(self.silence) {
            Pulse::Gone
        } else {
            Pulse::Ping
        }
    }

    /// When to look again.
    pub(super) fn deadline(&self) -> Instant {
        match self.silence {
            0 => Instant::NEVER,
            silence if self.pinged => self.after(silence),
            silence => self.after(silence / 2),
        }
    }

    fn after(&self, silence: u32) -> Instant {
        self.heard + Duration::from_millis(silence.into())
    }
}
