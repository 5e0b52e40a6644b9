//! Reads that go straight to storage.

use std::fmt;
use std::sync::Arc;

use ringwatch_core::json::PathError;
use ringwatch_core::predicate::{Matches, Scope};
use ringwatch_core::revision::{Revision, StartFrom};
use tokio::sync::watch;

use super::follow::DirectWatch;
use crate::cache::{
    CacheError, Decoder, Format, ListRequest, Listing, Object, Options, Predicate, WatchRequest,
};
use crate::clock::Clock;
use crate::storage::pager::{PAGE, Pager};
use crate::storage::{KeyValue, List, Storage, StorageError};

/// A resource without a cache; cheap to clone.
#[derive(Clone)]
pub struct Direct(Arc<Inner>);

pub(super) struct Inner {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) decoder: Decoder,
    pub(super) options: Options,
    pub(super) clock: Clock,
    /// Whether watches are to end.
    pub(super) closing: watch::Sender<bool>,
}

impl Direct {
    /// Reads the values below `prefix`.
    pub fn new(
        storage: Arc<dyn Storage>,
        prefix: &str,
        format: &Format,
        options: Options,
    ) -> Result<Self, PathError> {
        Ok(Self(Arc::new(Inner {
            storage,
            decoder: Decoder::new(prefix, format)?,
            options,
            clock: Clock::start(),
            closing: watch::Sender::new(false),
        })))
    }

    /// What turns stored values into objects here.
    pub fn decoder(&self) -> &Decoder {
        &self.0.decoder
    }

    /// The newest revision.
    pub async fn revision(&self) -> Result<Revision, CacheError> {
        Ok(self.0.storage.revision().await?)
    }

    /// One object.
    pub async fn get(&self, key: &str, start: StartFrom) -> Result<Option<Object>, CacheError> {
        let (found, _) = self.0.one(key, start).await?;
        Ok(found)
    }

    /// A page of objects.
    pub async fn list(&self, request: &ListRequest) -> Result<Listing, CacheError> {
        self.0.list(request).await
    }

    /// Begins a watch.
    pub async fn watch(&self, request: WatchRequest) -> Result<DirectWatch, CacheError> {
        DirectWatch::start(self.0.clone(), request).await
    }

    /// Ends every watch when it has yielded what there is.
    pub fn shutdown(&self) {
        self.0.closing.send_replace(true);
    }
}

impl Inner {
    /// What the keys of a scope begin with in storage.
    pub(super) fn prefix(&self, scope: &Scope<Box<str>>) -> String {
        let prefix = self.decoder.prefix();
        match scope {
            Scope::Resource => prefix.to_owned(),
            Scope::Namespace(namespace) => format!("{prefix}{namespace}/"),
            Scope::Object(key) => format!("{prefix}{key}"),
        }
    }

    /// What a stored value is, if it can be served.
    fn decoded(&self, stored: KeyValue) -> Option<Object> {
        let decoded = self.decoder.session().decode(stored);
        decoded.inspect_err(undecodable).ok()
    }

    /// One object and the revision of the state that was looked at.
    async fn one(
        &self,
        key: &str,
        start: StartFrom,
    ) -> Result<(Option<Object>, Revision), CacheError> {
        let key = format!("{}{key}", self.decoder.prefix());
        let (found, revision) = match start {
            StartFrom::Exact(revision) => {
                // A key comes before all others that begin with it.
                let list = List {
                    prefix: key.clone(),
                    after: None,
                    limit: 1,
                    at: Some(revision),
                };
                let page = self.storage.list(&list).await;
                let page = page.map_err(|error| read_error(error, start))?;
                let first = page.items.into_iter().next();
                (first.filter(|item| *item.key == *key), revision)
            }
            _ => {
                let got = self.storage.get(&key).await?;
                (got.found, got.revision)
            }
        };
        check(start, revision)?;
        Ok((found.and_then(|found| self.decoded(found)), revision))
    }

    pub(super) async fn list(&self, request: &ListRequest) -> Result<Listing, CacheError> {
        let start = request.start;
        if let Scope::Object(key) = &request.predicate.scope {
            let (found, revision) = self.one(key, start).await?;
            let after = request.after.as_deref();
            let wanted = |object: &Object| {
                after.is_none_or(|after| after < object.key()) && request.predicate.matches(object)
            };
            return Ok(Listing {
                items: found.into_iter().filter(wanted).collect(),
                revision,
                continue_after: None,
                remaining: 0,
            });
        }
        let page = match request.limit {
            0 => PAGE,
            limit => limit.min(PAGE),
        };
        let listing = match self.scan(request, page).await {
            // The first page's revision was compacted before the last was read: all at once, then.
            Err(StorageError::Compacted { .. }) if !matches!(start, StartFrom::Exact(_)) => {
                self.scan(request, 0).await
            }
            listing => listing,
        };
        let listing = listing.map_err(|error| read_error(error, start))?;
        check(start, listing.revision)?;
        Ok(listing)
    }

    /// Reads until there are enough objects that match, or no more keys.
    async fn scan(&self, request: &ListRequest, page: usize) -> Result<Listing, StorageError> {
        let session = self.decoder.session();
        let prefix = self.decoder.prefix();
        let mut pages = Pager::new(
            &*self.storage,
            List {
                prefix: self.prefix(&request.predicate.scope),
                after: request
                    .after
                    .as_ref()
                    .map(|after| format!("{prefix}{after}")),
                limit: page,
                at: match request.start {
                    StartFrom::Exact(revision) => Some(revision),
                    _ => None,
                },
            },
        );
        let limit = match request.limit {
            0 => usize::MAX,
            limit => limit,
        };
        let mut listing = Listing {
            items: Vec::new(),
            revision: Revision::ZERO,
            continue_after: None,
            remaining: 0,
        };
        while let Some(page) = pages.next().await? {
            listing.revision = page.revision;
            let mut items = page.items.into_iter();
            while let Some(item) = items.next() {
                let key = item.key.clone();
                let object = session.decode(item).inspect_err(undecodable).ok();
                listing
                    .items
                    .extend(object.filter(|object| request.predicate.matches(object)));
                let left = items.len() as u64 + page.remaining;
                if listing.items.len() == limit && left > 0 {
                    let name = key.strip_prefix(prefix).unwrap_or(&key);
                    listing.continue_after = Some(name.to_owned());
                    listing.remaining = usize::try_from(left).unwrap_or(usize::MAX);
                    return Ok(listing);
                }
            }
            pages.grow();
        }
        Ok(listing)
    }

    /// All objects that match, at this revision or a later one.
    pub(super) async fn all(
        &self,
        predicate: &Predicate,
        start: StartFrom,
    ) -> Result<(Vec<Object>, Revision), CacheError> {
        let request = ListRequest {
            predicate: predicate.clone(),
            start,
            limit: 0,
            after: None,
        };
        let listing = self.list(&request).await?;
        Ok((listing.items, listing.revision))
    }
}

/// Storage answers with its newest state: if that is not new enough, the revision is yet to come.
fn check(start: StartFrom, newest: Revision) -> Result<(), CacheError> {
    match start {
        StartFrom::NotOlderThan(requested) if requested > newest => {
            Err(CacheError::TooLarge { requested, newest })
        }
        _ => Ok(()),
    }
}

/// What an error of storage means to who asked for this state.
fn read_error(error: StorageError, start: StartFrom) -> CacheError {
    match (error, start) {
        (StorageError::Compacted { floor }, StartFrom::Exact(requested)) => CacheError::Expired {
            requested,
            floor: floor.unwrap_or_default(),
        },
        (StorageError::Future { newest }, StartFrom::Exact(requested)) => CacheError::TooLarge {
            requested,
            newest: newest.unwrap_or_default(),
        },
        (error, _) => CacheError::Storage(error),
    }
}

/// There is no quarantine to tell what came into it and when, so this is no news each time.
pub(super) fn undecodable(bad: &crate::cache::Undecodable) {
    tracing::debug!(key = %bad.key, why = %bad, "object left out");
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Direct")
            .field("prefix", &self.0.decoder.prefix())
            .finish_non_exhaustive()
    }
}
