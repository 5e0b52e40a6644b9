//! Keeping the history of a store short that nobody else has open.

use std::time::Duration;

use ringwatch_core::revision::Revision;
use tokio::time::{MissedTickBehavior, interval};

use crate::serve::Shutdown;
use crate::storage::{Embedded, Storage};

/// Compacts to what was the newest revision one tick ago, so that history lives between one and two intervals, as with etcd.
pub(super) async fn run(store: Embedded, every: Duration, mut shutdown: Shutdown) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut noted = Revision::ZERO;
    loop {
        tokio::select! {
            () = shutdown.begun() => return,
            _ = ticks.tick() => {}
        }
        let newest = match store.revision().await {
            Ok(newest) => newest,
            Err(error) => {
                tracing::warn!(%error, "history cannot be compacted");
                continue;
            }
        };
        if noted > store.compacted() {
            match store.compact(noted).await {
                Ok(()) => tracing::info!(revision = %noted, "history compacted"),
                Err(error) => tracing::warn!(%error, "history cannot be compacted"),
            }
        }
        noted = newest;
    }
}
