//! What the log holds for each version, and how it is written. Format 1.
//!
//! The place in the log is the key of the database: the revision, then the place among the writes of that revision, both
//! most significant byte first, so that the order of the bytes is the order of the changes.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | create revision; 0 if the key was deleted |
//! | 8 | when the key goes by itself, in milliseconds since 1970; 0 for never |
//! | 4 | length of the key |
//! | n | the key |
//! | rest | the value |
//!
//! Numbers have their least significant byte first.

use bytes::{BufMut, Bytes, BytesMut};
use ringwatch_core::revision::Revision;

use super::versions::{Position, Version};
use crate::storage::StorageError;

/// Create revision, deadline, length of the key.
const HEADER: usize = 8 + 8 + 4;

/// A decoded record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// Points into what was decoded.
    key: Bytes,
    pub(super) version: Version,
    /// Milliseconds since 1970.
    pub(super) deadline: Option<u64>,
    /// Empty for a deletion.
    pub(super) value: Bytes,
}

impl Record {
    /// The bytes of a record, and the value as a part of them.
    pub(super) fn encode(
        key: &str,
        created: Revision,
        deadline: Option<u64>,
        value: &[u8],
    ) -> (Bytes, Bytes) {
        let mut bytes = BytesMut::with_capacity(HEADER + key.len() + value.len());
        bytes.put_u64_le(created.get());
        bytes.put_u64_le(deadline.unwrap_or(0));
        // A key is refused long before its length does not fit.
        bytes.put_u32_le(key.len() as u32);
        bytes.put_slice(key.as_bytes());
        bytes.put_slice(value);
        let bytes = bytes.freeze();
        let value = bytes.slice(HEADER + key.len()..);
        (bytes, value)
    }

    /// Understands the bytes at a position.
    pub(super) fn decode(position: Position, bytes: &Bytes) -> Result<Self, StorageError> {
        Self::parse(position, bytes).ok_or_else(|| {
            let revision = position.revision;
            StorageError::Damaged(format!("the record at revision {revision} is not readable"))
        })
    }

    fn parse(position: Position, bytes: &Bytes) -> Option<Self> {
        let (created, rest) = bytes.split_first_chunk()?;
        let (deadline, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        std::str::from_utf8(rest.get(..length)?).ok()?;
        let deadline = u64::from_le_bytes(*deadline);
        Some(Self {
            key: bytes.slice(HEADER..HEADER + length),
            version: Version {
                position,
                created: Revision::new(u64::from_le_bytes(*created)),
            },
            deadline: (deadline != 0).then_some(deadline),
            value: bytes.slice(HEADER + length..),
        })
    }

    pub(super) fn key(&self) -> &str {
        // `parse` checked it.
        std::str::from_utf8(&self.key).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Position = Position {
        revision: Revision::new(7),
        place: 1,
    };

    #[test]
    fn a_record_comes_back_as_it_was() {
        let (bytes, value) = Record::encode("/a", Revision::new(5), Some(9), b"xyz");
        assert_eq!(value, "xyz");
        let record = Record::decode(AT, &bytes).unwrap();
        assert_eq!(record.key(), "/a");
        assert_eq!(record.version.created, Revision::new(5));
        assert_eq!(record.version.position, AT);
        assert_eq!(record.deadline, Some(9));
        assert_eq!(record.value, "xyz");
    }

    #[test]
    fn a_torn_or_foreign_record_is_an_error() {
        let (bytes, _) = Record::encode("/key", Revision::new(5), None, b"");
        for end in 0..bytes.len() {
            assert!(Record::decode(AT, &bytes.slice(..end)).is_err());
        }
        let mut foreign = bytes.to_vec();
        foreign[HEADER] = 0xff;
        assert!(Record::decode(AT, &foreign.into()).is_err());
    }
}
