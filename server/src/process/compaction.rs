//! Keeping the history of a store short that nobody else has open.

use std::time::Duration;

use ringwatch_core::revision::Revision;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::serve::Shutdown;
use crate::storage::{Embedded, Outcome, Storage, StorageError, Write};

/// Written at each turn, under the name that it has in etcd. No object's key is like it: those begin with a slash.
const KEY: &str = "compact_rev_key";

/// Turns in an interval. With more of them, less is kept for longer than was asked for.
const TURNS: u32 = 2;

/// Compacts to what was the newest revision an interval ago. There are two turns in each, so that history lives between one and one and
/// a half of them: Kubernetes' own tests wait for two, and look only now and then.
///
/// Each turn is a revision of its own, as with etcd: else the last state of a store in which nothing happens would never be in
/// the past, and who waits for it to be forgotten, as those tests do with the pages of a list, would wait for ever.
pub(super) async fn run(store: Embedded, every: Duration, mut shutdown: Shutdown) {
    // However short it is to be: a timer has to move.
    let every = (every / TURNS).max(Duration::from_millis(1));
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // At the last turns, the oldest first.
    let mut noted = [Revision::ZERO; TURNS as usize];
    loop {
        tokio::select! {
            () = shutdown.begun() => return,
            _ = ticks.tick() => {}
        }
        match turn(&store, noted[0]).await {
            Ok(newest) => {
                noted[0] = newest;
                noted.rotate_left(1);
            }
            Err(error) => tracing::warn!(%error, "history cannot be compacted"),
        }
    }
}

/// Marks the turn, and forgets what is older than an earlier one, which was at `noted`. Returns the revision of this one.
async fn turn(store: &Embedded, noted: Revision) -> Result<Revision, StorageError> {
    let before = store.get(KEY).await?.found;
    let expected = before.map_or(Revision::ZERO, |before| before.mod_revision);
    let mark = Write::update(KEY, expected, noted.to_string());
    let newest = match store.commit(vec![mark]).await? {
        Outcome::Committed(newest) => newest,
        // Nobody else writes it.
        Outcome::Conflict { revision, .. } => revision,
    };
    if noted > store.compacted() {
        store.compact(noted).await?;
        tracing::info!(revision = %noted, "history compacted");
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_state_is_forgotten_though_nothing_happens() {
        let store = Embedded::in_memory();
        let write = Write::create("/pods/a", "a");
        let Ok(Outcome::Committed(last)) = store.commit(vec![write]).await else {
            panic!("not written");
        };
        let first = turn(&store, Revision::ZERO).await.unwrap();
        assert!(first > last);
        assert!(store.compacted() <= last, "the first turn only takes notes");
        let second = turn(&store, first).await.unwrap();
        assert!(store.compacted() > last && second > first);
        assert!(store.get("/pods/a").await.unwrap().found.is_some());
    }
}
