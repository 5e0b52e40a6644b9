//! What a session of the node keeps.

use super::subscription::Subscription;
use super::{Config, Wanted};
use crate::link::dictionary::Received;
use crate::link::ended::Ended;
use crate::link::frame::Code;
use crate::link::liveness::{Liveness, Pulse};
use crate::link::seal::{Handshake, Seal, Seed};
use crate::revision::Revision;
use crate::time::Instant;

/// All but what moves bytes.
pub(super) struct State<'a, const SUBS: usize, const KEYS: usize, const KEY: usize, O> {
    pub(super) config: Config<'a>,
    pub(super) wanted: &'a [Wanted<'a>],
    pub(super) phase: Phase,
    pub(super) guard: Guard,
    /// Which both ends speak, once it is open.
    pub(super) version: u8,
    /// The longest packet that this end takes, and the other.
    pub(super) longest: u16,
    pub(super) their_longest: u16,
    pub(super) liveness: Liveness,
    pub(super) pong: Option<u32>,
    pub(super) report: Report,
    pub(super) subs: [Subscription; SUBS],
    pub(super) dictionary: Received<KEYS, KEY>,
    pub(super) object: O,
    pub(super) assembly: Option<Assembly>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// To say hello.
    Hello,
    /// No answer yet; it has until then.
    Wait(Instant),
    Open,
    /// To say goodbye.
    Closing(Code),
    Over(Ended),
}

/// How far the other end has been told of a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// Nothing is on its way.
    Idle,
    /// It was told of the restart that led to this start, and has not answered.
    Told(u32),
    /// It has.
    Noted,
}

/// What protects the packets, and what is needed to get there.
#[expect(
    clippy::large_enum_variant,
    reason = "there is no allocator to box with"
)]
pub(super) enum Guard {
    Before(Seed),
    During(Handshake),
    After(Seal),
}

/// An event of which parts are still to come. Key and body are in the object buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assembly {
    pub(super) sub: u8,
    /// The subscription's, when it began.
    pub(super) round: u8,
    pub(super) revision: Revision,
    pub(super) settles: bool,
    pub(super) mark: Option<Revision>,
    pub(super) key_len: usize,
    pub(super) total: usize,
    pub(super) got: usize,
    /// Whether there is room for it.
    pub(super) stored: bool,
}

impl<const SUBS: usize, const KEYS: usize, const KEY: usize, O> State<'_, SUBS, KEYS, KEY, O> {
    pub(super) fn close(&mut self, code: Code) {
        match self.phase {
            Phase::Open => self.phase = Phase::Closing(code),
            Phase::Hello | Phase::Wait(_) => self.phase = Phase::Over(Ended::Here(code)),
            Phase::Closing(_) | Phase::Over(_) => {}
        }
    }

    /// How many bytes of frames fit a packet of at most `limit` bytes, once the session is open.
    pub(super) fn room(&self, limit: usize) -> Option<usize> {
        let Guard::After(seal) = &self.guard else {
            return None;
        };
        let limit = limit.min(self.their_longest.into());
        Some(limit.saturating_sub(seal.overhead()))
    }

    /// Seals the first `len` bytes of a packet; its length.
    pub(super) fn seal(&mut self, packet: &mut [u8], len: usize) -> Option<usize> {
        match &mut self.guard {
            Guard::After(seal) => seal.seal(packet, len),
            _ => None,
        }
    }

    pub(super) fn look_at_the_clock(&mut self, now: Instant) {
        match self.phase {
            Phase::Wait(until) if now >= until => self.close(Code::Silent),
            Phase::Open if self.liveness.pulse(now) == Pulse::Gone => self.close(Code::Silent),
            _ => {}
        }
    }
}
