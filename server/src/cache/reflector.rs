//! Keeps the cache in step with storage.
//!
//! ```text
//!            ┌─────── compacted, out of step, or doubted ───────┐
//!            ▼                                                  │
//!   List ──────► Open ──────► Follow ─────────────────────────► ┤
//!    ▲ │          ▲ │           │ storage is away               │
//!    │ └─ Rest ───┘ └── Rest ◄──┴───────────────────────────────┘
//! ```
//!
//! While it rests, or lists again, what the cache has is still served: it is only older. A list that replaces a
//! state is entered as its difference, so that watches stay open.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use ringwatch_core::revision::Revision;
use smallvec::SmallVec;

use super::decode::Session;
use super::map::ObjectMap;
use super::shared::{Readiness, Shared};
use super::state::{Aftermath, Update};
use crate::backoff::Backoff;
use crate::storage::pager::read_all;
use crate::storage::{Changes, KeyChange, StorageError, WatchItem};

/// What the reflector is about to do.
enum Step {
    /// Read everything.
    List,
    /// Watch from the newest revision known.
    Open,
    /// Apply what the watch yields.
    Follow(Changes),
    /// Wait, then go on with listing or watching.
    Rest { then_list: bool },
}

/// Runs for ever; dropping the future ends it at any point without harm.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(10));
    let mut step = Step::List;
    let mut outage = Outage::default();
    loop {
        step = match step {
            Step::List => match list(&shared).await {
                Ok(()) => {
                    backoff.reset();
                    outage.over(&shared);
                    Step::Open
                }
                Err(error) => {
                    shared.metrics.lists_failed.add(1);
                    outage.note(&shared, &error, "list failed");
                    not_ready(&shared, &error);
                    Step::Rest { then_list: true }
                }
            },
            Step::Open => {
                let newest = shared.read().revision();
                shared.set_progress_reported(shared.storage.reports_progress().await);
                match shared.storage.watch(shared.decoder.prefix(), newest).await {
                    Ok(changes) => {
                        shared.metrics.watches_opened.add(1);
                        outage.over(&shared);
                        let prefix = shared.decoder.prefix();
                        tracing::debug!(prefix, revision = %newest, "watching storage");
                        Step::Follow(changes)
                    }
                    Err(error) => after(&shared, &error, &mut outage),
                }
            }
            Step::Follow(changes) => match follow(&shared, changes, &mut backoff).await {
                Ended::Asked => Step::List,
                Ended::OutOfStep => {
                    let prefix = shared.decoder.prefix();
                    tracing::error!(prefix, "watch yields what is known already; listing anew");
                    Step::List
                }
                Ended::Failed(error) => after(&shared, &error, &mut outage),
            },
            Step::Rest { then_list } => {
                tokio::time::sleep(backoff.delay()).await;
                if then_list { Step::List } else { Step::Open }
            }
        };
    }
}

/// Whether storage is away, so that the log says so once and not with every attempt.
#[derive(Default)]
struct Outage(bool);

impl Outage {
    fn note(&mut self, shared: &Shared, error: &StorageError, what: &'static str) {
        let prefix = shared.decoder.prefix();
        shared.set_away(true);
        if std::mem::replace(&mut self.0, true) {
            tracing::debug!(prefix, %error, "{what} again");
        } else {
            tracing::warn!(prefix, %error, "{what}");
        }
    }

    fn over(&mut self, shared: &Shared) {
        shared.set_away(false);
        self.0 = false;
    }
}

/// What helps after a watch has failed.
fn after(shared: &Shared, error: &StorageError, outage: &mut Outage) -> Step {
    match error {
        StorageError::Compacted { .. } | StorageError::Future { .. } => {
            outage.note(shared, error, "watch cannot go on; listing anew");
            Step::List
        }
        _ => {
            outage.note(shared, error, "watch was cut");
            Step::Rest { then_list: false }
        }
    }
}

fn not_ready(shared: &Shared, error: &StorageError) {
    if !shared.is_ready() {
        let why = Some(error.to_string());
        shared.set_readiness(Readiness::Pending { why });
    }
}

/// Reads the whole resource at one revision and makes it the state.
async fn list(shared: &Shared) -> Result<(), StorageError> {
    let began = Instant::now();
    let prefix = shared.decoder.prefix();
    tracing::debug!(prefix, "listing");
    let read = read_all(&*shared.storage, prefix).await;
    let durations = &shared.metrics.durations;
    durations.storage_list.observe_time(began.elapsed());
    let (revision, items) = read?;
    let mut quarantined = Vec::new();
    let session = shared.decoder.session();
    let decoded = items.into_iter().map(|item| session.decode(item));
    let sound = decoded.filter_map(|object| object.map_err(|bad| quarantined.push(bad)).ok());
    let objects: ObjectMap = sound.collect();
    let (count, bad) = (objects.len(), quarantined.len());
    shared.metrics.decode_errors.add(bad);
    shared.quarantine.replace(quarantined);

    let again = shared.is_ready();
    let mut after = Aftermath::default();
    let mut state = shared.write();
    let changes = if again {
        state.relist(revision, objects.clone(), shared.clock.now(), &mut after)
    } else {
        state.begin(revision, objects.clone(), &mut after);
        Ok(count)
    };
    if changes.is_err() {
        // Storage went back in time: it was restored from a backup, or is another one.
        state.begin(revision, objects, &mut after);
        shared.went_back(revision);
    }
    drop(state);
    let took = began.elapsed();
    shared.metrics.listed(took);
    if again {
        shared.metrics.relists.add(1);
        shared
            .metrics
            .relist_changes
            .add(*changes.as_ref().unwrap_or(&0));
    }
    // Who is woken may look at what was counted.
    after.settle();
    match changes {
        Ok(changes) => {
            tracing::info!(prefix, %revision, objects = count, undecodable = bad, changes, ?took, "listed");
        }
        Err(error) => {
            tracing::error!(prefix, %revision, %error, "storage went back in time; all watches begin anew");
        }
    }
    shared.set_readiness(Readiness::Ready);
    shared.reached(revision);
    Ok(())
}

/// Why a watch on storage was left.
enum Ended {
    Failed(StorageError),
    /// It yielded something that does not follow on what is known.
    OutOfStep,
    /// Someone has reason to doubt what is known.
    Asked,
}

/// How many items are taken and applied at once: enough to share the cost of waking and locking, few enough
/// that readers do not wait long.
const BATCH: usize = 128;

async fn follow(shared: &Shared, mut changes: Changes, backoff: &mut Backoff) -> Ended {
    let mut items = Vec::with_capacity(BATCH);
    let mut after = Aftermath::default();
    loop {
        let taken = tokio::select! {
            taken = changes.next_many(&mut items, BATCH) => taken,
            () = shared.progress_wanted() => {
                changes.request_progress();
                continue;
            }
            () = shared.relist_wanted() => return Ended::Asked,
        };
        if taken == 0 {
            return Ended::Failed(StorageError::Unavailable("watch ended".to_owned()));
        }
        backoff.reset();
        match apply(shared, items.drain(..), &mut after) {
            Err(ended) => return ended,
            Ok(false) => {}
            // Who was woken reads first: while it does, the state had better not be locked.
            Ok(true) => go_to_the_end_of_the_queue().await,
        }
    }
}

/// Lets everyone run who was woken before. The runtime's own yield asks the system for events first, which costs more than a
/// batch of a few changes.
async fn go_to_the_end_of_the_queue() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// What an item means for the state.
enum Applied {
    /// Mostly one.
    Updates(Revision, SmallVec<[Update; 1]>),
    Progress(Revision),
}

/// Decodes items, then applies all of them under one lock. Whether anybody was woken.
fn apply(
    shared: &Shared,
    items: impl Iterator<Item = Result<WatchItem, StorageError>>,
    after: &mut Aftermath,
) -> Result<bool, Ended> {
    let began = Instant::now();
    let session = shared.decoder.session();
    let mut failed = None;
    let mut decoded = Vec::with_capacity(BATCH);
    let mut received = 0;
    for item in items {
        match item {
            Ok(WatchItem::Changes { revision, changes }) => {
                received += changes.len();
                let updates = changes
                    .into_iter()
                    .map(|change| update(shared, &session, change));
                decoded.push(Applied::Updates(revision, updates.collect()));
            }
            Ok(WatchItem::Progress(revision)) => decoded.push(Applied::Progress(revision)),
            // The last item, if there is an error.
            Err(error) => failed = Some(Ended::Failed(error)),
        }
    }
    shared.metrics.events_received.add(received);
    let now = shared.clock.now();
    let mut state = shared.write();
    let mut applied = Ok(());
    for item in decoded {
        match item {
            Applied::Updates(revision, updates) => {
                applied = state.apply(revision, updates, now, after);
            }
            Applied::Progress(revision) => state.progress(revision),
        }
        if applied.is_err() {
            break;
        }
    }
    let newest = state.revision();
    drop(state);
    let woken = after.settle();
    if received > 0 {
        let took = began.elapsed().as_secs_f64();
        let durations = &shared.metrics.durations;
        durations.storage_to_cache.observe_many(took, received);
    }
    shared.reached(newest);
    applied.map_err(|_| Ended::OutOfStep)?;
    failed.map_or(Ok(woken), Err)
}

/// A value that cannot be decoded is not served: to readers it is as if the key were gone.
fn update(shared: &Shared, session: &Session<'_>, change: KeyChange) -> Update {
    let gone = |key: &str| {
        let name = key.strip_prefix(shared.decoder.prefix()).unwrap_or(key);
        Update::Delete(name.into())
    };
    let Some(stored) = change.current else {
        shared.quarantine.release(&change.key);
        return gone(&change.key);
    };
    match session.decode(stored) {
        Ok(object) => {
            shared.quarantine.release(object.storage_key());
            Update::Put(object)
        }
        Err(bad) => {
            shared.metrics.decode_errors.add(1);
            shared.quarantine.admit(bad);
            gone(&change.key)
        }
    }
}
