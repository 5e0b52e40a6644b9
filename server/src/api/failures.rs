//! What goes wrong with reads, as failures that clients know.

use std::time::Duration;

use ringwatch_core::revision::Revision;

use crate::cache::CacheError;
use crate::status::Failure;
use crate::storage::StorageError;

/// The cache has nothing to answer from. Who asks is to come again soon, and less and less soon.
fn not_ready(error: &CacheError, pending: Duration) -> Failure {
    let seconds = (0.06 * pending.as_secs_f64()).exp().clamp(1.0, 30.0);
    Failure::too_many_requests(error.to_string(), seconds as u32)
}

/// Why a read failed.
pub(super) fn read(error: &CacheError) -> Failure {
    match error {
        CacheError::NotReady { pending, .. } => not_ready(error, *pending),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_nothing_is_there_the_later_to_come_again() {
        let advice = |seconds| {
            let failure = read(&CacheError::NotReady {
                why: None,
                pending: Duration::from_secs(seconds),
            });
            failure.details.map(|details| details.retry_after)
        };
        let expected = [(0, 1), (11, 1), (12, 2), (40, 11), (60, 30), (86_400, 30)];
        for (seconds, retry_after) in expected {
            assert_eq!(advice(seconds), Some(retry_after), "after {seconds} s");
        }
    }
}
