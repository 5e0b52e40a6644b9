//! The log of records, wherever it is kept.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use bytes::Bytes;
use ringwatch_core::revision::Revision;

use super::versions::Position;
use crate::storage::StorageError;

/// Records by position. One thread writes; any number read.
pub(super) trait Log: Send + Sync {
    /// Adds and removes records, all or none of them. Returns once they are as safe as they are going to be; removals alone
    /// need not be, since they can be done again.
    fn write(
        &self,
        added: Vec<(Position, Bytes)>,
        removed: Vec<Position>,
    ) -> Result<(), StorageError>;

    /// The record at a position.
    fn read(&self, position: Position) -> Result<Option<Bytes>, StorageError>;

    /// Records in order from a position on up to a revision; at least `count` if there are so many, and all of
    /// the last one's revision.
    fn scan(
        &self,
        from: Position,
        through: Revision,
        count: usize,
    ) -> Result<Vec<(Position, Bytes)>, StorageError>;

    /// Notes the revision of the oldest state that is still known. Returns once that is safe.
    fn set_floor(&self, floor: Revision) -> Result<(), StorageError>;

    /// Brings everything to where it survives.
    fn flush(&self) -> Result<(), StorageError>;
}

/// A log that ends with the process.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Held for one batch of the writer or for one chunk of a reader.
    records: RwLock<BTreeMap<Position, Bytes>>,
}

impl Log for Memory {
    fn write(
        &self,
        added: Vec<(Position, Bytes)>,
        removed: Vec<Position>,
    ) -> Result<(), StorageError> {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        records.extend(added);
        for position in removed {
            records.remove(&position);
        }
        Ok(())
    }

    fn read(&self, position: Position) -> Result<Option<Bytes>, StorageError> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        Ok(records.get(&position).cloned())
    }

    fn scan(
        &self,
        from: Position,
        through: Revision,
        count: usize,
    ) -> Result<Vec<(Position, Bytes)>, StorageError> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        let records = records.range(from..);
        let records = records.map(|(position, bytes)| Ok((*position, bytes.clone())));
        take_whole(records, through, count)
    }

    fn set_floor(&self, _: Revision) -> Result<(), StorageError> {
        Ok(())
    }

    fn flush(&self) -> Result<(), StorageError> {
        Ok(())
    }
}

/// Takes records up to a revision, at least `count`, and never a part of a revision.
pub(super) fn take_whole(
    records: impl Iterator<Item = Result<(Position, Bytes), StorageError>>,
    through: Revision,
    count: usize,
) -> Result<Vec<(Position, Bytes)>, StorageError> {
    let mut taken: Vec<(Position, Bytes)> = Vec::new();
    for record in records {
        let (position, bytes) = record?;
        let whole = taken
            .last()
            .is_none_or(|(last, _)| last.revision != position.revision);
        if position.revision > through || (whole && taken.len() >= count) {
            break;
        }
        taken.push((position, bytes));
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_never_splits_a_revision() {
        let log = Memory::default();
        let position = |revision, place| Position {
            revision: Revision::new(revision),
            place,
        };
        let places = [(2, 0), (3, 0), (3, 1), (3, 2), (4, 0), (9, 0)];
        let records = places.map(|(revision, place)| (position(revision, place), Bytes::new()));
        log.write(records.to_vec(), vec![]).unwrap();
        let scan = |from, through, count| {
            let through = Revision::new(through);
            log.scan(from, through, count).unwrap().len()
        };
        assert_eq!(scan(position(0, 0), 9, 1), 1);
        assert_eq!(scan(position(0, 0), 9, 2), 4);
        assert_eq!(scan(position(0, 0), 3, 100), 4);
        assert_eq!(scan(position(4, 0), 9, 100), 2);
    }
}
