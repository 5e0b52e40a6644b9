//! Checks that the cache is what storage says it is.

use ringwatch_core::digest::Digest;
use ringwatch_core::revision::Revision;

use super::error::CacheError;
use super::object::Object;
use super::shared::Shared;
use crate::storage::pager::{PAGE, Pager};
use crate::storage::{List, StorageError};

/// The outcome of a self-check: the digests of all keys and their revisions, at one revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// The revision that was compared.
    pub revision: Revision,
    /// What the cache holds.
    pub cached: Digest,
    /// What storage holds, without what cannot be decoded.
    pub stored: Digest,
}

impl Verified {
    /// Whether they hold the same.
    pub fn agrees(&self) -> bool {
        self.cached == self.stored
    }
}

/// Compares the cache with storage at the cache's newest revision.
pub(super) async fn verify(shared: &Shared) -> Result<Verified, CacheError> {
    shared.check_ready()?;
    let (objects, revision) = {
        let state = shared.read();
        (state.objects.clone(), state.revision())
    };
    let mut cached = Digest::EMPTY;
    objects
        .iter()
        .for_each(|object| cached.add(object.storage_key(), object.revision()));

    let prefix = shared.decoder.prefix();
    let session = shared.decoder.session();
    let list = List {
        prefix: prefix.to_owned(),
        limit: PAGE,
        at: Some(revision),
        after: None,
    };
    let mut stored = Digest::EMPTY;
    let mut pages = Pager::new(&*shared.storage, list);
    let next = |error| match error {
        StorageError::Compacted { floor } => CacheError::Expired {
            requested: revision,
            floor: floor.unwrap_or_default(),
        },
        error => CacheError::Storage(error),
    };
    while let Some(page) = pages.next().await.map_err(next)? {
        for item in page.items {
            let (key, at) = (item.key.clone(), item.mod_revision);
            let name = key.strip_prefix(prefix).unwrap_or(&key);
            let held = objects.get(name).map(Object::revision);
            // What cannot be decoded is not to be in the cache. The quarantine may be ahead of the state, so it is
            // not asked; few values have to be looked at for this.
            if held == Some(at) || session.decode(item).is_ok() {
                stored.add(&key, at);
            }
        }
    }
    Ok(Verified {
        revision,
        cached,
        stored,
    })
}
