//! The serving end of the link: one session for each node that is connected.
//!
//! ```text
//!   bytes ──► receive ──► packets ──► frames ──► subscriptions ◄── Source (store + history)
//!                                                     │
//!   bytes ◄── poll_output ◄── packet ◄── fill ◄───────┘   in turn, for as long as there is room and credit
//! ```
//!
//! A session buffers nothing but one packet and one event: what a node has not been sent yet stays where the source keeps it. A
//! node that is slow falls behind alone, and hears of it.

mod fill;
mod handshake;
mod known;
mod local;
mod restarts;
mod source;
mod subscription;

pub use known::KnownNode;
pub use local::{Local, LocalReader, LocalWatch, Selecting, Shelf};
pub use restarts::{Reported, Restarts};
pub use source::{Access, Admission, Begin, Change, Content, OpenError, Request, Source, Step};
pub use subscription::{MAX_FIELDS, MAX_PROJECTION};

use core::time::Duration;

use super::dictionary::Sent;
use super::ended::Ended;
use super::frame::{Code, Control, Frame};
use super::hello::{self, MAX_ANSWER, MAX_NAME, OLDEST, Offer, RESTARTS};
use super::liveness::{Liveness, Pulse};
use super::seal::{Seal, Seed};
use super::wire::{self, Framing, Receiver, Sender};
use crate::room::{InPlace, Room};
use crate::slots::Place;
use crate::time::Instant;
use fill::{Context, Held, Packet};
use subscription::{Stage, Subscription};

/// How a session behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// What carries the bytes.
    pub framing: Framing,
    /// How long a node may be silent before it is taken for gone; zero for any time.
    pub silence: Duration,
    /// How long a handshake may take.
    pub patience: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            framing: Framing::Stream,
            silence: Duration::from_secs(60),
            patience: Duration::from_secs(10),
        }
    }
}

/// One session with one node.
///
/// `W` and `H` are the [`Source`]'s watch and held object; `SUBS` is the most subscriptions, `PACKET` the longest packet in bytes
/// (at least 512), `KEYS` the most keys that are sent only once. With an allocator, `R` may be a [`Room`] in which subscriptions and packets take memory only
/// while there are any.
///
/// The caller moves bytes: [`receive`](Self::receive) what has come, and [`poll_output`](Self::poll_output) until there is nothing, after
/// each of: bytes that came, a change at the source, the [deadline](Self::next_deadline).
pub struct Session<
    W,
    H,
    const SUBS: usize,
    const PACKET: usize,
    const KEYS: usize,
    R: Room = InPlace,
> {
    receiver: Receiver<PACKET, R>,
    sender: Sender,
    state: State<W, H, SUBS, KEYS, R>,
}

/// All but what moves bytes.
struct State<W, H, const SUBS: usize, const KEYS: usize, R: Room> {
    phase: Phase,
    /// Which both ends speak, once it is open.
    version: u8,
    seal: Seal,
    /// What the node is called, once it has said so.
    name: heapless::String<MAX_NAME, u8>,
    offer: Offer,
    longest: u16,
    liveness: Liveness,
    /// Whether a packet has opened since the handshake, so that the node is surely there.
    is_present: bool,
    pong: Option<u32>,
    /// Of which restart the node is to be told that it is noted.
    noted: Option<u32>,
    subs: [Place<R::Part<Subscription<W>>>; SUBS],
    /// A subscription for which there is no place: sub and round.
    refused: Option<(u8, u8)>,
    /// Whose turn it is to begin a packet.
    turn: usize,
    held: Option<Held<H>>,
    dictionary: Sent<KEYS>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// The node has not said hello; it has until then. The seed is for the answer.
    Hello {
        until: Instant,
        seed: Seed,
    },
    /// This is the answer to it, and then it is open or over.
    Answer(heapless::Vec<u8, MAX_ANSWER, u8>, Option<Ended>),
    Open,
    /// To say goodbye.
    Closing(Code),
    Over(Ended),
}

impl<W, H, const SUBS: usize, const PACKET: usize, const KEYS: usize>
    Session<W, H, SUBS, PACKET, KEYS>
{
    /// A session that waits for its node, all in one value.
    pub fn new(config: Config, seed: Seed, now: Instant) -> Self {
        Self::begin(config, seed, now)
    }
}

impl<W, H, const SUBS: usize, const PACKET: usize, const KEYS: usize, R: Room>
    Session<W, H, SUBS, PACKET, KEYS, R>
{
    /// A session that waits for its node, in a room of the caller's choice.
    pub fn begin(config: Config, seed: Seed, now: Instant) -> Self {
        const {
            assert!(PACKET >= hello::MAX_HELLO, "a Hello would not fit");
            assert!(
                SUBS > 0 && SUBS <= 256,
                "subscriptions are numbered by a byte"
            );
        }
        Self {
            receiver: Receiver::new(config.framing),
            sender: Sender::new(config.framing),
            state: State {
                phase: Phase::Hello {
                    until: now + config.patience,
                    seed: seed.clone(),
                },
                version: OLDEST,
                seal: Seal::Plain,
                dictionary: Sent::new(seed.hash_key()),
                name: heapless::String::new(),
                offer: Offer {
                    packet: 0,
                    object: 0,
                    keys: 0,
                    key_len: 0,
                },
                longest: wire::longest_in(config.framing, PACKET),
                liveness: Liveness::new(config.silence, now),
                is_present: false,
                pong: None,
                noted: None,
                subs: [const { Place::Free }; SUBS],
                refused: None,
                turn: 0,
                held: None,
            },
        }
    }

    /// Takes in bytes, in whatever pieces they come.
    pub fn receive<S>(&mut self, mut bytes: &[u8], access: &impl Access, source: &S, now: Instant)
    where
        S: Source<Watch = W, Held = H>,
    {
        let state = &mut self.state;
        while !matches!(state.phase, Phase::Over(_) | Phase::Closing(_)) {
            let lenient = matches!(state.phase, Phase::Hello { .. });
            let packet = match self.receiver.take(&mut bytes, lenient) {
                Ok(Some(packet)) => packet,
                Ok(None) => return,
                Err(error) => {
                    state.phase = Phase::Over(Ended::Wire(error));
                    return;
                }
            };
            match &state.phase {
                Phase::Hello { seed, .. } => {
                    let seed = seed.clone();
                    state.hello(packet, &seed, access, source, now);
                }
                _ => state.packet(packet, access, source, now),
            }
        }
    }

    /// Writes the next bytes to send into the front of `out`, which should have room for a packet and a little more;
    /// `None` if there is nothing to send. All of them must be sent before the next call.
    pub fn poll_output<'o, S>(
        &mut self,
        source: &S,
        now: Instant,
        out: &'o mut [u8],
    ) -> Option<&'o [u8]>
    where
        S: Source<Watch = W, Held = H>,
    {
        let state = &mut self.state;
        state.look_at_the_clock(now);
        self.sender
            .send::<R, PACKET>(out, |place| state.next_packet(place, source, now))
    }

    /// When to call [`poll_output`](Self::poll_output) although nothing has happened; [`Instant::NEVER`] if then only.
    pub fn next_deadline(&self) -> Instant {
        let state = &self.state;
        match state.phase {
            Phase::Hello { until, .. } => until,
            Phase::Over(_) => Instant::NEVER,
            Phase::Answer(..) | Phase::Closing(_) => Instant::from_millis(0),
            Phase::Open => {
                let subs = state.subs.iter().filter_map(Place::as_ref);
                subs.map(|subscription| subscription.deadline())
                    .fold(state.liveness.deadline(), Instant::min)
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

    /// The node, once it has proved who it is. Before, somebody might have repeated what it once said.
    pub fn node(&self) -> Option<&str> {
        self.state.is_present.then_some(self.state.name.as_str())
    }

    /// What the node calls itself, proved or not; empty before it has said so. For taking rights away, not for giving them.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// The watch of a subscription, for a source that wants to know who reads.
    pub fn watch(&self, sub: u8) -> Option<&W> {
        let subscription = self.state.subs.get(usize::from(sub))?.as_ref()?;
        subscription.watch.as_ref()
    }
}

impl<W, H, const SUBS: usize, const KEYS: usize, R: Room> State<W, H, SUBS, KEYS, R> {
    fn close(&mut self, code: Code) {
        match self.phase {
            Phase::Open => self.phase = Phase::Closing(code),
            Phase::Hello { .. } | Phase::Answer(..) => self.phase = Phase::Over(Ended::Here(code)),
            Phase::Closing(_) | Phase::Over(_) => {}
        }
    }

    fn look_at_the_clock(&mut self, now: Instant) {
        match self.phase {
            Phase::Hello { until, .. } if now >= until => {
                self.phase = Phase::Over(Ended::Here(Code::Silent));
            }
            Phase::Open if self.liveness.pulse(now) == Pulse::Gone => self.close(Code::Silent),
            _ => {}
        }
    }

    fn packet<S: Source<Watch = W>>(
        &mut self,
        packet: &mut [u8],
        access: &impl Access,
        source: &S,
        now: Instant,
    ) {
        let Ok(frames) = self.seal.open(packet) else {
            self.phase = Phase::Over(Ended::Forged);
            return;
        };
        self.liveness.hear(now);
        self.is_present = true;
        if let Err(code) = self.frames(frames, false, access, source, now) {
            self.close(code);
        }
    }

    /// Everything that a node may say. What comes with the Hello might be an old recording: only subscriptions then.
    fn frames<S: Source<Watch = W>>(
        &mut self,
        mut frames: &[u8],
        early: bool,
        access: &impl Access,
        source: &S,
        now: Instant,
    ) -> Result<(), Code> {
        while !frames.is_empty() {
            let (frame, rest) = Frame::decode(frames).map_err(|_| Code::Protocol)?;
            frames = rest;
            let Frame::Control(control) = frame else {
                return Err(Code::Protocol);
            };
            match control {
                Control::Subscribe(asked) => {
                    self.drop_held(asked.sub);
                    match self.subs.get_mut(usize::from(asked.sub)) {
                        Some(place) => {
                            // Opened where it stays: it is long, and stacks are short.
                            *place = Place::Taken(R::make(Subscription::new(&asked, now)));
                            if let Some(subscription) = place.as_mut() {
                                subscription.open(&asked, &self.name, source, now);
                            }
                        }
                        None if self.refused.is_none() => {
                            self.refused = Some((asked.sub, asked.round));
                        }
                        // Who keeps asking does not listen.
                        None => return Err(Code::Protocol),
                    }
                }
                _ if early => return Err(Code::Protocol),
                Control::Unsubscribe { sub } => {
                    self.drop_held(sub);
                    if let Some(place) = self.subs.get_mut(usize::from(sub)) {
                        *place = Place::Free;
                    }
                }
                Control::Credit { sub, bytes } => {
                    if let Some(subscription) = self.sub(sub) {
                        subscription.grant(bytes);
                    }
                }
                Control::Buckets { sub, digests } => {
                    if let Some(subscription) = self.sub(sub) {
                        subscription.compare(digests, source, now);
                    }
                }
                Control::Ping { token } => self.pong = Some(token),
                Control::Pong { .. } => {}
                Control::Restarted(restart) if self.version >= RESTARTS => {
                    if access.restarted(&self.name, &restart) {
                        self.noted = Some(restart.boot);
                    }
                }
                Control::Goodbye { code } => {
                    self.phase = Phase::Over(Ended::ByPeer(code));
                    return Ok(());
                }
                _ => return Err(Code::Protocol),
            }
        }
        Ok(())
    }

    fn sub(&mut self, sub: u8) -> Option<&mut Subscription<W>> {
        let place = self.subs.get_mut(usize::from(sub))?;
        place.as_mut().map(|subscription| &mut **subscription)
    }

    /// What was held for a subscription that is replaced is not wanted any more, unless a part of it is out already.
    fn drop_held(&mut self, sub: u8) {
        if self
            .held
            .as_ref()
            .is_some_and(|held| held.item.sub == sub && held.sent == 0)
        {
            self.held = None;
        }
    }

    /// Writes the next packet to send; its length.
    fn next_packet<S>(&mut self, place: &mut [u8], source: &S, now: Instant) -> Option<usize>
    where
        S: Source<Watch = W, Held = H>,
    {
        match &self.phase {
            Phase::Hello { .. } | Phase::Over(_) => None,
            Phase::Answer(answer, ended) => {
                let len = answer.len();
                place.get_mut(..len)?.copy_from_slice(answer);
                self.phase = ended.map_or(Phase::Open, Phase::Over);
                Some(len)
            }
            Phase::Open | Phase::Closing(_) => {
                let limit = usize::from(self.offer.packet)
                    .min(place.len())
                    .saturating_sub(self.seal.overhead());
                match self.fill(place.get_mut(..limit)?, source, now) {
                    0 => None,
                    len => self.seal.seal(place, len),
                }
            }
        }
    }

    /// Fills a packet; its length.
    fn fill<S>(&mut self, buffer: &mut [u8], source: &S, now: Instant) -> usize
    where
        S: Source<Watch = W, Held = H>,
    {
        let mut packet = Packet::new(buffer);
        // It is over when there is no room for a frame, which leaves what it was about for the next packet.
        let _ = self.try_fill(&mut packet, source, now);
        packet.len()
    }

    fn try_fill<S>(
        &mut self,
        packet: &mut Packet<'_>,
        source: &S,
        now: Instant,
    ) -> Result<(), fill::Full>
    where
        S: Source<Watch = W, Held = H>,
    {
        let mut context = Context {
            source,
            dictionary: &mut self.dictionary,
            object: self.offer.object as usize,
            now,
        };
        // Not even the rest of an object, for a node whose key is no longer good.
        if let Phase::Closing(code) = self.phase {
            packet.control(&Control::Goodbye { code })?;
            self.phase = Phase::Over(Ended::Here(code));
            return Ok(());
        }
        // Parts come first: nothing may be between them.
        if let Some(held) = &mut self.held {
            let sub = usize::from(held.item.sub);
            let subscription = self.subs.get_mut(sub).and_then(Place::as_mut);
            let subscription = subscription.map(|subscription| &mut **subscription);
            if !context.go_on(held, subscription, packet) {
                return Ok(());
            }
            self.held = None;
        }
        if let Some(token) = self.pong {
            packet.control(&Control::Pong { token })?;
            self.pong = None;
        }
        if let Some(boot) = self.noted {
            packet.control(&Control::Noted { boot })?;
            self.noted = None;
        }
        if let Some((sub, round)) = self.refused {
            packet.control(&Control::Failed {
                sub,
                round,
                code: Code::TooMany,
                detail: SUBS as u32,
            })?;
            self.refused = None;
        }
        if self.liveness.pulse(now) == Pulse::Ping {
            packet.control(&Control::Ping { token: 0 })?;
            self.liveness.note_ping();
        }
        let first = self.turn;
        self.turn = (first + 1).checked_rem(SUBS).unwrap_or(0);
        for subscription in self.subs.iter_mut().filter_map(Place::as_mut) {
            subscription.marks_next = true;
        }
        for index in (first..SUBS).chain(0..first) {
            let Some(place) = self.subs.get_mut(index) else {
                continue;
            };
            let Some(subscription) = place.as_mut() else {
                continue;
            };
            match context.fill(index as u8, subscription, packet) {
                Ok(()) if matches!(subscription.stage, Stage::Failed { .. }) => {
                    *place = Place::Free;
                }
                Ok(()) => {}
                Err(held) => {
                    self.held = held;
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
