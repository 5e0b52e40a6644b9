//! The compact form of one event, for links where JSON is too long.
//!
//! A device does not get JSON lines but these bytes; the body is usually a
//! [projection](crate::projection) of the object. Encoding writes into a buffer of the caller,
//! decoding borrows from the bytes that came in. Damaged bytes give an error, never a panic.
//!
//! # Byte layout
//!
//! | part | bytes |
//! |---|---|
//! | kind | `00` added, `01` modified, `02` deleted |
//! | revision | varint `u64` |
//! | key | varint length, UTF-8 |
//! | body | varint length, bytes |
//!
//! A varint holds seven bits per byte, the lowest first; the high bit says that more follow. The
//! layout is postcard's for the struct [`CompactEvent`] and will not change.
//!
//! ```
//! use ringwatch_core::compact::CompactEvent;
//! use ringwatch_core::revision::Revision;
//! use ringwatch_core::transition::EventKind;
//!
//! let event =
//!     CompactEvent { kind: EventKind::Modified, revision: Revision::new(300), key: "a/b", body: &[9, 8] };
//! let mut buffer = [0; 32];
//! let bytes = event.encode(&mut buffer)?;
//! assert_eq!(
//!     bytes,
//!     [
//!         0x01, // modified
//!         0xac, 0x02, // 300 = 0x2c + (2 << 7)
//!         0x03, b'a', b'/', b'b', // key
//!         0x02, 9, 8, // body
//!     ]
//! );
//! assert_eq!(CompactEvent::decode(bytes)?, (event, &[][..]));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use core::error::Error;
use core::fmt;

use postcard::ser_flavors::Size;
use serde::{Deserialize, Serialize, Serializer};

use crate::revision::Revision;
use crate::transition::EventKind;

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactEvent<'a> {
    /// What happened.
    pub kind: EventKind,
    /// The revision to show with it.
    pub revision: Revision,
    /// The object's key.
    pub key: &'a str,
    /// The object, in a form that both sides have agreed on; empty for a deletion
    /// unless the receiver asked for the last content.
    #[serde(serialize_with = "whole")]
    pub body: &'a [u8],
}

impl<'a> CompactEvent<'a> {
    /// Encodes into the front of `buffer` and gives the part that was filled.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] says how large the buffer has to be.
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        match postcard::to_slice(self, buffer) {
            Ok(bytes) => Ok(bytes),
            Err(_) => Err(EncodeError { needed: self.len() }),
        }
    }

    /// How many bytes [`encode`](Self::encode) writes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an event is never empty")]
    pub fn len(&self) -> usize {
        postcard::serialize_with_flavor(self, Size::default()).unwrap_or(usize::MAX)
    }

    /// Decodes the event at the front of `bytes` and gives the rest.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Incomplete`] may be tried again with more bytes, [`DecodeError::Invalid`] not.
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        postcard::take_from_bytes(bytes).map_err(|error| match error {
            postcard::Error::DeserializeUnexpectedEnd => {
                DecodeError::Incomplete { len: bytes.len() }
            }
            _ => DecodeError::Invalid,
        })
    }
}

/// A buffer that cannot hold an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct EncodeError {
    /// Bytes that would have been enough.
    pub needed: usize,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the event needs {} bytes", self.needed)
    }
}

impl Error for EncodeError {}

/// Why bytes are not an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the event does.
    Incomplete {
        /// Bytes there were.
        len: usize,
    },
    /// An unknown kind, a number too large, or a key that is not UTF-8.
    Invalid,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete { len } => write!(f, "the event ends beyond {len} bytes"),
            Self::Invalid => f.write_str("not an event"),
        }
    }
}

impl Error for DecodeError {}

/// Serializes a slice in one piece; serde's own way for slices goes byte by byte.
fn whole<S: Serializer>(body: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: CompactEvent<'static> = CompactEvent {
        kind: EventKind::Deleted,
        revision: Revision::new(u64::MAX),
        key: "é",
        body: &[0xff; 200],
    };

    #[test]
    fn short_buffers_and_short_inputs_are_told_apart() {
        let mut buffer = [0; 300];
        let needed = EVENT.len();
        let mut short = [0; 20];
        assert_eq!(EVENT.encode(&mut short), Err(EncodeError { needed }));
        let bytes = EVENT.encode(&mut buffer).unwrap();
        assert_eq!(bytes.len(), needed);
        assert_eq!(CompactEvent::decode(bytes), Ok((EVENT, &[][..])));
        for len in 0..needed {
            assert_eq!(
                CompactEvent::decode(&bytes[..len]),
                Err(DecodeError::Incomplete { len })
            );
        }
    }

    #[test]
    fn unknown_kinds_and_broken_keys_are_refused() {
        assert_eq!(
            CompactEvent::decode(&[3, 0, 0, 0]),
            Err(DecodeError::Invalid)
        );
        assert_eq!(
            CompactEvent::decode(&[0, 0, 1, 0xff, 0]),
            Err(DecodeError::Invalid)
        );
    }

    #[test]
    fn what_follows_is_handed_back() {
        let event = CompactEvent {
            kind: EventKind::Added,
            revision: Revision::new(1),
            key: "",
            body: &[],
        };
        assert_eq!(
            CompactEvent::decode(&[0, 1, 0, 0, 7, 7]),
            Ok((event, &[7, 7][..]))
        );
    }
}
