//! What can go wrong with a read from the cache.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use ringwatch_core::revision::Revision;

use crate::storage::StorageError;

/// Why the cache could not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheError {
    /// It has no state yet. Try again soon.
    NotReady {
        /// What stands in the way, if it is known.
        why: Option<String>,
        /// For how long it has had none.
        pending: Duration,
    },
    /// The revision is too old: begin again from a list.
    Expired {
        /// What was asked for.
        requested: Revision,
        /// The oldest revision that would do.
        floor: Revision,
    },
    /// The revision was not reached in time.
    TooLarge {
        /// What was asked for.
        requested: Revision,
        /// The newest revision known.
        newest: Revision,
    },
    /// The storage behind it failed.
    Storage(StorageError),
}

impl From<StorageError> for CacheError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReady { why: None, .. } => f.write_str("storage is (re)initializing"),
            Self::NotReady { why: Some(why), .. } => {
                write!(f, "storage is (re)initializing: {why}")
            }
            Self::Expired { requested, floor } => {
                write!(f, "too old resource version: {requested} ({floor})")
            }
            Self::TooLarge { requested, newest } => {
                write!(
                    f,
                    "Too large resource version: {requested}, current: {newest}"
                )
            }
            Self::Storage(error) => error.fmt(f),
        }
    }
}

impl Error for CacheError {}
