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

use tokio::sync::watch::Sender;

use crate::backoff::Backoff;
use crate::cache;
use crate::objects::{Objects, namespaces};
use crate::process::Parts;
use crate::resources::Catalog;
use surface::{ReadOptions, Surface};

/// The API over one storage.
pub struct Api {
    parts: Parts,
    objects: Objects,
    /// Swapped as a whole when kinds come and go; held to clone the pointer.
    surface: RwLock<Arc<Surface>>,
    /// Lists that were compressed lately.
    compressed: list::Compressed,
    /// Whether what every cluster has is there.
    settled: Sender<bool>,
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
        let surface = Surface::start(catalog, &address, &parts.storage, &options);
        let api = Arc::new(Self {
            objects: Objects::new(parts.storage.clone()),
            surface: RwLock::new(Arc::new(surface)),
            compressed: list::Compressed::default(),
            settled: Sender::new(false),
            parts,
        });
        tokio::spawn(bootstrap(api.clone()));
        tokio::spawn(empty_namespaces(api.clone()));
        tokio::spawn(end_watches(api.clone()));
        api
    }

    /// Waits until what every cluster has is there: the default namespaces, the service `kubernetes`.
    pub async fn settled(&self) {
        // The sender is a part of this value, so there is one.
        let _ = self.settled.subscribe().wait_for(|settled| *settled).await;
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

/// Ends all watches when the server is told to stop.
async fn end_watches(api: Arc<Api>) {
    api.parts.shutdown.clone().begun().await;
    api.surface()
        .readers()
        .for_each(|(_, reader)| reader.shutdown());
}
