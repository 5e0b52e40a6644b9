//! The watch cache: one resource in memory, in step with storage, for any number of readers.
//!
//! ```text
//!   Storage ──► reflector ──► state: objects (snapshots) + ring (history) + index (who cares)
//!                                │            │                │
//!                        list, get        watches (cursors)    wakes only those who may care
//! ```
//!
//! - Objects are kept as the bytes that are sent, with what filtering needs beside them. Nothing is
//!   parsed on the way out.
//! - A watch is a cursor into the shared ring. Writers never wait for it; if it falls off the ring it ends
//!   with [`WatchEnd::Expired`].
//! - A list is of one moment: it reads a snapshot that costs a few pointers. Lists of the past are
//!   served by undoing what the ring remembers, and from storage beyond that.
//! - When storage has to be listed again, watchers get the difference and stay.
//! - A value that cannot be decoded is [quarantined](Cache::quarantined), and everything else is served.
//! - Now and then the cache is [compared](Cache::verify) with storage, and repaired if it is wrong.

mod alarm;
mod decode;
mod error;
mod index;
mod list;
mod map;
mod metrics;
mod object;
mod quarantine;
mod reflector;
mod request;
mod self_check;
mod shared;
mod sizes;
mod sizing;
mod sketch;
mod stage;
mod state;
mod term;
mod verify;
mod wake;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ringwatch_core::json::PathError;
use ringwatch_core::revision::{Revision, StartFrom};
use tokio::task::JoinSet;

pub use decode::{Adapt, Adapter, Decoder, FieldSource, Format, Session, Undecodable, Why};
pub use error::CacheError;
pub use list::Listing;
pub use map::{ObjectMap, Position};
pub(crate) use metrics::Distribution;
pub use metrics::{Kind, Labels, Sample};
pub use object::Object;
pub use request::{ListRequest, Predicate, WatchRequest, WatchStart, everything};
pub use self_check::SelfCheck;
pub use sizes::{MAX_SIZE, Problem, Sizes, SizesError};
pub use sizing::{Capacity, FRESH};
pub use sketch::Sketch;
pub use verify::Verified;
pub use watch::{Seen, Standing, Watch, WatchEnd, WatchEvent};

use crate::storage::Storage;
use shared::Shared;

/// What to cache.
#[derive(Debug, Clone)]
pub struct Resource {
    /// What the keys begin with, `/` at the end included: `/pods/`.
    pub prefix: String,
    /// What the values are.
    pub format: Format,
    /// How many changes the ring holds.
    pub capacity: Capacity,
}

/// How a cache behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How often a watch that wants bookmarks gets one (up to a quarter more).
    pub bookmark_every: Duration,
    /// How long a read waits for a revision.
    pub freshness_wait: Duration,
    /// How often the cache is compared with storage (up to half as much later); `None` for never.
    pub verify_every: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bookmark_every: Duration::from_secs(60),
            freshness_wait: Duration::from_secs(3),
            verify_every: Some(Duration::from_secs(5 * 60)),
        }
    }
}

/// A handle to the cache of one resource; cheap to clone. The cache lives as long as a handle does.
#[derive(Clone)]
pub struct Cache {
    shared: Arc<Shared>,
    /// The reflector, the alarms and the self-check. They end with the last handle.
    _tasks: Arc<JoinSet<()>>,
}

impl Cache {
    /// Begins to fill a cache. Must be called inside a tokio runtime.
    pub fn start(
        storage: Arc<dyn Storage>,
        resource: &Resource,
        options: Options,
    ) -> Result<Self, PathError> {
        let decoder = Decoder::new(resource.prefix.as_str(), &resource.format)?;
        let shared = Arc::new(Shared::new(storage, resource, decoder, options));
        let mut tasks = JoinSet::new();
        tasks.spawn(reflector::run(shared.clone()));
        tasks.spawn(alarm::run(shared.clone()));
        if let Some(every) = options.verify_every {
            tasks.spawn(self_check::run(shared.clone(), every));
        }
        Ok(Self {
            shared,
            _tasks: Arc::new(tasks),
        })
    }

    /// What turns stored values into objects here.
    pub fn decoder(&self) -> &Decoder {
        &self.shared.decoder
    }

    /// Whether the first list is in.
    pub fn is_ready(&self) -> bool {
        self.shared.is_ready()
    }

    /// Waits until the first list is in.
    pub async fn ready(&self) {
        self.shared.ready().await;
    }

    /// The newest revision that the cache has.
    pub fn revision(&self) -> Revision {
        self.shared.read().revision()
    }

    /// One object. There is no exact read of one object; [`StartFrom::Exact`] reads the state at that revision.
    pub async fn get(&self, key: &str, start: StartFrom) -> Result<Option<Object>, CacheError> {
        let (objects, _) = list::state(&self.shared, start).await?;
        Ok(objects.get(key).cloned())
    }

    /// A page of objects.
    pub async fn list(&self, request: &ListRequest) -> Result<Listing, CacheError> {
        list::list(&self.shared, request).await
    }

    /// Begins a watch.
    pub async fn watch(&self, request: WatchRequest) -> Result<Watch, CacheError> {
        Watch::start(self.shared.clone(), request).await
    }

    /// As [`watch`](Self::watch), with what is here at this moment: nothing is waited for.
    pub fn watch_at_once(&self, request: WatchRequest) -> Result<Watch, CacheError> {
        Watch::start_at_once(self.shared.clone(), request, None)
    }

    /// Goes on with a watch whose reader has the objects up to `key` as they were at `since`: it gets the others, and what has
    /// happened to those since. Nothing is waited for; [`WatchRequest::start`] is not looked at.
    pub fn watch_within(
        &self,
        request: WatchRequest,
        key: &str,
        since: Revision,
    ) -> Result<Watch, CacheError> {
        Watch::start_at_once(self.shared.clone(), request, Some((key, since)))
    }

    /// All objects at this moment, and the revision of that.
    pub fn snapshot(&self) -> (ObjectMap, Revision) {
        list::snapshot(&self.shared)
    }

    /// The objects of a snapshot that match, in key order, from behind a key on.
    pub fn matching<'o>(
        &self,
        objects: &'o ObjectMap,
        predicate: &'o Predicate,
        after: Option<&str>,
    ) -> impl Iterator<Item = &'o Object> + use<'o> {
        list::matching(objects, predicate, after, self.decoder())
    }

    /// All objects as they were at a revision, if the ring reaches back so far.
    pub fn snapshot_at(&self, revision: Revision) -> Option<ObjectMap> {
        let state = self.shared.read();
        let known = revision <= state.revision();
        known.then(|| state.objects_at(revision).ok()).flatten()
    }

    /// Has every object decoded again, from storage: what makes objects of values has changed. Nobody who watches is told,
    /// since nothing was written.
    pub fn read_again(&self) {
        self.shared.want_relist();
    }

    /// How long the cache has not been able to follow storage; nothing while it does.
    pub fn behind(&self) -> Duration {
        self.shared.behind()
    }

    /// The stored values that are not served because they cannot be decoded.
    pub fn quarantined(&self) -> Vec<Undecodable> {
        self.shared.quarantine.all()
    }

    /// Compares the cache with storage at one revision, as is done every [`Options::verify_every`]. If they differ, which is
    /// a bug here or there, everything is read from storage again: watches get the difference, or end with
    /// [`WatchEnd::Expired`].
    pub async fn verify(&self) -> Result<Verified, CacheError> {
        self_check::check(&self.shared).await
    }

    /// The last comparison with storage, if there was one.
    pub fn last_check(&self) -> Option<SelfCheck> {
        self.shared.last_check()
    }

    /// Ends every watch with [`WatchEnd::ShuttingDown`], after it has yielded what there is and, if it wants
    /// bookmarks, where it stands: so its reader goes on elsewhere without a gap. Lists go on being served.
    pub fn shutdown(&self) {
        tracing::info!(prefix = self.shared.decoder.prefix(), "ending all watches");
        self.shared.close();
    }

    /// What the cache has counted. The resource is not in it: that is for whoever gathers the samples of several.
    pub fn metrics(&self) -> Vec<Sample> {
        let gauges = self.shared.read().gauges(self.shared.quarantine.len());
        metrics::samples(&self.shared.metrics, &gauges)
    }

    /// How long things took, told like [`metrics`](Self::metrics).
    pub(crate) fn distributions(&self) -> [Distribution<'_>; 4] {
        self.shared.metrics.distributions()
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("prefix", &self.shared.decoder.prefix())
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}
