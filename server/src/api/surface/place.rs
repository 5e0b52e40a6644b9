//! Where the objects below one prefix are read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use serde_json::Value;

use super::{Ground, fields};
use crate::cache::{Adapt, Adapter, FieldSource, Format};
use crate::definitions::{Custom, Kind};
use crate::reader::Reader;
use crate::resources::Resource;
use crate::storage::Storage;

/// Where the objects below one prefix are read. It outlives surfaces: as long as a kind is the same, so is its place, whatever
/// else its definition comes to say.
pub(super) struct Place {
    /// What all keys begin with: `/pods/`.
    prefix: String,
    /// Group and plural, by which sizes of caches are named.
    name: [String; 2],
    fields: Vec<FieldSource>,
    /// What stored objects are read by, for custom kinds.
    reading: Option<Arc<Reading>>,
    /// There from the start for built-in kinds; custom ones wait for somebody to read them. Most are idle.
    reader: OnceLock<Reader>,
    closed: AtomicBool,
}

impl Place {
    pub(super) fn new(prefix: &str, views: &[&Resource], ground: &Ground) -> Self {
        let name = views.first().map(|view| [&view.group, &view.plural]);
        let kind = views.iter().find_map(|view| view.custom());
        let place = Self {
            prefix: format!("/{prefix}/"),
            name: name.map_or_else(Default::default, |name| name.map(|part| part.to_string())),
            fields: fields(views),
            reading: kind.map(|custom| Arc::new(Reading(RwLock::new(custom.kind().clone())))),
            reader: OnceLock::new(),
            closed: AtomicBool::new(false),
        };
        if !place.is_custom() {
            place.reader(ground);
        }
        place
    }

    pub(super) fn is_custom(&self) -> bool {
        self.reading.is_some()
    }

    /// Where to read, from now on if it has not been before.
    pub(super) fn reader(&self, ground: &Ground) -> &Reader {
        let reader = self.reader.get_or_init(|| {
            let [group, plural] = &self.name;
            let size = ground.options.sizes.of(group, plural);
            let capacity = size.filter(|_| ground.options.cached);
            let fields = self.fields.clone();
            let format = match &self.reading {
                None => Format::Json { fields },
                Some(reading) => Format::Adapted {
                    fields,
                    adapter: Adapter(reading.clone()),
                },
            };
            let options = ground.options.cache;
            Reader::start(
                ground.storage.clone(),
                &*self.prefix,
                format,
                capacity,
                options,
            )
            .expect("paths were checked when the kind was made")
        });
        if self.closed.load(Ordering::SeqCst) || ground.closing.load(Ordering::SeqCst) {
            reader.shutdown();
        }
        reader
    }

    /// Where it is read, if it is.
    pub(super) fn started(&self) -> Option<&Reader> {
        self.reader.get()
    }

    /// Whether it can go on as the place of these views: of the same kind, selected by the same fields.
    pub(super) fn serves(&self, views: &[&Resource]) -> bool {
        let kind = views.iter().find_map(|view| view.custom());
        let same = match (&self.reading, kind) {
            (None, None) => true,
            (Some(reading), Some(custom)) => reading.kind().is(custom.kind()),
            _ => false,
        };
        same && self.fields == fields(views)
    }

    /// Goes on as the place of these views.
    pub(super) fn take_over(&self, views: &[&Resource]) {
        let kind = views.iter().find_map(|view| view.custom());
        let (Some(reading), Some(kind)) = (&self.reading, kind.map(Custom::kind)) else {
            return;
        };
        let before = reading.replace(kind.clone());
        if let (false, Some(reader)) = (before.says_the_same(kind), self.started()) {
            reader.read_again();
        }
    }

    /// Ends all watches when they have come as far as storage is.
    pub(super) async fn end(self: Arc<Self>, storage: Arc<dyn Storage>) {
        if let (Some(reader), Ok(newest)) = (self.started(), storage.revision().await) {
            // If it does not come so far, whoever asks again is told.
            let _ = reader.reach(newest).await;
        }
        self.close();
    }

    /// Ends all watches, now and in the future.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Some(reader) = self.started() {
            reader.shutdown();
        }
    }
}

/// What stored objects of a custom kind are read by: the newest state of its definition.
struct Reading(RwLock<Arc<Kind>>);

impl Reading {
    fn kind(&self) -> Arc<Kind> {
        let kind = self.0.read().unwrap_or_else(PoisonError::into_inner);
        kind.clone()
    }

    fn replace(&self, kind: Arc<Kind>) -> Arc<Kind> {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *held, kind)
    }
}

impl Adapt for Reading {
    fn adapt(&self, value: &[u8]) -> Option<Vec<u8>> {
        // What is no JSON is found out by who decodes it.
        let mut object: Value = serde_json::from_slice(value).ok()?;
        let changed = self.kind().refresh(&mut object);
        changed.then(|| object.to_string().into_bytes())
    }
}
