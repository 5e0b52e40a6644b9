//! Emptying one namespace.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{FINALIZER, key, waits};
use crate::objects::options::{DeleteOptions, Propagation};
use crate::objects::replace::Step;
use crate::objects::update::{self, Next, Part};
use crate::objects::{Address, Objects, encode, meta};
use crate::resources::{Catalog, Form, Resource, Stored};
use crate::schema::pattern::at_mut;
use crate::status::Failure;
use crate::storage::List;

/// How many objects are listed at once.
const PAGE: usize = 500;

/// How long after the end of its grace a pod is taken for abandoned: whoever runs it has not said that it ended.
const ABANDONED: SignedDuration = SignedDuration::from_secs(30);

/// Deletes what is in a namespace that is to go and, if nothing is, lets the namespace go. Whether there is nothing more to do.
pub(super) async fn empty(
    objects: &Objects,
    catalog: &Catalog,
    name: &str,
) -> Result<bool, Failure> {
    let Some(namespaces) = catalog.find("", "v1", "namespaces") else {
        return Ok(true);
    };
    let sweep = Sweep {
        objects,
        at: Address::new(namespaces, None, name),
    };
    let Some(uid) = sweep.uid().await? else {
        return Ok(true);
    };
    loop {
        let mut found = 0;
        let mut left = 0;
        for (resource, stored) in contents(catalog) {
            let pass = sweep.pass(resource, stored, &uid).await?;
            found += pass.found;
            left += pass.left;
        }
        match (found, left) {
            (0, _) => {
                sweep.release(&uid).await?;
                return Ok(true);
            }
            (_, 0) => {}
            _ => return Ok(false),
        }
    }
}

/// What can be in a namespace: each place in storage once.
fn contents(catalog: &Catalog) -> impl Iterator<Item = (&Resource, &Stored)> {
    let mut places: BTreeMap<&str, (&Resource, &Stored)> = BTreeMap::new();
    for resource in catalog.resources() {
        if let (true, Some(stored)) = (resource.is_namespaced(), &resource.storage) {
            let place = places.entry(&stored.prefix).or_insert((resource, stored));
            // Of two views of the same objects, the one in which they are stored.
            if stored.form == Form::Same {
                *place = (resource, stored);
            }
        }
    }
    places.into_values()
}

struct Sweep<'a> {
    objects: &'a Objects,
    /// The namespace.
    at: Address<'a>,
}

#[derive(Default)]
struct Pass {
    found: usize,
    left: usize,
}

impl Sweep<'_> {
    /// The namespace's uid, if it waits to be emptied.
    async fn uid(&self) -> Result<Option<String>, Failure> {
        let resource = self.at.resource;
        let got = self.objects.storage.get(&key(self.at.name)).await;
        let got = got.map_err(|error| Failure::storage(resource, "get", &error))?;
        let Some(found) = got.found else {
            return Ok(None);
        };
        let namespace = encode::served(resource, &found)?;
        let uid = waits(&namespace).then(|| meta::text(&namespace, "uid").to_owned());
        Ok(uid)
    }

    /// Deletes the objects of one resource that are there.
    async fn pass(&self, resource: &Resource, stored: &Stored, uid: &str) -> Result<Pass, Failure> {
        let mut pass = Pass::default();
        let mut list = List {
            prefix: format!("/{}/{}/", stored.prefix, self.at.name),
            limit: PAGE,
            ..List::default()
        };
        loop {
            let page = self.objects.storage.list(&list).await;
            let page = page.map_err(|error| Failure::storage(resource, "list", &error))?;
            if page.items.is_empty() {
                return Ok(pass);
            }
            // Another server may have let the namespace go, and somebody may have made it anew. As long as it is there *after* the
            // list, everything in the list was in it.
            if self.uid().await?.as_deref() != Some(uid) {
                return Ok(pass);
            }
            pass.found += page.items.len();
            for item in &page.items {
                let object = encode::served(resource, item)?;
                let Some(name) = item.key.strip_prefix(&*list.prefix) else {
                    continue;
                };
                let at = Address::new(resource, Some(self.at.name), name);
                let options = self.options(resource, &object);
                let gone = self.objects.remove_listed(at, &options).await?;
                pass.left += usize::from(!gone);
            }
            match page.items.last() {
                Some(last) if page.remaining > 0 => list.after = Some(last.key.to_string()),
                _ => return Ok(pass),
            }
        }
    }

    fn options(&self, resource: &Resource, object: &Value) -> DeleteOptions {
        let ends: Option<Timestamp> = meta::text(object, "deletionTimestamp").parse().ok();
        let now = self.objects.environment.now();
        let abandoned =
            resource.kind == "Pod" && ends.is_some_and(|ends| now.duration_since(ends) > ABANDONED);
        let uid = meta::text(object, "uid");
        DeleteOptions {
            propagation: Some(Propagation::Background),
            grace_period: abandoned.then_some(0),
            uid: (!uid.is_empty()).then(|| uid.to_owned()),
            ..DeleteOptions::default()
        }
    }

    /// Takes away what held the namespace.
    async fn release(&self, uid: &str) -> Result<(), Failure> {
        let at = self.at;
        let step = |old: Option<&Value>| {
            let old = old.ok_or_else(|| at.not_found())?;
            if !waits(old) || meta::text(old, "uid") != uid {
                return Ok((Step::Update(Next::Keep), Vec::new()));
            }
            let mut new = old.clone();
            if let Some(Value::Array(finalizers)) = at_mut(&mut new, "spec.finalizers") {
                finalizers.retain(|finalizer| *finalizer != FINALIZER);
            }
            let (next, warnings) = update::decide(at.resource, Part::Finalize, new, old, None)?;
            Ok((Step::Update(next), warnings))
        };
        match self.objects.change_existing(at, false, step).await {
            Err(failure) if failure.code != 404 => Err(failure),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}
