//! What the server serves at one moment: the kinds, their documents, and where each is read.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::cache::{FieldSource, Format, Options, Sizes};
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
    readers: HashMap<String, Reader>,
}

impl Surface {
    /// Begins to read all kinds of a catalog. Must be called inside a tokio runtime.
    pub fn start(
        catalog: Catalog,
        address: &str,
        storage: &Arc<dyn Storage>,
        options: &ReadOptions,
    ) -> Self {
        let mut readers = HashMap::new();
        for resource in catalog.resources() {
            let Some(prefix) = key_prefix(resource) else {
                continue;
            };
            readers.entry(prefix.clone()).or_insert_with(|| {
                let views = catalog
                    .resources()
                    .iter()
                    .filter(|other| key_prefix(other).as_deref() == Some(&prefix));
                let size = options.sizes.of(&resource.group, &resource.plural);
                let capacity = size.filter(|_| options.cached);
                let format = Format::Json {
                    fields: fields(views.map(|view| &**view)),
                };
                Reader::start(storage.clone(), prefix, format, capacity, options.cache)
                    .expect("paths in the catalog were checked when it was made")
            });
        }
        Self {
            discovery: Discovery::new(&catalog, address),
            openapi: OpenApi::new(catalog.clone()),
            catalog,
            readers,
        }
    }

    /// Where objects of a kind are read; `None` for kinds that are not stored.
    pub fn reader(&self, resource: &Resource) -> Option<&Reader> {
        self.readers.get(&key_prefix(resource)?)
    }

    /// All readers, by the prefix of their keys.
    pub fn readers(&self) -> impl Iterator<Item = (&str, &Reader)> {
        self.readers
            .iter()
            .map(|(prefix, reader)| (prefix.as_str(), reader))
    }
}

impl fmt::Debug for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surface")
            .field("readers", &self.readers.len())
            .finish_non_exhaustive()
    }
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
fn fields<'a>(views: impl Iterator<Item = &'a Resource>) -> Vec<FieldSource> {
    let mut fields: Vec<FieldSource> = Vec::new();
    for label in views.flat_map(|view| &view.fields.labels) {
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
