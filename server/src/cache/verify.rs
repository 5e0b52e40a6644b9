//! Checks that the cache is what storage says it is.

use ringwatch_core::digest::Digest;
use ringwatch_core::revision::Revision;

use super::error::CacheError;
use super::shared::Shared;
use crate::storage::{List, StorageError};

/// Keys compared at once.
const PAGE: usize = 10_000;

/// The outcome of a self-check: the digests of all keys and their revisions, at one revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// The revision that was compared.
    pub revision: Revision,
    /// What the cache holds.
    pub cached: Digest,
    /// What storage holds, without what the cache has set aside.
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
    // What is not served is left out on both sides.
    let (objects, revision, quarantined) = {
        let state = shared.read();
        let quarantined: Vec<_> = shared.quarantine().keys().cloned().collect();
        (state.objects.clone(), state.revision(), quarantined)
    };
    let mut cached = Digest::EMPTY;
    objects
        .iter()
        .for_each(|object| cached.add(object.storage_key(), object.revision()));

    let mut stored = Digest::EMPTY;
    let mut list = List {
        prefix: shared.decoder.prefix().to_owned(),
        limit: PAGE,
        at: Some(revision),
        after: None,
    };
    loop {
        let page = shared
            .storage
            .list(&list)
            .await
            .map_err(|error| match error {
                StorageError::Compacted { floor } => CacheError::Expired {
                    requested: revision,
                    floor: floor.unwrap_or_default(),
                },
                error => CacheError::Storage(error),
            })?;
        for item in &page.items {
            if quarantined.binary_search(&item.key).is_err() {
                stored.add(&item.key, item.mod_revision);
            }
        }
        if page.remaining == 0 {
            return Ok(Verified {
                revision,
                cached,
                stored,
            });
        }
        list.after = page.items.last().map(|item| item.key.to_string());
    }
}
