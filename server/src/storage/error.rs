//! What can go wrong with a store.

use std::error::Error;
use std::fmt;

use ringwatch_core::revision::Revision;

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StorageError {
    /// The revision is no longer known. List anew.
    Compacted {
        /// The oldest revision that is, if the store says so.
        floor: Option<Revision>,
    },
    /// The revision is not reached yet.
    Future {
        /// The newest revision, if the store says so.
        newest: Option<Revision>,
    },
    /// The request itself cannot be served, now or later: too many writes, a value too large.
    Refused(String),
    /// The store cannot be reached or does not answer. Whether a write was done is not known. Try again.
    Unavailable(String),
    /// The store is damaged, or its files are in use by someone else.
    Damaged(String),
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compacted { floor: Some(floor) } => {
                write!(f, "revision has been compacted; the oldest is {floor}")
            }
            Self::Compacted { floor: None } => f.write_str("revision has been compacted"),
            Self::Future {
                newest: Some(newest),
            } => {
                write!(f, "revision is in the future; the newest is {newest}")
            }
            Self::Future { newest: None } => f.write_str("revision is in the future"),
            Self::Refused(why) => write!(f, "storage refuses: {why}"),
            Self::Unavailable(why) => write!(f, "storage is unavailable: {why}"),
            Self::Damaged(why) => write!(f, "storage is damaged: {why}"),
        }
    }
}

impl Error for StorageError {}
