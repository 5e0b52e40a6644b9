//! What goes wrong with reads, as failures that clients know.

use std::time::Duration;

use ringwatch_core::revision::Revision;

use crate::cache::CacheError;
use crate::resources::Resource;
use crate::status::Failure;
use crate::storage::StorageError;

/// The cache has nothing to answer from. Who asks is to come again soon, and less and less soon.
fn not_ready(error: &CacheError, pending: Duration) -> Failure {
    let seconds = (0.06 * pending.as_secs_f64()).exp().clamp(1.0, 30.0);
    Failure::too_many_requests(error.to_string(), seconds as u32)
}

/// Why a read of objects failed that has one answer. `operation` is a verb: `list`.
pub(super) fn unary(error: &CacheError, resource: &Resource, operation: &str) -> Failure {
    match error {
        // It may well be there again in a moment, and clients know what to do until then.
        CacheError::Storage(StorageError::Unavailable(_)) => {
            Failure::server_timeout(resource, operation)
        }
        _ => read(error),
    }
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
    use crate::resources::Catalog;

    #[test]
    fn storage_that_is_away_is_asked_again_soon() {
        let catalog = Catalog::builtin();
        let deployments = catalog.find("apps", "v1", "deployments").unwrap();
        let away = CacheError::Storage(StorageError::Unavailable("refused".to_owned()));
        let failure = unary(&away, deployments, "list");
        assert_eq!(
            failure.to_string(),
            "500 ServerTimeout: The list operation against deployments.apps could not be completed at this time, please try again."
        );
        let details = failure.details.unwrap();
        assert_eq!((&*details.kind, details.retry_after), ("deployments", 2));
        // In a watch that has begun it is an event, which has no header to say when.
        assert_eq!(read(&away).reason, "InternalError");
    }

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
