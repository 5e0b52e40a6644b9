//! Writing objects: what a POST, PUT, PATCH or DELETE does, without HTTP.
//!
//! ```text
//!   body ──► schema::parse ──► body (kind, types) ─┐
//!   query ─► options ──────────────────────────────┤
//!                                                  ▼
//!   storage ──► old object ──► create │ update │ delete: pure decisions ──► encode ──► storage
//!                   ▲                                                                  │
//!                   └───────────────── someone else was faster ────────────────────────┘
//! ```
//!
//! The decisions are functions of the stored object, the request, the moment and random bytes; [`Objects`] is the thin shell
//! that reads, decides and commits, again if somebody else was faster. Answers are built from what was committed, byte for byte what
//! watchers will see.
//!
//! ```
//! use std::sync::Arc;
//! use ringwatch_server::objects::{Address, Objects, options::WriteOptions};
//! use ringwatch_server::resources::Catalog;
//! use ringwatch_server::schema::parse;
//! use ringwatch_server::storage::Embedded;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let objects = Objects::new(Arc::new(Embedded::in_memory()));
//! let catalog = Catalog::builtin();
//! objects.bootstrap(&catalog).await.unwrap();
//! let configmaps = catalog.find("", "v1", "configmaps").unwrap();
//! let body = parse(br#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#).unwrap();
//! let answer = objects.create(configmaps, Some("default"), body, &WriteOptions::default()).await.unwrap();
//! assert_eq!(answer.code, 201);
//! assert!(answer.body.starts_with(br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"#));
//! # }
//! ```

pub mod body;
pub mod bootstrap;
pub mod create;
pub mod definitions;
pub mod delete;
pub mod encode;
pub mod environment;
pub(crate) mod meta;
pub mod namespaces;
pub mod options;
pub mod update;

mod address;
mod agenda;
mod answer;
mod apply;
mod by;
mod remove;
mod replace;
mod subresource;

use std::sync::Arc;

use ringwatch_core::revision::Revision;
use serde_json::Value;

pub use self::address::Address;
pub use self::answer::{Answer, Content};
pub use self::replace::PatchBody;

use self::body::Expected;
use self::environment::{Environment, System};
use self::options::WriteOptions;
use self::update::Part;
use crate::definitions::Custom;
use crate::resources::Resource;
use crate::schema::Parsed;
use crate::status::Failure;
use crate::storage::{Outcome, Storage, Ttl, Write};

/// How many names are made up for one object.
const NAME_ATTEMPTS: usize = 8;

/// Reads and writes single objects; cheap to clone.
#[derive(Clone)]
pub struct Objects {
    storage: Arc<dyn Storage>,
    environment: Arc<dyn Environment>,
}

impl Objects {
    /// The objects in a store.
    pub fn new(storage: Arc<dyn Storage>) -> Self {
        Self::with_environment(storage, Arc::new(System))
    }

    /// The objects in a store, with another clock and other dice.
    pub fn with_environment(storage: Arc<dyn Storage>, environment: Arc<dyn Environment>) -> Self {
        Self {
            storage,
            environment,
        }
    }

    /// One object, as it is now: it sees every write that was answered before.
    ///
    /// # Errors
    ///
    /// A 404, or a 500 from storage.
    pub async fn get(&self, at: Address<'_>) -> Result<Answer, Failure> {
        let key = at.key()?;
        let got = self.storage.get(&key).await;
        let got = got.map_err(|error| Failure::storage(at.resource, "get", &error))?;
        let found = got.found.ok_or_else(|| at.not_found())?;
        Ok(Answer::object(200, encode::read(at.resource, &found)?))
    }

    /// A new object: POST to a collection.
    ///
    /// # Errors
    ///
    /// 400 and 422 for the object, 403 and 404 for its namespace, 409 for its name.
    pub async fn create(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        body: Parsed,
        options: &WriteOptions,
    ) -> Result<Answer, Failure> {
        let expected = Expected::from(resource);
        let (mut object, mut warnings) = expected.read(body, options.field_validation)?;
        create::place(resource, namespace, &mut object)?;
        self.admit(resource, &object).await?;
        let attempts = if create::wants_name(&object) {
            NAME_ATTEMPTS
        } else {
            1
        };
        let by = self.by(resource, Part::Whole, options);
        let mut taken = None;
        for _ in 0..attempts {
            let mut candidate = object.clone();
            let more = create::prepare(resource, &mut candidate, &self.environment.stamp()?)?;
            by.own_new(resource, &mut candidate);
            let name = meta::text(&candidate, "name");
            let at = Address::new(resource, namespace, name);
            match self.put_new(at, &candidate, options.dry_run).await? {
                Ok(body) => {
                    warnings.extend(more);
                    return Ok(Answer::object(201, body).with_warnings(warnings));
                }
                Err(existing) => taken = Some((name.to_owned(), existing)),
            }
        }
        let (name, existing) = taken.unwrap_or_default();
        if attempts > 1 {
            return Err(Failure::no_name_left(resource, &name));
        }
        let deleting = meta::get(&existing, "deletionTimestamp").is_some();
        Err(Failure::already_exists(resource, &name, deleting))
    }

    /// Stores a new object and gives what to answer, or the object that is there already.
    async fn put_new(
        &self,
        at: Address<'_>,
        object: &Value,
        dry_run: bool,
    ) -> Result<Result<bytes::Bytes, Value>, Failure> {
        let resource = at.resource;
        let failed = |error| Failure::storage(resource, "create", &error);
        let key = at.key()?;
        let stored = encode::stored(resource, object)?;
        let existing = if dry_run {
            match self.storage.get(&key).await.map_err(failed)?.found {
                None => return Ok(Ok(encode::shown(resource, &stored, Revision::ZERO))),
                existing => existing,
            }
        } else {
            let write = Write {
                ttl: ttl(resource),
                ..Write::create(key, stored.clone())
            };
            match self.storage.commit(vec![write]).await.map_err(failed)? {
                Outcome::Committed(revision) => {
                    return Ok(Ok(encode::shown(resource, &stored, revision)));
                }
                Outcome::Conflict { current, .. } => current.into_iter().next().flatten(),
            }
        };
        // What cannot be read is there all the same.
        let existing = existing.and_then(|existing| encode::served(resource, &existing).ok());
        Ok(Err(existing.unwrap_or_default()))
    }

    /// Whether the namespace of a new object takes it.
    async fn admit(&self, resource: &Resource, object: &Value) -> Result<(), Failure> {
        self.admit_kind(resource, object).await?;
        if !resource.is_namespaced() {
            return Ok(());
        }
        let namespace = meta::text(object, "namespace");
        if namespace.is_empty() {
            // Validation says so.
            return Ok(());
        }
        let name = create::wanted_name(object);
        let key = namespaces::key(namespace);
        let got = self.storage.get(&key).await;
        let got = got.map_err(|error| Failure::storage(resource, "create", &error))?;
        match got.found {
            None => Err(namespaces::not_found(namespace)),
            Some(found) if namespaces::is_terminating(&found) => {
                Err(Failure::namespace_terminating(resource, name, namespace))
            }
            Some(_) => Ok(()),
        }
    }
}

impl Objects {
    /// Whether the kind of a new object takes it: its definition may be on its way out and this server not know yet.
    async fn admit_kind(&self, resource: &Resource, object: &Value) -> Result<(), Failure> {
        let Some((definition, uid)) = resource.custom().and_then(Custom::definition) else {
            return Ok(());
        };
        let got = self.storage.get(&crate::definitions::key(definition)).await;
        let got = got.map_err(|error| Failure::storage(resource, "create", &error))?;
        let found: Option<Value> = got
            .found
            .and_then(|found| serde_json::from_slice(&found.value).ok());
        let found = found.filter(|found| meta::text(found, "uid") == uid);
        let found = found.ok_or_else(Failure::no_such_resource)?;
        if meta::get(&found, "deletionTimestamp").is_some() {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(Failure::forbidden(
                resource,
                create::wanted_name(object),
                why,
            ));
        }
        Ok(())
    }
}

/// How long an object lives, counted anew with each write.
fn ttl(resource: &Resource) -> Ttl {
    let ttl = resource.storage.as_ref().and_then(|stored| stored.ttl);
    ttl.map_or(Ttl::None, Ttl::After)
}
