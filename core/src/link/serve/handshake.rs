//! The serving end's half of the handshake.

use super::source::{Access, Admission, Source};
use super::{Phase, State};
use crate::link::ended::Ended;
use crate::link::frame::Code;
use crate::link::hello::{
    self, Answer, MAX_ANSWER, MAX_ANSWER_PAYLOAD, MAX_HELLO, OLDEST, Opening, VERSION,
};
use crate::link::seal::{Handshake, Seed};
use crate::room::Room;
use crate::time::Instant;

impl<W, H, const SUBS: usize, const KEYS: usize, R: Room> State<W, H, SUBS, KEYS, R> {
    /// The first packet.
    pub(super) fn hello<S: Source<Watch = W>>(
        &mut self,
        packet: &[u8],
        seed: &Seed,
        access: &impl Access,
        source: &S,
        now: Instant,
    ) {
        let mut answer = [0; MAX_ANSWER];
        let (len, ended) = match self.try_hello((packet, seed), &mut answer, access, source, now) {
            Ok(len) => (Some(len), None),
            Err(code) => (
                hello::write_refusal(code, &mut answer),
                Some(Ended::Here(code)),
            ),
        };
        self.liveness.hear(now);
        let answer = len.and_then(|len| heapless::Vec::from_slice(answer.get(..len)?).ok());
        self.phase = match answer {
            Some(answer) => Phase::Answer(answer, ended),
            None => Phase::Over(Ended::Here(Code::Unsupported)),
        };
    }

    fn try_hello<S: Source<Watch = W>>(
        &mut self,
        (packet, seed): (&[u8], &Seed),
        answer: &mut [u8],
        access: &impl Access,
        source: &S,
        now: Instant,
    ) -> Result<usize, Code> {
        let (opening, prologue, message) = Opening::read(packet).ok_or(Code::Protocol)?;
        // The newest that both know.
        let version = opening.newest.min(VERSION);
        if version < opening.oldest.max(OLDEST) {
            return Err(Code::Version);
        }
        self.version = version;
        let mut handshake = match (access.admit(opening.name, opening.sealed), opening.sealed) {
            (Admission::Sealed(key), true) => Some(Handshake::new(false, prologue, &key, seed)),
            (Admission::Plain, false) => None,
            _ => return Err(Code::Refused),
        };
        self.name = opening.name.try_into().map_err(|_| Code::Protocol)?;
        let mut opened = [0; MAX_HELLO];
        let payload = match &mut handshake {
            Some(handshake) => {
                let len = handshake.read(message, &mut opened);
                let len = len.map_err(|_| Code::Refused)?;
                opened.get(..len).unwrap_or_default()
            }
            None => message,
        };
        let (offer, frames) = postcard::take_from_bytes(payload).map_err(|_| Code::Protocol)?;
        self.offer = offer;
        if usize::from(self.offer.packet) < hello::MIN_PACKET {
            return Err(Code::Unsupported);
        }
        self.dictionary.agree(self.offer.keys, self.offer.key_len);
        self.frames(frames, true, access, source, now)?;

        let said = Answer {
            version,
            packet: self.longest,
        };
        let mut payload = [0; MAX_ANSWER_PAYLOAD];
        let payload = postcard::to_slice(&said, &mut payload).map_err(|_| Code::Unsupported)?;
        hello::write_welcome(version, answer).ok_or(Code::Unsupported)?;
        let message = answer.get_mut(hello::WELCOME_HEAD..).unwrap_or_default();
        let len = match handshake {
            Some(mut handshake) => {
                let len = handshake
                    .write(payload, message)
                    .map_err(|_| Code::Refused)?;
                self.seal = handshake.finish();
                len
            }
            None => {
                let place = message.get_mut(..payload.len()).ok_or(Code::Unsupported)?;
                place.copy_from_slice(payload);
                payload.len()
            }
        };
        Ok(hello::WELCOME_HEAD + len)
    }
}
