//! Reading a resource, whether it is cached or not.
//!
//! ```text
//!                ┌─► Cache  ──► reflector ─┐
//!   Reader ──────┤                         ├──► Storage
//!                └─► Direct ───────────────┘
//! ```
//!
//! Both ways take the same requests and give the same objects, events and errors. Without a cache each read costs storage
//! a read and each watch a watch, and each reader decodes for itself: for resources that are written often and
//! read seldom, that is the better bargain. What differs:
//!
//! - Every list is of the newest state unless it names one; a revision in the future is refused at once.
//! - A watch reaches back as far as storage does, and not as far as a ring.
//! - A watch that begins with a state holds all of its objects that match until they are read.
//! - A watch ends with [`WatchEnd::Storage`] when storage fails; with a cache it would not notice.

mod direct;
mod follow;

use std::sync::Arc;

use ringwatch_core::json::PathError;
use ringwatch_core::revision::{Revision, StartFrom};

pub use direct::Direct;
pub use follow::DirectWatch;

use crate::cache::{
    self, Cache, CacheError, Capacity, Decoder, Format, ListRequest, Listing, Object, Options,
    Resource, WatchEnd, WatchEvent, WatchRequest,
};
use crate::storage::Storage;

/// A handle for reading one resource; cheap to clone.
#[derive(Debug, Clone)]
pub enum Reader {
    /// From memory.
    Cached(Cache),
    /// From storage.
    Direct(Direct),
}

impl Reader {
    /// Begins to read the values below `prefix`, through a cache if there is a capacity for it (see
    /// [`Sizes::of`](cache::Sizes::of)). Must be called inside a tokio runtime.
    pub fn start(
        storage: Arc<dyn Storage>,
        prefix: impl Into<String>,
        format: Format,
        capacity: Option<Capacity>,
        options: Options,
    ) -> Result<Self, PathError> {
        let prefix = prefix.into();
        match capacity {
            Some(capacity) => {
                let resource = Resource {
                    prefix,
                    format,
                    capacity,
                };
                Cache::start(storage, &resource, options).map(Self::Cached)
            }
            None => Direct::new(storage, &prefix, &format, options).map(Self::Direct),
        }
    }

    /// What turns stored values into objects here.
    pub fn decoder(&self) -> &Decoder {
        match self {
            Self::Cached(cache) => cache.decoder(),
            Self::Direct(direct) => direct.decoder(),
        }
    }

    /// Whether there is something to read from.
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Cached(cache) => cache.is_ready(),
            Self::Direct(_) => true,
        }
    }

    /// Waits until there is something to read from.
    pub async fn ready(&self) {
        match self {
            Self::Cached(cache) => cache.ready().await,
            Self::Direct(_) => {}
        }
    }

    /// The newest revision that a read would see without waiting.
    pub async fn revision(&self) -> Result<Revision, CacheError> {
        match self {
            Self::Cached(cache) => Ok(cache.revision()),
            Self::Direct(direct) => direct.revision().await,
        }
    }

    /// Waits until what is read here is not older than a revision, for as long as any read waits for that.
    pub async fn reach(&self, revision: Revision) -> Result<(), CacheError> {
        match self {
            Self::Cached(cache) => {
                let state = cache.get("", StartFrom::NotOlderThan(revision)).await;
                state.map(drop)
            }
            Self::Direct(_) => Ok(()),
        }
    }

    /// One object. There is no exact read of one object; [`StartFrom::Exact`] reads the state at that revision.
    pub async fn get(&self, key: &str, start: StartFrom) -> Result<Option<Object>, CacheError> {
        match self {
            Self::Cached(cache) => cache.get(key, start).await,
            Self::Direct(direct) => direct.get(key, start).await,
        }
    }

    /// A page of objects.
    pub async fn list(&self, request: &ListRequest) -> Result<Listing, CacheError> {
        match self {
            Self::Cached(cache) => cache.list(request).await,
            Self::Direct(direct) => direct.list(request).await,
        }
    }

    /// Begins a watch.
    pub async fn watch(&self, request: WatchRequest) -> Result<Watch, CacheError> {
        match self {
            Self::Cached(cache) => cache.watch(request).await.map(Watch::Cached),
            Self::Direct(direct) => {
                let watch = direct.watch(request).await?;
                Ok(Watch::Direct(Box::new(watch)))
            }
        }
    }

    /// Has every object decoded again, if they are kept.
    pub fn read_again(&self) {
        match self {
            Self::Cached(cache) => cache.read_again(),
            Self::Direct(_) => {}
        }
    }

    /// Ends every watch with [`WatchEnd::ShuttingDown`], after it has yielded what there is and, if it wants
    /// bookmarks, where it stands.
    pub fn shutdown(&self) {
        match self {
            Self::Cached(cache) => cache.shutdown(),
            Self::Direct(direct) => direct.shutdown(),
        }
    }
}

/// A running watch. Dropping it ends it.
pub enum Watch {
    /// From memory.
    Cached(cache::Watch),
    /// From storage.
    Direct(Box<DirectWatch>),
}

impl Watch {
    /// The next event, or why there is none any more. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Result<WatchEvent, WatchEnd> {
        match self {
            Self::Cached(watch) => watch.next().await,
            Self::Direct(watch) => watch.next().await,
        }
    }

    /// The next event if there is one without waiting.
    pub fn try_next(&mut self) -> Option<Result<WatchEvent, WatchEnd>> {
        match self {
            Self::Cached(watch) => watch.try_next(),
            Self::Direct(watch) => watch.try_next(),
        }
    }

    /// From where another watch would continue; `None` while the initial objects are not complete.
    pub fn resume_from(&mut self) -> Option<Revision> {
        match self {
            Self::Cached(watch) => watch.resume_from(),
            Self::Direct(watch) => watch.resume_from(),
        }
    }
}
