//! A store with the default namespaces, and short ways to ask it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use ringwatch_server::negotiate::Patch;
use ringwatch_server::objects::environment::Environment;
use ringwatch_server::objects::options::{DeleteOptions, WriteOptions};
use ringwatch_server::objects::update::Part;
use ringwatch_server::objects::{Address, Answer, Objects, PatchBody};
use ringwatch_server::resources::{Catalog, Resource};
use ringwatch_server::schema::{Parsed, parse};
use ringwatch_server::status::Failure;
use ringwatch_server::storage::{Embedded, Storage};
use serde_json::Value;

/// Options that say nothing.
pub(crate) fn plain() -> WriteOptions {
    WriteOptions::default()
}

/// Everything but storing.
pub(crate) fn dry() -> WriteOptions {
    WriteOptions {
        dry_run: true,
        ..plain()
    }
}

/// Code, reason and message of a failure.
pub(crate) fn said(failure: &Failure) -> (u16, &str, &str) {
    (failure.code, failure.reason, &failure.message)
}

/// The resourceVersion of an object.
pub(crate) fn revision(value: &Value) -> &str {
    let revision = value["metadata"]["resourceVersion"].as_str();
    revision.unwrap_or_default()
}

/// A body.
pub(crate) fn body(value: &Value) -> Parsed {
    parse(value.to_string().as_bytes()).unwrap()
}

/// A store, and what may be in it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) objects: Objects,
    pub(crate) catalog: Catalog,
}

impl World {
    pub(crate) async fn new() -> Self {
        let storage: Arc<dyn Storage> = Arc::new(Embedded::in_memory());
        let world = Self {
            objects: Objects::new(storage.clone()),
            storage,
            catalog: Catalog::builtin(),
        };
        world.objects.bootstrap(&world.catalog).await.unwrap();
        world
    }

    /// A resource, with its group after a dot.
    pub(crate) fn of(&self, name: &str) -> &Resource {
        let (plural, group) = name.split_once('.').unwrap_or((name, ""));
        self.catalog.find(group, "v1", plural).unwrap()
    }

    /// The place of an object in the default namespace.
    pub(crate) fn at<'a>(&'a self, resource: &str, name: &'a str) -> Address<'a> {
        Address::new(self.of(resource), Some("default"), name)
    }

    pub(crate) async fn create(&self, resource: &str, value: &Value) -> Result<Answer, Failure> {
        let (of, options) = (self.of(resource), plain());
        self.objects
            .create(of, Some("default"), body(value), &options)
            .await
    }

    pub(crate) async fn put(&self, resource: &str, value: &Value) -> Result<Answer, Failure> {
        let name = value["metadata"]["name"].as_str().unwrap();
        let at = self.at(resource, name);
        self.objects
            .update(at, Part::Whole, body(value), &plain())
            .await
    }

    pub(crate) async fn patch(
        &self,
        resource: &str,
        name: &str,
        format: Patch,
        patch: &Value,
    ) -> Result<Answer, Failure> {
        let bytes = patch.to_string();
        let patch = PatchBody {
            format,
            bytes: bytes.as_bytes(),
        };
        let at = self.at(resource, name);
        self.objects.patch(at, Part::Whole, patch, &plain()).await
    }

    pub(crate) async fn delete(&self, resource: &str, name: &str) -> Result<Answer, Failure> {
        self.objects
            .delete(self.at(resource, name), &DeleteOptions::default())
            .await
    }

    pub(crate) async fn get(&self, resource: &str, name: &str) -> Result<Answer, Failure> {
        self.objects.get(self.at(resource, name)).await
    }

    /// The store's revision: whether anything was written.
    pub(crate) async fn revision(&self) -> u64 {
        self.storage.revision().await.unwrap().get()
    }
}

/// Dice that show the same number for some throws, then the next.
pub(crate) struct Dice {
    /// After how many throws the number changes.
    pub(crate) every: usize,
    pub(crate) thrown: AtomicUsize,
}

impl Environment for Dice {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn random(&self, buffer: &mut [u8]) -> Result<(), String> {
        let thrown = self.thrown.fetch_add(1, Ordering::SeqCst);
        buffer.fill((thrown / self.every) as u8);
        Ok(())
    }
}
