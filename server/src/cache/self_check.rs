//! Compares the cache with storage now and then, and has it repaired if they differ.
//!
//! That they differ is a bug, here or there; it must not go on being served in silence. The cache is then listed
//! anew: whoever watches gets the difference, or has to begin again if it cannot be told.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::error::CacheError;
use super::metrics::Check;
use super::shared::Shared;
use super::verify::{Verified, verify};
use crate::backoff::jittered;
use crate::storage::StorageError;

/// How often to begin again with a newer state when storage has forgotten the one to compare with.
const TRIES: usize = 3;

/// A comparison of the cache with storage, and when it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfCheck {
    /// When it ended.
    pub at: SystemTime,
    /// What was found, or why nothing could be.
    pub outcome: Result<Verified, CacheError>,
    /// How many have found a difference so far, this one included.
    pub disagreements: u64,
}

/// Checks every so often, up to half as much later. Ends only by being dropped.
pub(super) async fn run(shared: Arc<Shared>, every: Duration) {
    shared.ready().await;
    loop {
        tokio::time::sleep(jittered(every, every / 2)).await;
        // Noted, counted and logged in there.
        let _ = check(&shared).await;
    }
}

/// Checks once. What comes out is kept, counted, logged and acted on.
pub(super) async fn check(shared: &Shared) -> Result<Verified, CacheError> {
    let mut outcome = verify(shared).await;
    for _ in 1..TRIES {
        if !matches!(outcome, Err(CacheError::Expired { .. })) {
            break;
        }
        outcome = verify_newest(shared).await;
    }
    let prefix = shared.decoder.prefix();
    match &outcome {
        Ok(verified) if verified.agrees() => {
            shared.metrics.checked(Check::Agreed);
            tracing::debug!(prefix, revision = %verified.revision, "cache agrees with storage");
        }
        Ok(verified) => {
            shared.metrics.checked(Check::Disagreed);
            let Verified {
                revision,
                cached,
                stored,
            } = verified;
            tracing::error!(prefix, %revision, ?cached, ?stored, "cache differs from storage; listing anew");
            shared.want_relist();
        }
        // The cache has what storage has yet to come to: storage was put back to an older state.
        Err(CacheError::Storage(error @ StorageError::Future { .. })) => {
            shared.metrics.checked(Check::Disagreed);
            tracing::error!(prefix, %error, "cache is ahead of storage; listing anew");
            shared.want_relist();
        }
        Err(error) => {
            shared.metrics.checked(Check::Failed);
            tracing::warn!(prefix, %error, "cache could not be compared with storage");
        }
    }
    shared.set_last_check(SelfCheck {
        at: SystemTime::now(),
        outcome: outcome.clone(),
        disagreements: shared.metrics.checks[Check::Disagreed as usize].get(),
    });
    outcome
}

/// Brings the cache up to what storage has, and checks then.
async fn verify_newest(shared: &Shared) -> Result<Verified, CacheError> {
    shared.fresh(shared.storage.revision().await?).await?;
    verify(shared).await
}
