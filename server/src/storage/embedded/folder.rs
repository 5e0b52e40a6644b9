//! The folder of a store: who holds it, and where in it the database is.
//!
//! ```text
//!   folder/lock        held by the process that has the store open
//!   folder/store       the database
//!   folder/store.new   a database in the making; what is left of one is removed
//! ```
//!
//! A database takes several files to make, and one that was killed halfway through cannot be opened, or made
//! again in the same place. So it is made beside its place and moved there when it is whole.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::storage::StorageError;

/// A folder that nobody else has. Dropping it lets it go.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Locked as long as it is open; the system unlocks it if the process dies.
    _lock: File,
}

impl Folder {
    /// Takes the folder, and makes it if there is none.
    pub(super) fn take(path: &Path) -> Result<Self, StorageError> {
        let name = path.display();
        let failed =
            |error: io::Error| StorageError::Damaged(format!("{name} cannot be opened: {error}"));
        fs::create_dir_all(path).map_err(failed)?;
        let lock = File::create(path.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => {
                let why = format!("{name} is in use by another process");
                Err(StorageError::Damaged(why))
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Where the database is. If there is none, `make` makes one in the folder it is given.
    pub(super) fn store(
        &self,
        make: impl FnOnce(&Path) -> Result<(), StorageError>,
    ) -> Result<PathBuf, StorageError> {
        let store = self.path.join("store");
        if self.check(store.try_exists())? {
            return Ok(store);
        }
        let new = self.path.join("store.new");
        if self.check(new.try_exists())? {
            self.check(fs::remove_dir_all(&new))?;
        }
        make(&new)?;
        self.check(fs::rename(&new, &store))?;
        // The new name has to be on disk before anything is promised to be in the store.
        self.check(File::open(&self.path).and_then(|folder| folder.sync_all()))?;
        Ok(store)
    }

    fn check<T>(&self, result: io::Result<T>) -> Result<T, StorageError> {
        result.map_err(|error| StorageError::Damaged(format!("{}: {error}", self.path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_half_made_is_made_anew() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::take(temporary.path()).unwrap();
        let failed = folder.store(|new| {
            fs::create_dir(new).unwrap();
            fs::write(new.join("half"), "").unwrap();
            Err(StorageError::Damaged("killed".to_owned()))
        });
        assert!(failed.is_err());
        let store = folder.store(|new| {
            assert!(!new.exists(), "something was left");
            fs::create_dir(new).unwrap();
            fs::write(new.join("whole"), "").unwrap();
            Ok(())
        });
        let store = store.unwrap();
        assert!(store.join("whole").exists());
        // It is there now, so nothing is made.
        assert_eq!(folder.store(|_| panic!("made twice")), Ok(store));
    }

    #[test]
    fn a_folder_is_held_by_one() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::take(temporary.path()).unwrap();
        let second = Folder::take(temporary.path()).err();
        assert!(matches!(second, Some(StorageError::Damaged(why)) if why.contains("in use")));
        drop(folder);
        assert!(Folder::take(temporary.path()).is_ok());
    }
}
