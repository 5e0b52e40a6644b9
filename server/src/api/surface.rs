//! What the server serves at one moment: the kinds, their documents, and where each is read.

mod place;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use place::Place;

use crate::cache::{FieldSource, Options, Sizes};
use crate::discovery::Discovery;
use crate::openapi::OpenApi;
use crate::reader::Reader;
use crate::resources::{Catalog, Resource};
use crate::storage::Storage;

/// How objects are read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Whether there are caches at all.
    pub cached: bool,
    /// How large each is, and which are switched off.
    pub sizes: Sizes,
    /// How they behave.
    pub cache: Options,
}

/// Everything that follows from a catalog. Immutable: other kinds are another surface.
pub struct Surface {
    /// The kinds.
    pub catalog: Catalog,
    /// What discovery says of them.
    pub discovery: Discovery,
    /// What OpenAPI says of them.
    pub openapi: OpenApi,
    /// By the prefix of their keys: two views of the same objects share one.
    places: HashMap<String, Arc<Place>>,
    ground: Arc<Ground>,
}

/// What all surfaces of a server stand on.
struct Ground {
    builtin: Catalog,
    address: String,
    storage: Arc<dyn Storage>,
    options: ReadOptions,
    /// Whether all watches are to end.
    closing: AtomicBool,
}

impl Surface {
    /// Begins to read all kinds of a catalog. Must be called inside a tokio runtime.
    pub fn start(
        catalog: Catalog,
        address: &str,
        storage: &Arc<dyn Storage>,
        options: &ReadOptions,
    ) -> Self {
        let ground = Arc::new(Ground {
            builtin: catalog.clone(),
            address: address.to_owned(),
            storage: storage.clone(),
            options: options.clone(),
            closing: AtomicBool::new(false),
        });
        Self {
            discovery: Discovery::new(catalog.clone(), address),
            openapi: OpenApi::new(catalog.clone()),
            places: places(&catalog, &ground, &HashMap::new()),
            catalog,
            ground,
        }
    }

    /// The surface that has these custom kinds and no others. What is read for kinds that stay goes on being read: watches stay
    /// open. Those of the others have to be [ended](Self::end_unlike).
    pub fn with_custom(&self, custom: &[Arc<Resource>]) -> Self {
        let catalog = self.ground.builtin.with_free(custom);
        Self {
            discovery: Discovery::new(catalog.clone(), &self.ground.address),
            openapi: self.openapi.next(catalog.clone()),
            places: places(&catalog, &self.ground, &self.places),
            catalog,
            ground: self.ground.clone(),
        }
    }

    /// What the program serves by itself.
    pub fn builtin(&self) -> &Catalog {
        &self.ground.builtin
    }

    /// Where objects of a kind are read; `None` for kinds that are not stored. A custom kind is read from its first reader on.
    pub fn reader(&self, resource: &Resource) -> Option<&Reader> {
        let place = self.places.get(&key_prefix(resource)?)?;
        Some(place.reader(&self.ground))
    }

    /// All readers there are, by the prefix of their keys.
    pub fn readers(&self) -> impl Iterator<Item = (&str, &Reader)> {
        let places = self.places.iter();
        places.filter_map(|(prefix, place)| Some((prefix.as_str(), place.started()?)))
    }

    /// Whether the built-in kinds can be read.
    pub fn is_ready(&self) -> bool {
        let builtin = self.places.values().filter(|place| !place.is_custom());
        builtin
            .filter_map(|place| place.started())
            .all(Reader::is_ready)
    }

    /// Ends the watches of kinds that `next` does not have, or reads in another way, when they have told what has happened until
    /// now: that the last objects of a kind are gone, if its definition is.
    pub fn end_unlike(&self, next: &Self) {
        for (prefix, place) in &self.places {
            let kept = next.places.get(prefix);
            if kept.is_none_or(|kept| !Arc::ptr_eq(kept, place)) {
                tokio::spawn(place.clone().end(self.ground.storage.clone()));
            }
        }
    }

    /// Ends all watches, here and in every surface that follows.
    pub fn close(&self) {
        self.ground.closing.store(true, Ordering::SeqCst);
        self.places.values().for_each(|place| place.close());
    }
}

impl fmt::Debug for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surface")
            .field("places", &self.places.len())
            .finish_non_exhaustive()
    }
}

/// Where the kinds of a catalog are read: where they were read before, if that still does.
fn places(
    catalog: &Catalog,
    ground: &Ground,
    before: &HashMap<String, Arc<Place>>,
) -> HashMap<String, Arc<Place>> {
    let mut views: HashMap<String, Vec<&Resource>> = HashMap::new();
    for resource in catalog.resources() {
        if let Some(prefix) = key_prefix(resource) {
            views.entry(prefix).or_default().push(resource);
        }
    }
    let place = |(prefix, views): (String, Vec<&Resource>)| {
        let place = match before.get(&prefix).filter(|place| place.serves(&views)) {
            Some(place) => {
                place.take_over(&views);
                place.clone()
            }
            None => Arc::new(Place::new(&prefix, &views, ground)),
        };
        (prefix, place)
    };
    views.into_iter().map(place).collect()
}

/// What all keys of a kind begin with: `/pods/`.
pub fn key_prefix(resource: &Resource) -> Option<String> {
    let stored = resource.storage.as_ref()?;
    Some(format!("/{}/", stored.prefix))
}

/// The key of an object in its resource.
pub fn object_key(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

/// The names that field selectors may use in any of the views.
fn fields(views: &[&Resource]) -> Vec<FieldSource> {
    let mut fields: Vec<FieldSource> = Vec::new();
    for label in views.iter().flat_map(|view| &view.fields.labels) {
        if fields.iter().all(|field| field.name != label.name) {
            fields.push(FieldSource {
                name: label.name.clone().into_owned(),
                path: label.path.clone().map(|path| path.into_owned()),
                absent: label.absent.clone().into_owned(),
            });
        }
    }
    fields
}
