//! What goes wrong with reads, as failures that clients know.

use ringwatch_core::revision::Revision;

use crate::cache::CacheError;
use crate::status::Failure;
use crate::storage::StorageError;

/// The cache has nothing to answer from.
pub(super) fn not_ready(why: Option<String>) -> Failure {
    Failure::too_many_requests(CacheError::NotReady { why }.to_string(), 1)
}

/// Why a read failed.
pub(super) fn read(error: &CacheError) -> Failure {
    match error {
        CacheError::NotReady { why } => not_ready(why.clone()),
        CacheError::Expired { requested, floor } => Failure::too_old(*requested, *floor),
        CacheError::TooLarge { requested, newest } => {
            Failure::too_large_revision(*requested, *newest, 1)
        }
        CacheError::Storage(StorageError::Future { newest }) => {
            Failure::too_large_revision(Revision::ZERO, newest.unwrap_or_default(), 0)
        }
        CacheError::Storage(error) => Failure::internal(error),
    }
}
