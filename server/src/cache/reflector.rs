//! Keeps the cache in step with storage.
//!
//! ```text
//!            ┌──────────── compacted, or out of step ───────────┐
//!            ▼                                                  │
//!   List ──────► Open ──────► Follow ─────────────────────────► ┤
//!    ▲ │          ▲ │           │ storage is away               │
//!    │ └─ Rest ───┘ └── Rest ◄──┴───────────────────────────────┘
//! ```
//!
//! While it rests, or lists again, what the cache has is still served: it is only older. A list that replaces a
//! state is entered as its difference, so that watches stay open.

use std::sync::Arc;
use std::time::Duration;

use ringwatch_core::revision::Revision;
use smallvec::SmallVec;

use super::decode::Session;
use super::map::ObjectMap;
use super::object::Object;
use super::shared::{Readiness, Shared};
use super::state::{Aftermath, Update};
use crate::backoff::Backoff;
use crate::storage::{Changes, KeyChange, KeyValue, List, StorageError, WatchItem};

/// Keys asked for at once when listing.
const PAGE: usize = 10_000;

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
    loop {
        step = match step {
            Step::List => match list(&shared).await {
                Ok(()) => {
                    backoff.reset();
                    Step::Open
                }
                Err(error) => {
                    not_ready(&shared, &error);
                    Step::Rest { then_list: true }
                }
            },
            Step::Open => {
                let newest = shared.read().revision();
                shared.set_progress_reported(shared.storage.reports_progress().await);
                match shared.storage.watch(shared.decoder.prefix(), newest).await {
                    Ok(changes) => Step::Follow(changes),
                    Err(error) => after(&error),
                }
            }
            Step::Follow(changes) => match follow(&shared, changes, &mut backoff).await {
                Ended::OutOfStep => Step::List,
                Ended::Failed(error) => after(&error),
            },
            Step::Rest { then_list } => {
                tokio::time::sleep(backoff.delay()).await;
                if then_list { Step::List } else { Step::Open }
            }
        };
    }
}

/// What helps after a watch has failed.
fn after(error: &StorageError) -> Step {
    match error {
        StorageError::Compacted { .. } | StorageError::Future { .. } => Step::List,
        _ => Step::Rest { then_list: false },
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
    let (revision, items) = match pages(shared, PAGE).await {
        // The first page's revision was compacted before the last was read: all at once, then.
        Err(StorageError::Compacted { .. }) => pages(shared, 0).await?,
        listed => listed?,
    };
    let mut quarantined = Vec::new();
    let session = shared.decoder.session();
    let decoded = items.into_iter().map(|item| session.decode(item));
    let sound = decoded.filter_map(|object| object.map_err(|bad| quarantined.push(bad)).ok());
    let objects: ObjectMap = sound.collect();

    let quarantined = quarantined.into_iter().map(|bad| (bad.key.clone(), bad));
    *shared.quarantine() = quarantined.collect();
    let mut after = Aftermath::default();
    let mut state = shared.write();
    let relisted = if shared.is_ready() {
        state.relist(revision, objects.clone(), shared.clock.now(), &mut after)
    } else {
        state.begin(revision, objects.clone(), &mut after);
        Ok(())
    };
    if relisted.is_err() {
        // Storage went back in time: it was restored from a backup, or is another one.
        state.begin(revision, objects, &mut after);
    }
    drop(state);
    after.settle();
    shared.set_readiness(Readiness::Ready);
    shared.reached(revision);
    Ok(())
}

async fn pages(shared: &Shared, limit: usize) -> Result<(Revision, Vec<KeyValue>), StorageError> {
    let mut list = List {
        prefix: shared.decoder.prefix().to_owned(),
        limit,
        ..List::default()
    };
    let mut items = Vec::new();
    loop {
        let page = shared.storage.list(&list).await?;
        items.extend(page.items);
        if page.remaining == 0 {
            return Ok((page.revision, items));
        }
        list.at = Some(page.revision);
        list.after = items.last().map(|item| item.key.to_string());
    }
}

/// Why a watch on storage was left.
enum Ended {
    Failed(StorageError),
    /// It yielded something that does not follow on what is known.
    OutOfStep,
}

/// How many items are taken and applied at once: enough to share the cost of waking and locking, few enough
/// that readers do not wait long.
const BATCH: usize = 64;

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
        };
        if taken == 0 {
            return Ended::Failed(StorageError::Unavailable("watch ended".to_owned()));
        }
        backoff.reset();
        if let Err(ended) = apply(shared, items.drain(..), &mut after) {
            return ended;
        }
    }
}

/// What an item means for the state.
enum Applied {
    /// Mostly one.
    Updates(Revision, SmallVec<[Update; 1]>),
    Progress(Revision),
}

/// Decodes items, then applies all of them under one lock.
fn apply(
    shared: &Shared,
    items: impl Iterator<Item = Result<WatchItem, StorageError>>,
    after: &mut Aftermath,
) -> Result<(), Ended> {
    let session = shared.decoder.session();
    let mut failed = None;
    let mut decoded = Vec::with_capacity(BATCH);
    for item in items {
        match item {
            Ok(WatchItem::Changes { revision, changes }) => {
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
    after.settle();
    shared.reached(newest);
    applied.map_err(|_| Ended::OutOfStep)?;
    failed.map_or(Ok(()), Err)
}

/// A value that cannot be decoded is not served: to readers it is as if the key were gone.
fn update(shared: &Shared, session: &Session<'_>, change: KeyChange) -> Update {
    let gone = |key: &str| {
        let name = key.strip_prefix(shared.decoder.prefix()).unwrap_or(key);
        Update::Delete(name.into())
    };
    let Some(stored) = change.current else {
        shared.quarantine().remove(&change.key);
        return gone(&change.key);
    };
    match session.decode(stored) {
        Ok(object) => {
            release(shared, &object);
            Update::Put(object)
        }
        Err(bad) => {
            shared.quarantine().insert(change.key.clone(), bad);
            gone(&change.key)
        }
    }
}

/// An object that can be read again leaves the quarantine.
fn release(shared: &Shared, object: &Object) {
    let mut quarantine = shared.quarantine();
    if !quarantine.is_empty() {
        quarantine.remove(object.storage_key());
    }
}
