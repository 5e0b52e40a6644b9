//! The first packet of a node, and the answer to it.
//!
//! Until it has come a session needs nothing but room for it, which is then room for all the rest.

use super::source::{Access, Admission};
use super::state::{Phase, State};
use crate::link::frame::Code;
use crate::link::hello::{
    self, Answer, MAX_ANSWER, MAX_ANSWER_PAYLOAD, MAX_HELLO, MIN_PACKET, OLDEST, Offer, Opening,
    VERSION,
};
use crate::link::liveness::Liveness;
use crate::link::seal::{Handshake, Seed};
use crate::link::wire::Receiver;
use crate::room::Room;
use crate::time::Instant;

/// Room for a first packet and, on a serial line, its checksum.
const ROOM: usize = MAX_HELLO + 4;

/// The answer waits where later packets come in.
const _: () = assert!(MAX_ANSWER <= MIN_PACKET);

/// Before the first packet.
pub(super) struct Greeting<R: Room> {
    pub(super) receiver: Receiver<ROOM, R>,
    /// So long it may take.
    pub(super) until: Instant,
    pub(super) seed: Seed,
    /// For later.
    pub(super) liveness: Liveness,
}

/// What a node has said in its first packet.
pub(super) struct Greeted<N> {
    pub(super) version: u8,
    pub(super) name: N,
    pub(super) offer: Offer,
    /// If the rest is to be sealed.
    pub(super) handshake: Option<Handshake>,
    /// Where its frames are in what was opened.
    pub(super) frames: core::ops::Range<usize>,
}

/// Why a node is not let in, and what it calls itself if it has said so.
pub(super) struct Refused<N> {
    pub(super) code: Code,
    pub(super) name: Option<N>,
}

impl<N> From<Code> for Refused<N> {
    fn from(code: Code) -> Self {
        Self { code, name: None }
    }
}

impl<N: Clone> Greeted<N> {
    /// Reads a first packet, and opens it into `opened`. Apart, as is the [answer](State::answer): a handshake needs much stack twice, but not at once.
    #[inline(never)]
    pub(super) fn read(
        packet: &[u8],
        seed: &Seed,
        access: &impl Access<Name = N>,
        opened: &mut [u8; MAX_HELLO],
    ) -> Result<Self, Refused<N>> {
        let (opening, prologue, message) = Opening::read(packet).ok_or(Code::Protocol)?;
        // The newest that both know.
        let version = opening.newest.min(VERSION);
        if version < opening.oldest.max(OLDEST) {
            return Err(Code::Version.into());
        }
        let mut handshake = match (access.admit(opening.name, opening.sealed), opening.sealed) {
            (Admission::Sealed(key), true) => Some(Handshake::new(false, prologue, &key, seed)),
            (Admission::Plain, false) => None,
            _ => return Err(Code::Refused.into()),
        };
        let name = access.name(opening.name).ok_or(Code::Refused)?;
        let refused = |code| Refused {
            code,
            name: Some(name.clone()),
        };
        let len = match &mut handshake {
            Some(handshake) => handshake.read(message, opened).ok(),
            None => opened.get_mut(..message.len()).map(|place| {
                place.copy_from_slice(message);
                message.len()
            }),
        };
        let len = len.ok_or(Code::Refused).map_err(refused)?;
        let payload = opened.get(..len).unwrap_or_default();
        let offer = postcard::take_from_bytes::<Offer>(payload);
        let (offer, frames) = offer.map_err(|_| refused(Code::Protocol))?;
        if usize::from(offer.packet) < MIN_PACKET {
            return Err(refused(Code::Unsupported));
        }
        let frames = len - frames.len()..len;
        Ok(Self {
            version,
            name,
            offer,
            handshake,
            frames,
        })
    }
}

impl<W, H, const SUBS: usize, const KEYS: usize, R, N> State<W, H, SUBS, KEYS, R, N>
where
    R: Room,
    N: AsRef<str> + Clone,
{
    /// Prepares the answer to the first packet. From then on packets are sealed, if they are to be.
    #[inline(never)]
    pub(super) fn answer(
        &mut self,
        handshake: Option<Handshake>,
        answer: &mut [u8],
        now: Instant,
    ) -> Result<(), Code> {
        self.liveness.hear(now);
        let said = Answer {
            version: self.version,
            packet: self.longest,
        };
        let mut payload = [0; MAX_ANSWER_PAYLOAD];
        let payload = postcard::to_slice(&said, &mut payload).map_err(|_| Code::Unsupported)?;
        hello::write_welcome(self.version, answer).ok_or(Code::Unsupported)?;
        let message = answer.get_mut(hello::WELCOME_HEAD..).unwrap_or_default();
        let len = match handshake {
            Some(mut handshake) => {
                let len = handshake.write(payload, message);
                self.seal = handshake.finish();
                len.map_err(|_| Code::Refused)?
            }
            None => {
                let place = message.get_mut(..payload.len()).ok_or(Code::Unsupported)?;
                place.copy_from_slice(payload);
                payload.len()
            }
        };
        self.phase = Phase::Answer((hello::WELCOME_HEAD + len) as u8);
        Ok(())
    }
}
