//! The node's half of the handshake.

use super::state::{Guard, Phase, State};
use super::{Security, View};
use crate::link::ended::Ended;
use crate::link::frame::Code;
use crate::link::hello::{self, Answer, MAX_HELLO, OLDEST, Offer, Opening, Reply, VERSION};
use crate::link::seal::{Handshake, MESSAGE_OVERHEAD, Seal};
use crate::slots::Slots;
use crate::time::Instant;

impl<const SUBS: usize, const KEYS: usize, const KEY: usize, O> State<'_, SUBS, KEYS, KEY, O>
where
    O: Slots<u8>,
{
    /// Writes the first packet; its length. The subscriptions that fit go with it.
    pub(super) fn hello(
        &mut self,
        packet: &mut [u8],
        views: &[&mut dyn View],
        now: Instant,
    ) -> Option<usize> {
        let opening = Opening {
            oldest: OLDEST,
            newest: VERSION,
            sealed: matches!(self.config.security, Security::Sealed(_)),
            name: self.config.name,
        };
        let opening_len = opening.write(packet)?;
        let (opening, message) = packet.split_at_mut_checked(opening_len)?;
        let room = match self.config.security {
            Security::Sealed(_) => message.len().checked_sub(MESSAGE_OVERHEAD)?,
            Security::PlainText => message.len(),
        };
        let mut payload = [0; MAX_HELLO];
        let payload = payload.get_mut(..room)?;
        let offer = Offer {
            packet: self.longest,
            object: u32::try_from(self.object.as_ref().len()).unwrap_or(u32::MAX),
            keys: self.dictionary.slots(),
            key_len: self.dictionary.longest(),
        };
        let len = postcard::to_slice(&offer, payload).ok()?.len();
        let len = len + self.subscribe(payload.get_mut(len..)?, views, now);
        let payload = payload.get(..len)?;

        let guard = core::mem::replace(&mut self.guard, Guard::After(Seal::Plain));
        match (self.config.security, guard) {
            (Security::Sealed(key), Guard::Before(seed)) => {
                let mut handshake = Handshake::new(true, opening, key, &seed);
                let len = handshake.write(payload, message).ok()?;
                self.guard = Guard::During(handshake);
                Some(opening_len + len)
            }
            (Security::Sealed(_), _) => None,
            (Security::PlainText, _) => {
                message.get_mut(..len)?.copy_from_slice(payload);
                Some(opening_len + len)
            }
        }
    }

    /// The answer to the hello.
    pub(super) fn reply(&mut self, packet: &[u8]) {
        self.phase = match self.try_reply(packet) {
            Ok(()) => Phase::Open,
            Err(ended) => Phase::Over(ended),
        };
    }

    fn try_reply(&mut self, packet: &[u8]) -> Result<(), Ended> {
        let protocol = Ended::Here(Code::Protocol);
        let (version, message) = match Reply::read(packet).ok_or(protocol)? {
            Reply::Refusal(code) => return Err(Ended::Refused(code)),
            Reply::Welcome { version, message } => (version, message),
        };
        if !(OLDEST..=VERSION).contains(&version) {
            return Err(Ended::Here(Code::Version));
        }
        let mut buffer = [0; 16];
        let guard = core::mem::replace(&mut self.guard, Guard::After(Seal::Plain));
        let payload = match guard {
            Guard::During(mut handshake) => {
                let len = handshake
                    .read(message, &mut buffer)
                    .map_err(|_| Ended::Forged)?;
                self.guard = Guard::After(handshake.finish());
                buffer.get(..len).unwrap_or_default()
            }
            _ => message,
        };
        let answer: Answer = postcard::from_bytes(payload).map_err(|_| protocol)?;
        if answer.version != version || usize::from(answer.packet) < hello::MIN_PACKET {
            return Err(protocol);
        }
        self.their_longest = answer.packet;
        self.version = version;
        Ok(())
    }
}
