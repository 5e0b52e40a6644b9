//! The log in a folder on disk. The only file that knows which database that is.
//!
//! | keyspace | key | value |
//! |---|---|---|
//! | `log` | position: revision, place | [record](super::record) |
//! | `about` | `format` | 1, in four bytes |
//! | `about` | `floor` | the revision of the oldest known state, in eight bytes |

use std::path::Path;

use bytes::Bytes;
use fjall::{Keyspace, KeyspaceCreateOptions, PersistMode};
use ringwatch_core::revision::Revision;

use super::folder::Folder;
use super::log::{Log, take_whole};
use super::options::Durability;
use super::versions::Position;
use crate::storage::StorageError;

/// What is written by this version, and all that it reads.
const FORMAT: u32 = 1;

/// How much is in memory before it is sorted into files.
const MEMTABLE_BYTES: u64 = 32 * 1024 * 1024;

/// How large the journal may become: opening after a crash reads it. The least that the database takes.
const JOURNAL_BYTES: u64 = 64 * 1024 * 1024;

/// Blocks of files kept in memory for reads of old values.
const BLOCK_CACHE_BYTES: u64 = 16 * 1024 * 1024;

/// A log on disk.
pub(super) struct Database {
    store: Store,
    /// How commits are made safe.
    mode: PersistMode,
    /// Let go after the database is closed: fields are dropped in order.
    _folder: Folder,
}

impl Database {
    /// Opens the folder, or makes it; also the floor.
    pub(super) fn open(
        path: &Path,
        durability: Durability,
    ) -> Result<(Self, Revision), StorageError> {
        let folder = Folder::take(path)?;
        let open = |store: &Path| {
            Store::open(store).map_err(|error| {
                StorageError::Damaged(format!("{} cannot be opened: {error}", path.display()))
            })
        };
        let store = folder.store(|new| {
            let store = open(new)?;
            store.note("format", &FORMAT.to_be_bytes(), PersistMode::SyncAll)
        })?;
        let opened = Self {
            store: open(&store)?,
            mode: match durability {
                Durability::Fsync => PersistMode::SyncData,
                Durability::None => PersistMode::Buffer,
            },
            _folder: folder,
        };
        opened.check_format(path)?;
        let floor = opened.store.number("floor")?.map_or(0, u64::from_be_bytes);
        Ok((opened, Revision::new(floor)))
    }

    fn check_format(&self, path: &Path) -> Result<(), StorageError> {
        let path = path.display();
        match self.store.number("format")?.map(u32::from_be_bytes) {
            Some(FORMAT) => Ok(()),
            Some(format) => Err(StorageError::Damaged(format!(
                "{path} has format {format}; this version reads format {FORMAT}"
            ))),
            None => Err(StorageError::Damaged(format!("{path} has no format"))),
        }
    }
}

/// The database and its parts.
struct Store {
    database: fjall::Database,
    log: Keyspace,
    about: Keyspace,
}

impl Store {
    fn open(path: &Path) -> fjall::Result<Self> {
        let database = fjall::Database::builder(path)
            .cache_size(BLOCK_CACHE_BYTES)
            .max_journaling_size(JOURNAL_BYTES)
            .worker_threads(1)
            .open()?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        Ok(Self {
            log: database.keyspace("log", options)?,
            about: database.keyspace("about", options)?,
            database,
        })
    }

    fn number<const N: usize>(&self, name: &str) -> Result<Option<[u8; N]>, StorageError> {
        let Some(bytes) = self.about.get(name).map_err(failed)? else {
            return Ok(None);
        };
        let damaged = || StorageError::Damaged(format!("`{name}` has {} bytes", bytes.len()));
        Ok(Some(bytes.as_ref().try_into().map_err(|_| damaged())?))
    }

    fn note(&self, name: &str, bytes: &[u8], mode: PersistMode) -> Result<(), StorageError> {
        let mut batch = self.database.batch().durability(Some(mode));
        batch.insert(&self.about, name, bytes);
        batch.commit().map_err(failed)
    }
}

impl Log for Database {
    fn write(
        &self,
        added: Vec<(Position, Bytes)>,
        removed: Vec<Position>,
    ) -> Result<(), StorageError> {
        let mode = if added.is_empty() {
            PersistMode::Buffer
        } else {
            self.mode
        };
        let mut batch = fjall::OwnedWriteBatch::with_capacity(
            self.store.database.clone(),
            added.len() + removed.len(),
        )
        .durability(Some(mode));
        for (position, bytes) in added {
            batch.insert(&self.store.log, key(position), bytes);
        }
        for position in removed {
            batch.remove(&self.store.log, key(position));
        }
        batch.commit().map_err(failed)
    }

    fn read(&self, position: Position) -> Result<Option<Bytes>, StorageError> {
        let found = self.store.log.get(key(position)).map_err(failed)?;
        Ok(found.map(|bytes| own(&bytes)))
    }

    fn scan(
        &self,
        from: Position,
        through: Revision,
        count: usize,
    ) -> Result<Vec<(Position, Bytes)>, StorageError> {
        let records = self.store.log.range(key(from)..).map(|entry| {
            let (key, bytes) = entry.into_inner().map_err(failed)?;
            Ok((position(&key)?, own(&bytes)))
        });
        take_whole(records, through, count)
    }

    fn set_floor(&self, floor: Revision) -> Result<(), StorageError> {
        self.store
            .note("floor", &floor.get().to_be_bytes(), self.mode)
    }

    fn flush(&self) -> Result<(), StorageError> {
        self.store
            .database
            .persist(PersistMode::SyncAll)
            .map_err(failed)
    }
}

/// A copy, since what the database hands out keeps a whole block of the file in memory.
fn own(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

fn key(position: Position) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&position.revision.get().to_be_bytes());
    key[8..].copy_from_slice(&position.place.to_be_bytes());
    key
}

fn position(key: &[u8]) -> Result<Position, StorageError> {
    let parts = key
        .split_first_chunk()
        .and_then(|(revision, place)| Some((revision, place.try_into().ok()?)));
    let Some((revision, place)) = parts else {
        let length = key.len();
        return Err(StorageError::Damaged(format!(
            "the log has a key of {length} bytes"
        )));
    };
    Ok(Position {
        revision: Revision::new(u64::from_be_bytes(*revision)),
        place: u32::from_be_bytes(place),
    })
}

fn failed(error: fjall::Error) -> StorageError {
    StorageError::Unavailable(format!("the database failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_of_the_future_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (database, floor) = Database::open(folder.path(), Durability::None).unwrap();
        assert_eq!(floor, Revision::ZERO);
        let format = 9u32.to_be_bytes();
        database
            .store
            .note("format", &format, PersistMode::SyncAll)
            .unwrap();
        drop(database);
        let refused = Database::open(folder.path(), Durability::None).err();
        let Some(StorageError::Damaged(why)) = refused else {
            panic!("{refused:?}");
        };
        let name = folder.path().display().to_string();
        assert!(why.contains(&name) && why.contains("format 9"), "{why}");
    }

    #[test]
    fn the_order_of_keys_is_the_order_of_positions() {
        let at = |revision, place| Position {
            revision: Revision::new(revision),
            place,
        };
        let positions = [at(0, 1), at(1, 0), at(1, 255), at(1, 256), at(256, 0)];
        assert!(positions.map(key).is_sorted());
        for one in positions {
            assert_eq!(position(&key(one)), Ok(one));
        }
        assert!(position(&[0; 11]).is_err() && position(&[0; 13]).is_err());
    }
}
