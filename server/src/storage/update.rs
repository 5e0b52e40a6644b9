//! Read, change, write, and again if someone else was faster.

use bytes::Bytes;
use ringwatch_core::revision::Revision;

use super::{Condition, KeyValue, Outcome, Storage, StorageError, Ttl, Write};

/// The result of a [`guaranteed_update`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updated {
    /// The value that is stored now.
    pub value: Bytes,
    /// The key's mod revision.
    pub revision: Revision,
    /// Whether anything was written. If the new value is what was stored, nothing is, and no watcher hears of it.
    pub written: bool,
}

/// Why a [`guaranteed_update`] did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateError<E> {
    /// The key does not exist.
    NotFound,
    /// The caller's function said no, having seen the newest value.
    Rejected(E),
    /// The stored value cannot be read.
    Corrupt,
    /// The store failed.
    Storage(StorageError),
}

impl<E> From<StorageError> for UpdateError<E> {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

/// Changes a key by a function of its value, repeated until no one else changed it in between.
///
/// `hint` is what the caller believes the key to be, for example from a cache: it saves a read when it
/// is true, and is never the reason for a refusal or for leaving the store as it is. `ttl` limits the life of the
/// new value. `change` may be called several times.
pub async fn guaranteed_update<E, F>(
    storage: &dyn Storage,
    key: &str,
    hint: Option<KeyValue>,
    ttl: Ttl,
    mut change: F,
) -> Result<Updated, UpdateError<E>>
where
    F: FnMut(&KeyValue) -> Result<Bytes, E>,
{
    let mut fresh = hint.is_none();
    let mut base = match hint {
        Some(hint) => hint,
        None => read(storage, key).await?,
    };
    loop {
        let decided = decide(&base, &mut change);
        // What a hint suggests is only acted on by a compare-and-swap, which finds out. Everything else
        // is decided on the stored value.
        if !fresh && !matches!(decided, Decision::Write(_)) {
            let newest = read(storage, key).await?;
            fresh = true;
            if newest.mod_revision != base.mod_revision || newest.condition != base.condition {
                base = newest;
                continue;
            }
        }
        let value = match decided {
            Decision::Corrupt => return Err(UpdateError::Corrupt),
            Decision::Reject(error) => return Err(UpdateError::Rejected(error)),
            Decision::Keep => {
                return Ok(Updated {
                    value: base.value,
                    revision: base.mod_revision,
                    written: false,
                });
            }
            Decision::Write(value) => value,
        };
        let write = Write {
            ttl,
            ..Write::update(key, base.mod_revision, value.clone())
        };
        match storage.commit(vec![write]).await? {
            Outcome::Committed(revision) => {
                return Ok(Updated {
                    value,
                    revision,
                    written: true,
                });
            }
            Outcome::Conflict { current, .. } => {
                base = current
                    .into_iter()
                    .next()
                    .flatten()
                    .ok_or(UpdateError::NotFound)?;
                fresh = true;
            }
        }
    }
}

enum Decision<E> {
    Write(Bytes),
    Keep,
    Reject(E),
    Corrupt,
}

fn decide<E>(
    base: &KeyValue,
    change: &mut impl FnMut(&KeyValue) -> Result<Bytes, E>,
) -> Decision<E> {
    if base.condition == Condition::Corrupt {
        return Decision::Corrupt;
    }
    match change(base) {
        Err(error) => Decision::Reject(error),
        Ok(value) if value == base.value && base.condition == Condition::Sound => Decision::Keep,
        Ok(value) => Decision::Write(value),
    }
}

async fn read<E>(storage: &dyn Storage, key: &str) -> Result<KeyValue, UpdateError<E>> {
    storage.get(key).await?.found.ok_or(UpdateError::NotFound)
}
