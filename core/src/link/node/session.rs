//! The session: the node's half of the protocol.

use super::state::{Guard, Phase, Report, State};
use super::subscription::{Stage, Subscription};
use super::view::View;
use super::{Config, Wanted};
use crate::link::dictionary::Received;
use crate::link::ended::Ended;
use crate::link::frame::{Code, Control, Restart};
use crate::link::hello::{self, OLDEST, RESTARTS};
use crate::link::liveness::Liveness;
use crate::link::seal::Seed;
use crate::link::wire::{self, Receiver, Sender};
use crate::room::InPlace;
use crate::slots::Slots;
use crate::time::Instant;

/// One session of a node.
///
/// `SUBS` is the most subscriptions, `PACKET` the longest packet in bytes (at least 128), `KEYS` and `KEY` how many keys, and how long ones, need be
/// sent only once, and `O` the buffer for objects that are longer than a packet, with their keys.
///
/// The caller moves bytes: [`receive`](Self::receive) what has come, and [`poll_output`](Self::poll_output) until there is nothing, after that
/// and at the [deadline](Self::next_deadline). Each call is lent the views, one for each subscription.
pub struct Session<
    'a,
    const SUBS: usize,
    const PACKET: usize,
    const KEYS: usize,
    const KEY: usize,
    O = [u8; 0],
> {
    receiver: Receiver<PACKET>,
    sender: Sender,
    state: State<'a, SUBS, KEYS, KEY, O>,
}

/// How a subscription stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Standing {
    /// Asked for, or about to be.
    Waiting,
    /// A snapshot or a difference is coming in.
    Syncing,
    /// In step, as far as anything has come.
    Live,
    /// The other end says no. It is asked again only if the code is [temporary](Code::is_temporary).
    Failed {
        /// Why.
        code: Code,
        /// More about it.
        detail: u32,
    },
}

impl<'a, const SUBS: usize, const PACKET: usize, const KEYS: usize, const KEY: usize, O>
    Session<'a, SUBS, PACKET, KEYS, KEY, O>
where
    O: Slots<u8>,
{
    /// A session that is about to say hello. What is wanted beyond `SUBS` is not asked for. `object` is the buffer for objects that are longer than a packet; an empty
    /// one if none is wanted.
    pub fn new(
        config: Config<'a>,
        wanted: &'a [Wanted<'a>],
        object: O,
        seed: Seed,
        now: Instant,
    ) -> Self {
        const {
            assert!(PACKET >= hello::MIN_PACKET + 4, "packets must have a place");
            assert!(
                SUBS > 0 && SUBS <= 256,
                "subscriptions are numbered by a byte"
            );
        }
        Self {
            receiver: Receiver::new(config.framing),
            sender: Sender::new(config.framing),
            state: State {
                config,
                wanted,
                phase: Phase::Hello,
                guard: Guard::Before(seed),
                version: OLDEST,
                longest: wire::longest_in(config.framing, PACKET),
                their_longest: 0,
                liveness: Liveness::new(config.silence, now),
                pong: None,
                report: Report::Idle,
                subs: [const { Subscription::NEW }; SUBS],
                dictionary: Received::new(),
                object,
                assembly: None,
            },
        }
    }

    /// Takes in bytes, in whatever pieces they come, and tells the views.
    pub fn receive(&mut self, mut bytes: &[u8], views: &mut [&mut dyn View], now: Instant) {
        let state = &mut self.state;
        while !matches!(state.phase, Phase::Over(_) | Phase::Closing(_)) {
            let lenient = matches!(state.phase, Phase::Hello | Phase::Wait(_));
            let packet = match self.receiver.take(&mut bytes, lenient) {
                Ok(Some(packet)) => packet,
                Ok(None) => return,
                Err(error) => {
                    state.phase = Phase::Over(Ended::Wire(error));
                    return;
                }
            };
            state.liveness.hear(now);
            match state.phase {
                Phase::Open => state.packet(packet, views, now),
                _ => state.reply(packet),
            }
        }
    }

    /// Writes the next bytes to send into the front of `out`, which should have room for a packet and a little more;
    /// `None` if there is nothing to send. All of them must be sent before the next call.
    pub fn poll_output<'o>(
        &mut self,
        views: &[&mut dyn View],
        now: Instant,
        out: &'o mut [u8],
    ) -> Option<&'o [u8]> {
        let state = &mut self.state;
        state.look_at_the_clock(now);
        self.sender
            .send::<InPlace, PACKET>(PACKET, out, |place| state.next_packet(place, views, now))
    }

    /// Writes a packet that tells the other end of a restart into the front of `out`, which must be sent before any other. `None` if that cannot be
    /// done now: the session is not open, the other end knows nothing of restarts, or has been told of one and not [noted](Self::noted) it.
    ///
    /// To be called with the same restart, whenever there is nothing else to send, until it is noted: by this session or by another one. An end that has no room for it
    /// is told again after the next bookmark.
    pub fn report<'o>(&mut self, restart: &Restart<'_>, out: &'o mut [u8]) -> Option<&'o [u8]> {
        let state = &mut self.state;
        if state.phase != Phase::Open || state.version < RESTARTS || state.report != Report::Idle {
            return None;
        }
        self.sender.send::<InPlace, PACKET>(PACKET, out, |place| {
            let room = place.get_mut(..state.room(place.len())?)?;
            let restart = restart.within(room.len());
            let len = Control::Restarted(restart).encode(room).ok()?;
            let len = state.seal(place, len)?;
            state.report = Report::Told(restart.boot);
            Some(len)
        })
    }

    /// Whether the other end has taken note of what it was told last; said once.
    pub fn noted(&mut self) -> bool {
        let noted = self.state.report == Report::Noted;
        if noted {
            self.state.report = Report::Idle;
        }
        noted
    }

    /// When to call [`poll_output`](Self::poll_output) although nothing has come; [`Instant::NEVER`] if then only.
    pub fn next_deadline(&self) -> Instant {
        let state = &self.state;
        match state.phase {
            Phase::Hello | Phase::Closing(_) => Instant::from_millis(0),
            Phase::Wait(until) => until,
            Phase::Over(_) => Instant::NEVER,
            Phase::Open => {
                let subs = state.subs.iter().zip(state.wanted);
                let subs = subs.map(|(subscription, _)| subscription.deadline());
                subs.fold(state.liveness.deadline(), Instant::min)
            }
        }
    }

    /// Says goodbye with the next output, after which the session has ended.
    pub fn close(&mut self, code: Code) {
        self.state.close(code);
    }

    /// How the session has ended, if it has.
    pub fn ended(&self) -> Option<Ended> {
        match self.state.phase {
            Phase::Over(ended) => Some(ended),
            _ => None,
        }
    }

    /// Whether the other end has proved who it is.
    pub fn is_open(&self) -> bool {
        matches!(self.state.phase, Phase::Open)
    }

    /// How a subscription stands; `None` if there is no such number.
    pub fn standing(&self, sub: usize) -> Option<Standing> {
        self.state.wanted.get(sub)?;
        let subscription = self.state.subs.get(sub)?;
        Some(match subscription.stage {
            Stage::Ask | Stage::Asked => Standing::Waiting,
            Stage::Syncing => Standing::Syncing,
            Stage::Live => Standing::Live,
            Stage::Failed { code, detail } => Standing::Failed { code, detail },
        })
    }
}
