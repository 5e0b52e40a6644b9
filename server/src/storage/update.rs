//! Read, change, write, and again if someone else was faster.

use bytes::Bytes;
use ringwatch_core::revision::Revision;

use super::{Condition, KeyValue, Outcome, Storage, StorageError, Ttl, Write};

/// What a [`guaranteed_change`] does to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A new value, for as long as it says.
    Put(Bytes, Ttl),
    /// The end of the key.
    Delete,
    /// Nothing.
    Keep,
}

/// The result of a [`guaranteed_change`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed<T> {
    /// The key as it was.
    pub before: Option<KeyValue>,
    /// What was done.
    pub change: Change,
    /// The revision at which it was done; of the key as it was if nothing was.
    pub revision: Revision,
    /// What the caller's function had to say besides.
    pub note: T,
}

/// Why a [`guaranteed_change`] did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeError<E> {
    /// The caller's function said no, having seen the newest value.
    Rejected(E),
    /// The store failed.
    Storage(StorageError),
}

impl<E> From<StorageError> for ChangeError<E> {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

/// Decides about a key by a function of what it is, repeated until no one else changed it in between.
///
/// `hint` is what the caller believes the key to be, for example from a cache: it saves a read when it
/// is true, and is never the reason for a refusal or for leaving the store as it is. `decide` may be called several times; it gets
/// `None` for a key that does not exist, and values that cannot be read too.
pub async fn guaranteed_change<T, E, F>(
    storage: &dyn Storage,
    key: &str,
    hint: Option<KeyValue>,
    mut decide: F,
) -> Result<Changed<T>, ChangeError<E>>
where
    F: FnMut(Option<&KeyValue>) -> Result<(Change, T), E>,
{
    let mut fresh = hint.is_none();
    let mut base = match hint {
        Some(hint) => Some(hint),
        None => storage.get(key).await?.found,
    };
    loop {
        let decided = decide(base.as_ref());
        // What a hint suggests is only acted on by a compare-and-swap, which finds out. Everything else
        // is decided on the stored value.
        if !fresh && matches!(decided, Err(_) | Ok((Change::Keep, _))) {
            let newest = storage.get(key).await?.found;
            fresh = true;
            let seen = |base: &Option<KeyValue>| {
                base.as_ref()
                    .map(|base| (base.mod_revision, base.condition))
            };
            if seen(&newest) != seen(&base) {
                base = newest;
                continue;
            }
        }
        let (change, note) = decided.map_err(ChangeError::Rejected)?;
        let expected = base
            .as_ref()
            .map_or(Revision::ZERO, |base| base.mod_revision);
        let write = match &change {
            Change::Put(value, ttl) => Write {
                ttl: *ttl,
                ..Write::update(key, expected, value.clone())
            },
            Change::Delete if base.is_some() => Write::delete(key, expected),
            Change::Delete | Change::Keep => {
                return Ok(Changed {
                    before: base,
                    change: Change::Keep,
                    revision: expected,
                    note,
                });
            }
        };
        match storage.commit(vec![write]).await? {
            Outcome::Committed(revision) => {
                return Ok(Changed {
                    before: base,
                    change,
                    revision,
                    note,
                });
            }
            Outcome::Conflict { current, .. } => {
                base = current.into_iter().next().flatten();
                fresh = true;
            }
        }
    }
}

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

/// Changes the value of a key that exists by a function of it: a [`guaranteed_change`] that neither creates nor deletes.
///
/// `ttl` limits the life of the new value. `change` may be called several times.
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
    let decide = |base: Option<&KeyValue>| {
        let base = base.ok_or(UpdateError::NotFound)?;
        if base.condition == Condition::Corrupt {
            return Err(UpdateError::Corrupt);
        }
        let value = change(base).map_err(UpdateError::Rejected)?;
        let same = value == base.value && base.condition == Condition::Sound;
        let change = if same {
            Change::Keep
        } else {
            Change::Put(value.clone(), ttl)
        };
        Ok((change, value))
    };
    match guaranteed_change(storage, key, hint, decide).await {
        Ok(changed) => Ok(Updated {
            value: changed.note,
            revision: changed.revision,
            written: changed.change != Change::Keep,
        }),
        Err(ChangeError::Rejected(error)) => Err(error),
        Err(ChangeError::Storage(error)) => Err(error.into()),
    }
}
