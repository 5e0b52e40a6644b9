//! The event frame: made by hand, since it is the one that counts.
//!
//! ```text
//!   flags | sub | revision | key                        | mark         | body
//!   1     | 1   | signed   | known: slot                | if marked:   | unless deleted: length, bytes
//!         |     | delta    | new: slot + 1 or 0, text   | signed delta | split: total length, then length, bytes
//! ```

use super::bytes::{Reader, Writer};
use super::{Malformed, NoRoom};
use crate::key::Key;
use crate::transition::EventKind;

const EVENT: u8 = 0x80;
const MARKED: u8 = 0x20;
const SPLIT: u8 = 0x10;
const NEW: u8 = 0x08;
const SETTLES: u8 = 0x04;
const KIND: u8 = 0x03;
const UNUSED: u8 = 0x40;

/// The most bytes before the body, without the key's own: flags, sub, two deltas, slot, key's length, two lengths.
pub(in crate::link) const HEAD_MAX: usize = 2 + 10 + 10 + 3 + 2 + 5 + 5;

/// One event for one subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// Which subscription.
    pub sub: u8,
    /// What happened.
    pub kind: EventKind,
    /// Whether everything up to this revision has been sent.
    pub settles: bool,
    /// The event's revision less the last one that was named to this subscription.
    pub revision: i64,
    /// Whose event it is.
    pub key: KeyRef<'a>,
    /// In a snapshot: everything up to this key is exact at the event's revision plus this.
    pub mark: Option<i64>,
    /// The object; [`Body::None`] for deletions and only for them.
    pub body: Body<'a>,
}

/// A key, or where it is in the dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRef<'a> {
    /// In this slot.
    Known(u16),
    /// Written out.
    New {
        /// Where to enter it, if at all.
        slot: Option<u16>,
        /// The key.
        key: &'a str,
    },
}

/// How much of an object is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// There is none.
    None,
    /// All of it.
    Whole(&'a [u8]),
    /// The beginning; the rest follows in parts.
    First {
        /// How long all of it is.
        total: u32,
        /// So much for now.
        bytes: &'a [u8],
    },
}

impl<'a> Event<'a> {
    /// As [`Frame::encode`](super::Frame::encode).
    ///
    /// # Errors
    ///
    /// [`NoRoom`] if the buffer is too short.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, NoRoom> {
        let mut writer = Writer::new(buffer);
        self.write_head(&mut writer)?;
        match self.body {
            Body::None => {}
            Body::Whole(bytes) => writer.bytes(bytes)?,
            Body::First { total, bytes } => {
                writer.varint(total.into())?;
                writer.bytes(bytes)?;
            }
        }
        Ok(writer.written())
    }

    /// Encodes around a body that is already in the buffer, `len` bytes from `at` on, and moves it to its place.
    pub(in crate::link) fn encode_around(
        &self,
        buffer: &mut [u8],
        at: usize,
        len: usize,
    ) -> Result<usize, NoRoom> {
        let mut writer = Writer::new(buffer.get_mut(..at).ok_or(NoRoom)?);
        self.write_head(&mut writer)?;
        writer.varint(len as u64)?;
        let head = writer.written();
        if at + len > buffer.len() {
            return Err(NoRoom);
        }
        // It is there, and moves towards the front.
        buffer.copy_within(at..at + len, head);
        Ok(head + len)
    }

    fn write_head(&self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        writer.byte(self.flags())?;
        writer.byte(self.sub)?;
        writer.signed(self.revision)?;
        match self.key {
            KeyRef::Known(slot) => writer.varint(slot.into())?,
            KeyRef::New { slot, key } => {
                writer.varint(slot.map_or(0, |slot| u64::from(slot) + 1))?;
                writer.bytes(key.as_bytes())?;
            }
        }
        if let Some(mark) = self.mark {
            writer.signed(mark)?;
        }
        Ok(())
    }

    fn flags(&self) -> u8 {
        let kind = match self.kind {
            EventKind::Added => 0,
            EventKind::Modified => 1,
            EventKind::Deleted => 2,
        };
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        EVENT
            | kind
            | flag(self.settles, SETTLES)
            | flag(matches!(self.key, KeyRef::New { .. }), NEW)
            | flag(matches!(self.body, Body::First { .. }), SPLIT)
            | flag(self.mark.is_some(), MARKED)
    }

    /// Decodes the event at the front of a packet and gives the rest.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if there is none.
    pub fn decode(packet: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let mut reader = Reader(packet);
        let flags = reader.byte()?;
        let kind = match flags & KIND {
            0 => EventKind::Added,
            1 => EventKind::Modified,
            2 => EventKind::Deleted,
            _ => return Err(Malformed),
        };
        if flags & EVENT == 0 || flags & UNUSED != 0 {
            return Err(Malformed);
        }
        let sub = reader.byte()?;
        let revision = reader.signed()?;
        let slot = |number: u64| u16::try_from(number).map_err(|_| Malformed);
        let key = if flags & NEW == 0 {
            KeyRef::Known(slot(reader.varint()?)?)
        } else {
            let slot = match reader.varint()? {
                0 => None,
                number => Some(slot(number - 1)?),
            };
            let key = core::str::from_utf8(reader.bytes()?).map_err(|_| Malformed)?;
            let key = Key::parse(key).map_err(|_| Malformed)?.as_str();
            KeyRef::New { slot, key }
        };
        let mark = match flags & MARKED {
            0 => None,
            _ => Some(reader.signed()?),
        };
        let body = match (kind, flags & SPLIT) {
            (EventKind::Deleted, 0) => Body::None,
            (EventKind::Deleted, _) => return Err(Malformed),
            (_, 0) => Body::Whole(reader.bytes()?),
            (_, _) => {
                let total = u32::try_from(reader.varint()?).map_err(|_| Malformed)?;
                let bytes = reader.bytes()?;
                // A part that is all, or more, is not a part.
                if bytes.len() as u64 >= total.into() {
                    return Err(Malformed);
                }
                Body::First { total, bytes }
            }
        };
        let event = Self {
            sub,
            kind,
            settles: flags & SETTLES != 0,
            revision,
            key,
            mark,
            body,
        };
        Ok((event, reader.0))
    }
}
