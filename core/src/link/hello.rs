//! The first two packets: who is there, which version, how much either end takes.

use serde::{Deserialize, Serialize};

use super::frame::Code;
use super::seal::MESSAGE_OVERHEAD;

/// The newest version. With 2 came restarts and that they are noted; before, they are not told.
pub const VERSION: u8 = 2;
/// The oldest version that is still spoken.
pub(super) const OLDEST: u8 = 1;
/// The first in which restarts are told.
pub(super) const RESTARTS: u8 = 2;
/// The longest name of a node, in bytes.
pub const MAX_NAME: usize = 63;
/// The longest first packet.
pub(super) const MAX_HELLO: usize = 512;
/// The longest answer to it: its front, and a sealed payload of a few numbers.
pub(super) const MAX_ANSWER: usize = WELCOME_HEAD + MESSAGE_OVERHEAD + MAX_ANSWER_PAYLOAD;
/// A byte, and a number of 16 bits as postcard writes it.
pub(super) const MAX_ANSWER_PAYLOAD: usize = 1 + 3;
/// Every end takes packets of this length.
pub const MIN_PACKET: usize = 128;

const MAGIC: [u8; 2] = *b"RW";
const SEALED: u8 = 1;
const HEAD: usize = 5;

/// The part of the first packet that is not sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening<'a> {
    pub(super) oldest: u8,
    pub(super) newest: u8,
    pub(super) sealed: bool,
    pub(super) name: &'a str,
}

impl<'a> Opening<'a> {
    /// Writes it to the front of a packet; its length. `None` if the name has none or too many bytes, or there is no room.
    pub(super) fn write(&self, packet: &mut [u8]) -> Option<usize> {
        let name = Some(self.name.as_bytes()).filter(|name| is_name(name))?;
        let flags = if self.sealed { SEALED } else { 0 };
        let head = [
            MAGIC[0],
            MAGIC[1],
            self.oldest,
            self.newest,
            flags,
            name.len() as u8,
        ];
        let len = head.len() + name.len();
        let (front, rest) = packet.get_mut(..len)?.split_at_mut_checked(head.len())?;
        front.copy_from_slice(&head);
        rest.copy_from_slice(name);
        Some(len)
    }

    /// Reads it off the front of a packet; also gives its bytes, and what follows them.
    pub(super) fn read(packet: &'a [u8]) -> Option<(Self, &'a [u8], &'a [u8])> {
        let &[m0, m1, oldest, newest, flags, len] = packet.first_chunk::<{ HEAD + 1 }>()?;
        let (opening, rest) = packet.split_at_checked(HEAD + 1 + usize::from(len))?;
        let name = opening.get(HEAD + 1..).filter(|name| is_name(name))?;
        if [m0, m1] != MAGIC || flags & !SEALED != 0 || oldest == 0 || newest < oldest {
            return None;
        }
        let parsed = Self {
            oldest,
            newest,
            sealed: flags & SEALED != 0,
            name: core::str::from_utf8(name).ok()?,
        };
        Some((parsed, opening, rest))
    }
}

fn is_name(name: &[u8]) -> bool {
    (1..=MAX_NAME).contains(&name.len())
}

/// What a node says of itself, at the front of the first payload; frames follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Offer {
    /// The longest packet it takes.
    pub(super) packet: u16,
    /// The longest object it takes, if that is longer than a packet.
    pub(super) object: u32,
    /// Slots in its dictionary.
    pub(super) keys: u16,
    /// The longest key in one.
    pub(super) key_len: u8,
}

/// What the serving end says, in the second payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) version: u8,
    /// The longest packet it takes.
    pub(super) packet: u16,
}

/// The front of the second packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply<'a> {
    /// Come in; the second message follows.
    Welcome {
        version: u8,
        message: &'a [u8],
    },
    Refusal(Code),
}

pub(super) const WELCOME_HEAD: usize = 3;

/// Writes the front of a welcome.
pub(super) fn write_welcome(version: u8, packet: &mut [u8]) -> Option<()> {
    *packet.first_chunk_mut::<WELCOME_HEAD>()? = [MAGIC[0], MAGIC[1], version];
    Some(())
}

/// Writes a whole refusal; its length.
pub(super) fn write_refusal(code: Code, packet: &mut [u8]) -> Option<usize> {
    write_welcome(0, packet)?;
    let rest = packet.get_mut(WELCOME_HEAD..)?;
    let len = postcard::to_slice(&code, rest).ok()?.len();
    Some(WELCOME_HEAD + len)
}

impl<'a> Reply<'a> {
    pub(super) fn read(packet: &'a [u8]) -> Option<Self> {
        let (&[m0, m1, version], rest) = packet.split_first_chunk::<WELCOME_HEAD>()?;
        if [m0, m1] != MAGIC {
            return None;
        }
        Some(match version {
            0 => Self::Refusal(postcard::from_bytes(rest).ok()?),
            version => Self::Welcome {
                version,
                message: rest,
            },
        })
    }
}
