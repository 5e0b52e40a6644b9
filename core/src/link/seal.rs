//! Who may talk, and that nobody else listens or interferes: Noise, or nothing.
//!
//! The Noise framework is a crate's; [`noise`] wires it to the primitives. Random bytes come from the caller.

mod noise;

use core::fmt;

use noise_protocol::patterns::noise_nn_psk0;
use noise_protocol::{CipherState, HandshakeState};

use noise::{ChaChaPoly, Sha256, X25519};

type Noise = HandshakeState<X25519, ChaChaPoly, Sha256>;

/// What a sealed packet is longer than its content.
pub(super) const TAG_LEN: usize = 16;
/// What a sealed handshake message is longer than its payload: an ephemeral key and a tag.
pub(super) const MESSAGE_OVERHEAD: usize = 32 + TAG_LEN;
/// Packets in one direction after which its key is replaced.
pub const REKEY_AFTER: u64 = 1 << 16;

/// The secret that a node and its servers share.
#[derive(Clone, PartialEq, Eq)]
pub struct PresharedKey([u8; 32]);

impl PresharedKey {
    /// A key of 32 bytes, drawn at random and kept secret.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

/// Does not show the secret.
impl fmt::Debug for PresharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PresharedKey(..)")
    }
}

/// Random bytes for one session, from the best source there is. Never the same twice: a session that is begun with the
/// bytes of another can be read and forged by whoever knows the pre-shared key.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed([u8; 32]);

impl Seed {
    /// A seed of 32 random bytes. All zeros, which no random source gives, make every handshake fail.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A number that the peer and others cannot foresee; for hashing, not for keys.
    pub(super) fn hash_key(&self) -> [u8; 16] {
        let mut key = [0; 16];
        let digest = <Sha256 as noise_protocol::Hash>::hash(&self.0);
        for (byte, from) in key.iter_mut().zip(digest) {
            *byte = from;
        }
        key
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

/// A message or packet that does not open: another key, or somebody has tampered with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forged;

/// One end of a handshake of two messages.
pub(super) struct Handshake(Noise);

impl Handshake {
    pub(super) fn new(initiates: bool, opening: &[u8], key: &PresharedKey, seed: &Seed) -> Self {
        let pattern = noise_nn_psk0();
        let mut noise = Noise::new(pattern, initiates, opening, None, Some(seed.0), None, None);
        noise.push_psk(&key.0);
        Self(noise)
    }

    /// Writes this end's message; its length.
    pub(super) fn write(&mut self, payload: &[u8], out: &mut [u8]) -> Result<usize, Forged> {
        let len = payload.len() + MESSAGE_OVERHEAD;
        let out = out.get_mut(..len).ok_or(Forged)?;
        if self.0.completed() || !self.0.is_write_turn() {
            return Err(Forged);
        }
        self.0.write_message(payload, out).map_err(|_| Forged)?;
        Ok(len)
    }

    /// Reads the peer's message; the length of its payload, at the front of `out`.
    pub(super) fn read(&mut self, message: &[u8], out: &mut [u8]) -> Result<usize, Forged> {
        let len = message.len().checked_sub(MESSAGE_OVERHEAD).ok_or(Forged)?;
        let out = out.get_mut(..len).ok_or(Forged)?;
        if self.0.completed() || self.0.is_write_turn() {
            return Err(Forged);
        }
        self.0.read_message(message, out).map_err(|_| Forged)?;
        Ok(len)
    }

    /// The seals of the session, when both messages have passed.
    pub(super) fn finish(self) -> Seal {
        let (from_initiator, from_responder) = self.0.get_ciphers();
        let (send, receive) = if self.0.get_is_initiator() {
            (from_initiator, from_responder)
        } else {
            (from_responder, from_initiator)
        };
        Seal::Sealed { send, receive }
    }
}

/// How packets are protected once the handshake is through.
pub(super) enum Seal {
    /// Not at all.
    Plain,
    Sealed {
        send: CipherState<ChaChaPoly>,
        receive: CipherState<ChaChaPoly>,
    },
}

impl Seal {
    /// What it adds to a packet.
    pub(super) const fn overhead(&self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Sealed { .. } => TAG_LEN,
        }
    }

    /// Seals the first `len` bytes of a packet in place; the packet's length then. `None` if there is no room for the tag.
    pub(super) fn seal(&mut self, packet: &mut [u8], len: usize) -> Option<usize> {
        match self {
            Self::Plain => Some(len),
            Self::Sealed { send, .. } => {
                let whole = packet.get_mut(..len + TAG_LEN)?;
                let sealed = send.encrypt_in_place(whole, len);
                rekey_if_due(send);
                Some(sealed)
            }
        }
    }

    /// Opens a packet in place.
    pub(super) fn open<'p>(&mut self, packet: &'p mut [u8]) -> Result<&'p mut [u8], Forged> {
        match self {
            Self::Plain => Ok(packet),
            Self::Sealed { receive, .. } => {
                let len = packet.len();
                if len < TAG_LEN {
                    return Err(Forged);
                }
                let len = receive.decrypt_in_place(packet, len).map_err(|()| Forged)?;
                rekey_if_due(receive);
                packet.get_mut(..len).ok_or(Forged)
            }
        }
    }
}

fn rekey_if_due(cipher: &mut CipherState<ChaChaPoly>) {
    if cipher.get_next_n().is_multiple_of(REKEY_AFTER) {
        cipher.rekey();
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Sealed { .. } => "Sealed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: PresharedKey = PresharedKey::new([7; 32]);

    fn pair(key: &PresharedKey, opening: &[u8]) -> Result<(Seal, Seal), Forged> {
        let mut node = Handshake::new(true, b"opening", &KEY, &Seed::new([1; 32]));
        let mut server = Handshake::new(false, opening, key, &Seed::new([2; 32]));
        let (mut wire, mut payload) = ([0; 64], [0; 16]);
        let len = node.write(b"hello", &mut wire)?;
        let len = server.read(&wire[..len], &mut payload)?;
        assert_eq!(&payload[..len], b"hello");
        let len = server.write(b"welcome", &mut wire)?;
        let len = node.read(&wire[..len], &mut payload)?;
        assert_eq!(&payload[..len], b"welcome");
        Ok((node.finish(), server.finish()))
    }

    #[test]
    fn only_the_same_key_and_opening_get_through() {
        assert!(pair(&KEY, b"opening").is_ok());
        assert_eq!(
            pair(&PresharedKey::new([8; 32]), b"opening").err(),
            Some(Forged)
        );
        assert_eq!(pair(&KEY, b"0pening").err(), Some(Forged));
    }

    #[test]
    fn an_unset_seed_fails() {
        let mut node = Handshake::new(true, b"", &KEY, &Seed::new([0; 32]));
        let mut server = Handshake::new(false, b"", &KEY, &Seed::new([2; 32]));
        let (mut wire, mut payload) = ([0; 64], [0; 16]);
        let len = node.write(b"", &mut wire).unwrap();
        server.read(&wire[..len], &mut payload).unwrap();
        let len = server.write(b"", &mut wire).unwrap();
        assert_eq!(node.read(&wire[..len], &mut payload), Err(Forged));
    }

    #[test]
    fn packets_open_once_in_order_and_unchanged() {
        let (mut node, mut server) = pair(&KEY, b"opening").unwrap();
        let mut packets = [[0; 4 + TAG_LEN]; 3];
        for (number, packet) in packets.iter_mut().enumerate() {
            packet[0] = number as u8;
            assert_eq!(node.seal(packet, 4), Some(packet.len()));
        }
        let mut changed = packets[0];
        changed[2] ^= 1;
        assert_eq!(server.open(&mut changed), Err(Forged));
        assert_eq!(
            server.open(&mut packets[1].clone()),
            Err(Forged),
            "reordered"
        );
        assert_eq!(server.open(&mut packets[0].clone()).unwrap(), [0, 0, 0, 0]);
        assert_eq!(
            server.open(&mut packets[0].clone()),
            Err(Forged),
            "replayed"
        );
        assert_eq!(server.open(&mut packets[1].clone()).unwrap(), [1, 0, 0, 0]);
        assert_eq!(node.open(&mut packets[2].clone()), Err(Forged), "sent back");
    }

    #[test]
    fn keys_are_replaced_on_both_sides_at_once() {
        let (mut node, mut server) = pair(&KEY, b"opening").unwrap();
        let mut packet = [0; 1 + TAG_LEN];
        for number in 0..=REKEY_AFTER {
            packet[0] = number as u8;
            node.seal(&mut packet, 1).unwrap();
            assert_eq!(server.open(&mut packet).unwrap(), [number as u8]);
        }
    }
}
