//! What the server serves at one moment: the kinds, their documents, and where each is read.

mod place;

use std::collections::{HashMap, HashSet};
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
    /// By the prefix under which their objects are stored: two views of the same objects share one.
    places: Places,
    ground: Arc<Ground>,
}

type Places = HashMap<Arc<str>, Arc<Place>>;

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
            places: places(catalog.resources(), &ground),
            catalog,
            ground,
        }
    }

    /// The surface that has these custom kinds and no others. What is read for kinds that stay goes on being read: watches stay
    /// open. Those of the others have to be [ended](Self::end_unlike).
    pub fn with_custom(&self, custom: &[Arc<Resource>]) -> Self {
        let catalog = self.catalog.with_custom(custom);
        Self {
            discovery: Discovery::new(catalog.clone(), &self.ground.address),
            openapi: self.openapi.next(catalog.clone()),
            places: self.places_for(&catalog),
            catalog,
            ground: self.ground.clone(),
        }
    }

    /// Where the kinds of a catalog are read: where they were read before, if that still does. Kinds that are the same are not
    /// looked at: there may be many, and they change one at a time.
    fn places_for(&self, catalog: &Catalog) -> Places {
        let changed: HashSet<&str> = catalog
            .difference(&self.catalog)
            .into_iter()
            .filter_map(stored_at)
            .collect();
        let of_changed = |row: &&Arc<Resource>| {
            let at = stored_at(row);
            at.is_some_and(|at| changed.contains(at))
        };
        let rows = catalog.resources().iter().filter(of_changed);
        let mut places = self.places.clone();
        for prefix in &changed {
            places.remove(*prefix);
        }
        for (prefix, views) in views(rows) {
            let before = self.places.get(prefix);
            let place = match before.filter(|place| place.serves(&views)) {
                Some(place) => {
                    place.take_over(&views);
                    place.clone()
                }
                None => Arc::new(Place::new(prefix, &views, &self.ground)),
            };
            places.insert(prefix.into(), place);
        }
        places
    }

    /// What the program serves by itself.
    pub fn builtin(&self) -> &Catalog {
        &self.ground.builtin
    }

    /// Where objects of a kind are read; `None` for kinds that are not stored. A custom kind is read from its first reader on.
    pub fn reader(&self, resource: &Resource) -> Option<&Reader> {
        let place = self.places.get(stored_at(resource)?)?;
        Some(place.reader(&self.ground))
    }

    /// All readers there are, by the prefix under which their objects are stored.
    pub fn readers(&self) -> impl Iterator<Item = (&str, &Reader)> {
        let places = self.places.iter();
        places.filter_map(|(prefix, place)| Some((&**prefix, place.started()?)))
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

/// Where kinds are read from now on.
fn places(rows: &[Arc<Resource>], ground: &Ground) -> Places {
    let place = |(prefix, views): (&str, Vec<&Resource>)| {
        (prefix.into(), Arc::new(Place::new(prefix, &views, ground)))
    };
    views(rows).into_iter().map(place).collect()
}

/// The views of the same objects, by where those are stored.
fn views<'a>(
    rows: impl IntoIterator<Item = &'a Arc<Resource>>,
) -> HashMap<&'a str, Vec<&'a Resource>> {
    let mut views: HashMap<&str, Vec<&Resource>> = HashMap::new();
    for row in rows {
        if let Some(prefix) = stored_at(row) {
            views.entry(prefix).or_default().push(row);
        }
    }
    views
}

/// Under which prefix objects of a kind are stored: `pods`, `example.com/devices`.
pub fn stored_at(resource: &Resource) -> Option<&str> {
    Some(&resource.storage.as_ref()?.prefix)
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
