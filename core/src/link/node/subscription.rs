//! One subscription as the node keeps it.

use core::time::Duration;

use super::view::Position;
use crate::informer::Check;
use crate::link::frame::{Code, How, Start};
use crate::revision::Revision;
use crate::time::Instant;

/// How long to wait before a request that failed is repeated; doubled each time, up to 8 times that.
const RETRY_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) stage: Stage,
    pub(super) round: u8,
    /// The last revision that was named.
    base: Revision,
    /// Bytes that came since credit was last granted.
    consumed: u32,
    /// The other end wants to compare, in so many buckets.
    pub(super) compare: Option<u8>,
    /// How often in a row the view was found to differ.
    doubts: u8,
    /// How often in a row the request failed.
    failures: u8,
    /// Not before that it is asked for again.
    pub(super) ask_at: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// To be asked for.
    Ask,
    /// No answer yet.
    Asked,
    /// A snapshot or difference is coming in.
    Syncing,
    Live,
    Failed {
        code: Code,
        detail: u32,
    },
}

impl Subscription {
    pub(super) const NEW: Self = Self {
        stage: Stage::Ask,
        round: 0,
        base: Revision::ZERO,
        consumed: 0,
        compare: None,
        doubts: 0,
        failures: 0,
        ask_at: Instant::from_millis(0),
    };

    /// Whether what comes is for this attempt.
    pub(super) fn is_active(&self) -> bool {
        matches!(self.stage, Stage::Syncing | Stage::Live)
    }

    /// Whether it has been asked for in this session.
    pub(super) fn was_asked(&self) -> bool {
        self.round > 0
    }

    /// Whether an answer is the one that it waits for.
    pub(super) fn awaits(&self, round: u8) -> bool {
        self.stage == Stage::Asked && self.round == round
    }

    /// Whether a failure is about this attempt.
    pub(super) fn concerns(&self, round: u8) -> bool {
        self.round == round && (self.is_active() || self.stage == Stage::Asked)
    }

    pub(super) fn is_to_be_asked(&self, now: Instant) -> bool {
        let again = match self.stage {
            Stage::Ask => true,
            Stage::Failed { code, .. } => code.is_temporary(),
            _ => false,
        };
        again && now >= self.ask_at
    }

    /// When it is to be asked for, if it waits for that.
    pub(super) fn deadline(&self) -> Instant {
        match self.stage {
            Stage::Ask => self.ask_at,
            Stage::Failed { code, .. } if code.is_temporary() => self.ask_at,
            _ => Instant::NEVER,
        }
    }

    /// Where to begin, with a view that has this.
    pub(super) fn start<'v>(&self, position: Position<'v>) -> Start<'v> {
        match position {
            // What a repair did not repair is not worth another.
            _ if self.doubts > 1 => Start::Snapshot,
            Position::Nothing => Start::Snapshot,
            Position::Within {
                origin,
                key,
                revision,
            } => Start::Continue {
                origin,
                revision,
                key,
            },
            Position::At {
                origin,
                revision,
                digest,
            } => Start::Resume {
                origin,
                revision,
                digest: digest.map(|digest| digest.to_bits().to_le_bytes()),
            },
            Position::Doubtful { origin } => Start::Repair { origin },
        }
    }

    pub(super) fn asked(&mut self, round: u8) {
        self.stage = Stage::Asked;
        self.round = round;
        self.compare = None;
    }

    pub(super) fn started(&mut self, revision: Revision, how: How) {
        self.base = revision;
        self.consumed = 0;
        self.failures = 0;
        self.stage = match how {
            How::Resumed => Stage::Live,
            How::Snapshot | How::Continued | How::Difference { .. } => Stage::Syncing,
        };
    }

    pub(super) fn failed(&mut self, code: Code, detail: u32, now: Instant) {
        if code == Code::Expired {
            self.stage = Stage::Ask;
            self.ask_at = now;
            return;
        }
        self.stage = Stage::Failed { code, detail };
        self.ask_at = now + wait(self.failures);
        self.failures = self.failures.saturating_add(1);
    }

    /// The revision that is meant by a difference to the last one.
    pub(super) fn revision(&mut self, delta: i64) -> Revision {
        self.base = plus(self.base, delta);
        self.base
    }

    pub(super) fn bookmarked(
        &mut self,
        revision: Revision,
        ends_snapshot: bool,
        check: Check,
        now: Instant,
    ) {
        self.base = revision;
        if ends_snapshot {
            self.stage = Stage::Live;
        }
        match check {
            Check::Agrees => self.doubts = 0,
            Check::NotCompared => {}
            Check::Differs => {
                self.stage = Stage::Ask;
                // Twice at once: by repair, then by snapshot.
                self.ask_at = match self.doubts {
                    0 | 1 => now,
                    doubts => now + wait(doubts),
                };
                self.doubts = self.doubts.saturating_add(1);
            }
        }
    }

    pub(super) fn consume(&mut self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.consumed = self.consumed.saturating_add(bytes);
    }

    /// How much to grant now of an allowance, if it is worth a frame.
    pub(super) fn grant(&self, allowance: u32) -> Option<u32> {
        let due = self.is_active() && allowance != u32::MAX && self.consumed > allowance / 2;
        due.then_some(self.consumed)
    }

    pub(super) fn granted(&mut self) {
        self.consumed = 0;
    }
}

pub(super) fn plus(revision: Revision, delta: i64) -> Revision {
    Revision::new(revision.get().wrapping_add(delta as u64))
}

fn wait(times: u8) -> Duration {
    RETRY_AFTER * (1 << times.min(3))
}
