//! A session after the node's first packet: what either end says from then on.

use super::fill::{Context, Full, Held, Packet};
use super::greeting::Greeted;
use super::source::{Access, Source};
use super::subscription::{Stage, Subscription};
use crate::link::dictionary::Sent;
use crate::link::ended::Ended;
use crate::link::frame::{Code, Control, Frame};
use crate::link::hello::{Offer, RESTARTS};
use crate::link::liveness::{Liveness, Pulse};
use crate::link::seal::Seal;
use crate::room::Room;
use crate::slots::Place;
use crate::time::Instant;

/// All but what moves bytes.
pub(super) struct State<W, H, const SUBS: usize, const KEYS: usize, R: Room, N> {
    pub(super) phase: Phase,
    /// Which both ends speak.
    pub(super) version: u8,
    pub(super) seal: Seal,
    /// What the node calls itself.
    pub(super) name: N,
    offer: Offer,
    /// The longest packet that is taken in.
    pub(super) longest: u16,
    pub(super) liveness: Liveness,
    /// Whether a packet has opened since the handshake, so that the node is surely there.
    pub(super) is_present: bool,
    pong: Option<u32>,
    /// Of which restart the node is to be told that it is noted.
    noted: Option<u32>,
    pub(super) subs: [Place<R::Part<Subscription<W>>>; SUBS],
    /// A subscription for which there is no place: sub and round.
    refused: Option<(u8, u8)>,
    /// Whose turn it is to begin a packet.
    turn: usize,
    held: Option<Held<H>>,
    dictionary: Sent<KEYS>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The node has yet to hear the answer to its first packet, of so many bytes.
    Answer(u8),
    Open,
    /// To say goodbye.
    Closing(Code),
    Over(Ended),
}

impl<W, H, const SUBS: usize, const KEYS: usize, R, N> State<W, H, SUBS, KEYS, R, N>
where
    R: Room,
    N: AsRef<str> + Clone,
{
    /// The state of a session with a node that has said this, before it is [answered](Self::answer).
    pub(super) fn new(
        greeted: &Greeted<N>,
        secret: [u8; 16],
        longest: u16,
        liveness: Liveness,
    ) -> Self {
        let offer = greeted.offer;
        let mut dictionary = Sent::new(secret);
        dictionary.agree(offer.keys, offer.key_len);
        Self {
            phase: Phase::Answer(0),
            version: greeted.version,
            seal: Seal::Plain,
            name: greeted.name.clone(),
            offer,
            longest,
            liveness,
            is_present: false,
            pong: None,
            noted: None,
            subs: [const { Place::Free }; SUBS],
            refused: None,
            turn: 0,
            held: None,
            dictionary,
        }
    }

    /// When it has something to say although nothing happens.
    pub(super) fn next_deadline(&self) -> Instant {
        match self.phase {
            Phase::Over(_) => Instant::NEVER,
            Phase::Answer(_) | Phase::Closing(_) => Instant::from_millis(0),
            Phase::Open => {
                let subs = self.subs.iter().filter_map(Place::as_ref);
                subs.map(|subscription| subscription.deadline())
                    .fold(self.liveness.deadline(), Instant::min)
            }
        }
    }

    pub(super) fn close(&mut self, code: Code) {
        match self.phase {
            Phase::Open => self.phase = Phase::Closing(code),
            Phase::Answer(_) => self.phase = Phase::Over(Ended::Here(code)),
            Phase::Closing(_) | Phase::Over(_) => {}
        }
    }

    pub(super) fn look_at_the_clock(&mut self, now: Instant) {
        if self.phase == Phase::Open && self.liveness.pulse(now) == Pulse::Gone {
            self.close(Code::Silent);
        }
    }

    pub(super) fn packet<S: Source<Watch = W>>(
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
    pub(super) fn frames<S: Source<Watch = W>>(
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
                                subscription.open(&asked, self.name.as_ref(), source, now);
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
                    if access.restarted(self.name.as_ref(), &restart) {
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
        if matches!(&self.held, Some(held) if held.item.sub == sub && held.sent == 0) {
            self.held = None;
        }
    }

    /// Writes the next packet to send; its length.
    pub(super) fn next_packet<S>(
        &mut self,
        place: &mut [u8],
        source: &S,
        now: Instant,
    ) -> Option<usize>
    where
        S: Source<Watch = W, Held = H>,
    {
        match self.phase {
            Phase::Answer(_) | Phase::Over(_) => None,
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

    fn try_fill<S>(&mut self, packet: &mut Packet<'_>, source: &S, now: Instant) -> Result<(), Full>
    where
        S: Source<Watch = W, Held = H>,
    {
        let mut context = Context {
            source,
            dictionary: &mut self.dictionary,
            object: self.offer.object as usize,
            answer: usize::from(self.longest).saturating_sub(self.seal.overhead()),
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
