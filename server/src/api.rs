//! The Kubernetes API: from a request to an answer.
//!
//! ```text
//!   headers ──► caller ─┐
//!   path ──► Route ─────┴─┬─► documents: discovery, OpenAPI, version, health, metrics
//!                         └─► Target + method ──┬─► read: get, list, watch ◄── Reader
//!   query ──► options ──────────────────────────┤
//!   body ──► content ───────────────────────────┴─► write ──► Objects
//!   Accept ──► Rendition: how the answer looks
//! ```
//!
//! A request is typed before anything is done for it: a bad one is refused before any state exists.

mod content;
pub mod continuation;
mod documents;
mod failures;
mod handler;
mod list;
mod metrics;
pub mod options;
pub mod query;
mod read;
pub mod rendition;
mod reviews;
pub mod surface;
mod timeout;
mod watch;
mod write;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ringwatch_core::revision::Revision;
use tokio::sync::watch::Sender;

use crate::backoff::Backoff;
use crate::cache;
use crate::definitions;
use crate::link::NodeRestarts;
use crate::objects::definitions::Follower;
use crate::objects::{Objects, namespaces};
use crate::process::Parts;
use crate::resources::{Catalog, Resource};
use surface::{ReadOptions, Surface};

/// The API over one storage.
pub struct Api {
    parts: Parts,
    objects: Objects,
    /// Swapped as a whole when kinds come and go; held to clone the pointer.
    surface: RwLock<Arc<Surface>>,
    /// Lists that were compressed lately.
    compressed: list::Compressed,
    /// What was asked so far.
    requests: metrics::Requests,
    /// What nodes have reported.
    restarts: NodeRestarts,
    /// Whether what every cluster has is there.
    settled: Sender<bool>,
    /// The newest definition of a kind that is served as it says; none before all are.
    kinds: Sender<Option<Revision>>,
}

impl Api {
    /// Begins to serve the built-in kinds. Must be called inside a tokio runtime.
    pub fn start(parts: Parts) -> Arc<Self> {
        let options = ReadOptions {
            cached: parts.settings.watch_cache.is_some(),
            sizes: parts.settings.watch_cache.clone().unwrap_or_default(),
            cache: cache::Options::default(),
        };
        let address = parts.address.to_string();
        let catalog = Catalog::builtin_with(parts.settings.event_ttl);
        for name in options.sizes.names() {
            if catalog
                .resources()
                .iter()
                .all(|row| row.qualified_plural() != name)
            {
                tracing::warn!(
                    resource = name,
                    "no such resource is built in; the size of its cache counts once a definition brings it"
                );
            }
        }
        let surface = Surface::start(catalog, &address, &parts.storage, &options);
        let api = Arc::new(Self {
            objects: Objects::new(parts.storage.clone()),
            surface: RwLock::new(Arc::new(surface)),
            compressed: list::Compressed::default(),
            requests: metrics::Requests::default(),
            restarts: NodeRestarts::default(),
            settled: Sender::new(false),
            kinds: Sender::new(None),
            parts,
        });
        tokio::spawn(bootstrap(api.clone()));
        tokio::spawn(empty_namespaces(api.clone()));
        tokio::spawn(follow_definitions(api.clone()));
        tokio::spawn(end_watches(api.clone()));
        api
    }

    /// Waits until what every cluster has is there (the default namespaces, the service `kubernetes`), and all custom kinds
    /// are served.
    pub async fn settled(&self) {
        // The senders are parts of this value, so there are some.
        let _ = self.settled.subscribe().wait_for(|settled| *settled).await;
        let _ = self.kinds.subscribe().wait_for(Option::is_some).await;
    }

    /// Serves these custom kinds, and no others.
    fn serve(&self, custom: &[Arc<Resource>]) {
        // One task does this, so nothing comes in between.
        let before = self.surface();
        let next = Arc::new(before.with_custom(custom));
        *self.surface.write().unwrap_or_else(PoisonError::into_inner) = next.clone();
        before.end_unlike(&next);
    }

    /// What nodes report of themselves.
    pub(crate) const fn restarts(&self) -> &NodeRestarts {
        &self.restarts
    }

    /// What is served now.
    pub fn surface(&self) -> Arc<Surface> {
        let surface = self.surface.read();
        surface.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Puts in what every cluster has, when storage can be reached.
async fn bootstrap(api: Arc<Api>) {
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
    while let Err(failure) = api.objects.bootstrap(&api.surface().catalog).await {
        tracing::warn!(%failure, "the default namespaces could not be made; trying again");
        tokio::time::sleep(backoff.delay()).await;
    }
    api.settled.send_replace(true);
}

/// Empties deleted namespaces, for ever.
async fn empty_namespaces(api: Arc<Api>) {
    let surface = api.surface();
    let namespaces = surface.catalog.find("", "v1", "namespaces");
    if let Some(reader) = namespaces.and_then(|namespaces| surface.reader(namespaces)) {
        reader.ready().await;
        let catalog = {
            let api = api.clone();
            move || api.surface().catalog.clone()
        };
        namespaces::run(api.objects.clone(), reader.clone(), catalog).await;
    }
}

/// Serves the kinds that are defined, for ever.
async fn follow_definitions(api: Arc<Api>) {
    let surface = api.surface();
    let [group, version, plural] = definitions::RESOURCE;
    let resource = surface.catalog.find(group, version, plural);
    if let Some(reader) = resource.and_then(|resource| surface.reader(resource)) {
        reader.ready().await;
        let follower = Follower {
            objects: api.objects.clone(),
            reader: reader.clone(),
            builtin: surface.builtin().clone(),
            serve: |custom: Vec<Arc<Resource>>| api.serve(&custom),
            served: api.kinds.clone(),
        };
        follower.run().await;
    }
}

/// Ends all watches when the server is told to stop.
async fn end_watches(api: Arc<Api>) {
    api.parts.shutdown.clone().begun().await;
    api.surface().close();
}
