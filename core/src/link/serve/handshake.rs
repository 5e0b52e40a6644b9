//! The serving end's half of the handshake.

use super::source::{Access, Admission, Source};
use super::{Phase, State};
use crate::link::ended::Ended;
use crate::link::frame::Code;
use crate::link::hello::{self, Answer, OLDEST, Opening, VERSION};
use crate::link::seal::Handshake;
use crate::room::Room;
use crate::time::Instant;

impl<W, H, const SUBS: usize, const KEYS: usize, R: Room> State<W, H, SUBS, KEYS, R> {
    /// The first packet. The answer is written to `buffer`.
    pub(super) fn hello<S: Source<Watch = W>>(
        &mut self,
        packet: &[u8],
        buffer: &mut [u8],
        access: &impl Access,
        source: &S,
        now: Instant,
    ) {
        let answer = match self.try_hello(packet, buffer, access, source, now) {
            Ok(len) => Some((len, None)),
            Err(code) => {
                hello::write_refusal(code, buffer).map(|len| (len, Some(Ended::Here(code))))
            }
        };
        self.liveness.hear(now);
        self.phase = match answer {
            Some((len, ended)) => Phase::Answer(len, ended),
            None => Phase::Over(Ended::Here(Code::Unsupported)),
        };
    }

    fn try_hello<S: Source<Watch = W>>(
        &mut self,
        packet: &[u8],
        buffer: &mut [u8],
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
            (Admission::Sealed(key), true) => {
                Some(Handshake::new(false, prologue, &key, &self.seed))
            }
            (Admission::Plain, false) => None,
            _ => return Err(Code::Refused),
        };
        self.name = opening.name.try_into().map_err(|_| Code::Protocol)?;
        let payload = match &mut handshake {
            Some(handshake) => {
                let len = handshake.read(message, buffer).map_err(|_| Code::Refused)?;
                buffer.get(..len).unwrap_or_default()
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

        let answer = Answer {
            version,
            packet: self.longest,
        };
        let mut payload = [0; 8];
        let payload = postcard::to_slice(&answer, &mut payload).map_err(|_| Code::Unsupported)?;
        hello::write_welcome(version, buffer).ok_or(Code::Unsupported)?;
        let message = buffer.get_mut(hello::WELCOME_HEAD..).unwrap_or_default();
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
