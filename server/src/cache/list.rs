//! Reading a state.

use std::ops::Bound;
use std::time::Instant;

use ringwatch_core::predicate::{Matches, Scope};
use ringwatch_core::revision::{Revision, StartFrom};

use super::decode::Decoder;
use super::error::CacheError;
use super::map::ObjectMap;
use super::metrics::ConsistentRead;
use super::object::Object;
use super::request::{ListRequest, Predicate};
use super::shared::Shared;
use super::sketch::Sketch;
use crate::storage::{List, StorageError};

/// A page of a list.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The objects that match, in key order.
    pub items: Vec<Object>,
    /// The revision of the state.
    pub revision: Revision,
    /// If keys are left in the scope: the last key that was looked at, to be passed as [`ListRequest::after`].
    pub continue_after: Option<String>,
    /// How many keys of the scope were not looked at.
    pub remaining: usize,
}

pub(super) async fn list(shared: &Shared, request: &ListRequest) -> Result<Listing, CacheError> {
    let (objects, revision) = state(shared, request.start).await?;
    let (listing, looked) = page(&objects, revision, request, &shared.decoder);
    shared.metrics.lists_served.add(1);
    shared.metrics.objects_fetched.add(looked.fetched);
    shared.metrics.objects_evaluated.add(looked.evaluated);
    shared.metrics.objects_returned.add(listing.items.len());
    Ok(listing)
}

/// The state that a read asks for.
pub(super) async fn state(
    shared: &Shared,
    start: StartFrom,
) -> Result<(ObjectMap, Revision), CacheError> {
    shared.check_ready()?;
    match start {
        StartFrom::Any => {}
        StartFrom::Newest if !shared.is_progress_reported() => {
            shared.metrics.consistent_read(ConsistentRead::FromStorage);
            return from_storage(shared, None).await;
        }
        StartFrom::Newest => {
            let fresh = shared.fresh(shared.storage.revision().await?).await;
            shared.metrics.consistent_read(match fresh {
                Ok(()) => ConsistentRead::Cached,
                Err(_) => ConsistentRead::TimedOut,
            });
            fresh?;
        }
        StartFrom::NotOlderThan(revision) => shared.fresh(revision).await?,
        StartFrom::Exact(revision) => {
            shared.fresh(revision).await?;
            // Even where the ring reaches back further: another server would refuse it.
            let floor = shared.storage.compacted();
            if revision < floor {
                return Err(CacheError::Expired {
                    requested: revision,
                    floor,
                });
            }
            // The lock is not held across the await.
            let held = shared.read().objects_at(revision);
            return match held {
                Ok(objects) => Ok((objects, revision)),
                Err(_) => from_storage(shared, Some(revision)).await,
            };
        }
    }
    Ok(snapshot(shared))
}

/// The state as it is.
pub(super) fn snapshot(shared: &Shared) -> (ObjectMap, Revision) {
    let state = shared.read();
    (state.objects.clone(), state.revision())
}

/// A state that the cache cannot answer for: one that the ring no longer reaches, or the newest where the storage does
/// not say how far its watch is.
async fn from_storage(
    shared: &Shared,
    at: Option<Revision>,
) -> Result<(ObjectMap, Revision), CacheError> {
    let list = List {
        prefix: shared.decoder.prefix().to_owned(),
        at,
        ..List::default()
    };
    let began = Instant::now();
    let page = shared.storage.list(&list).await;
    let took = began.elapsed();
    shared.metrics.durations.storage_list.observe_time(took);
    let page = page.map_err(|error| match (error, at) {
        (StorageError::Compacted { floor }, Some(requested)) => CacheError::Expired {
            requested,
            floor: floor.unwrap_or_default(),
        },
        (error, _) => CacheError::Storage(error),
    })?;
    let session = shared.decoder.session();
    let items = page.items.into_iter();
    let objects = items.filter_map(|item| session.decode(item).ok());
    Ok((objects.collect(), page.revision))
}

/// The state that a watch begins with: always one of the cache's own, since the ring has to follow on it.
pub(super) async fn state_to_watch(
    shared: &Shared,
    start: StartFrom,
) -> Result<(ObjectMap, Revision), CacheError> {
    let start = match start {
        // An exact one would leave a gap to the ring.
        StartFrom::Exact(revision) => StartFrom::NotOlderThan(revision),
        StartFrom::Newest if !shared.is_progress_reported() => {
            // With every object that is there now. A deletion may come as an event a moment later.
            let (objects, _) = from_storage(shared, None).await?;
            let newest = objects.iter().map(Object::revision).max();
            StartFrom::NotOlderThan(newest.unwrap_or_default())
        }
        start => start,
    };
    state(shared, start).await
}

/// At how many objects a list has looked.
#[derive(Default)]
struct Looked {
    /// Those in its scope, up to the end of the page.
    fetched: usize,
    /// Those of them that its selectors were applied to: that others do not match is seen from afar.
    evaluated: usize,
}

/// A page, and what was looked at for it.
fn page(
    objects: &ObjectMap,
    revision: Revision,
    request: &ListRequest,
    decoder: &Decoder,
) -> (Listing, Looked) {
    let limit = match request.limit {
        0 => usize::MAX,
        limit => limit,
    };
    let demanded = Sketch::demanded(&request.predicate, decoder);
    let mut scoped = scope(objects, &request.predicate.scope, request.after.as_deref());
    let mut items = Vec::new();
    let mut last = None;
    let mut looked = Looked::default();
    let more = loop {
        let Some((sketch, object)) = scoped.next() else {
            break None;
        };
        if items.len() == limit {
            break Some(object);
        }
        last = Some(object);
        looked.fetched += 1;
        if sketch.may_have(demanded) {
            looked.evaluated += 1;
            if request.predicate.matches(object) {
                items.push(object.clone());
            }
        }
    };
    let last = last.filter(|_| more.is_some());
    let listing = Listing {
        items,
        revision,
        continue_after: last.map(|object| object.key().to_owned()),
        remaining: more.map_or(0, |_| 1 + scoped.count()),
    };
    (listing, looked)
}

/// The objects that match, in key order, from behind a key on.
pub(super) fn matching<'o>(
    objects: &'o ObjectMap,
    predicate: &'o Predicate,
    after: Option<&str>,
    decoder: &Decoder,
) -> impl Iterator<Item = &'o Object> + use<'o> {
    let demanded = Sketch::demanded(predicate, decoder);
    scope(objects, &predicate.scope, after)
        .filter(move |(sketch, object)| sketch.may_have(demanded) && predicate.matches(*object))
        .map(|(_, object)| object)
}

/// The objects that are in scope and after the position, before any selector.
fn scope<'o>(
    objects: &'o ObjectMap,
    scope: &Scope<Box<str>>,
    after: Option<&str>,
) -> Box<dyn Iterator<Item = (Sketch, &'o Object)> + 'o> {
    // The keys of a namespace begin with it and a slash; `0` is the character that follows the slash.
    let (begin, end) = match scope {
        Scope::Object(key) => {
            let wanted = after.is_none_or(|after| after < &**key);
            let object = objects.get(key).filter(|_| wanted);
            return Box::new(object.map(|object| (object.sketch(), object)).into_iter());
        }
        Scope::Namespace(namespace) => {
            let [begin, end] = ['/', '0'].map(|end| format!("{namespace}{end}"));
            (Some(begin), Some(end))
        }
        Scope::Resource => (None, None),
    };
    let from = match (after, begin.as_deref()) {
        (Some(after), begin) if begin.is_none_or(|begin| after >= begin) => Bound::Excluded(after),
        (_, Some(begin)) => Bound::Included(begin),
        (_, None) => Bound::Unbounded,
    };
    Box::new(objects.range(from, end.as_deref()))
}
