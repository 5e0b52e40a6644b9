//! Deleting the instances of a kind whose definition is to go.

use serde_json::Value;

use super::Hand;
use crate::definitions::{self, Definition};
use crate::objects::options::{DeleteOptions, Propagation};
use crate::objects::{Address, encode, meta};
use crate::resources::Resource;
use crate::status::Failure;
use crate::storage::List;

/// How many objects are listed at once.
const PAGE: usize = 500;

#[derive(Default)]
struct Pass {
    found: usize,
    left: usize,
}

impl Hand {
    /// Deletes the instances of a kind and, if there are none, lets its definition go. Whether there is nothing more to do.
    pub(super) async fn empty(&self, definition: &Definition) -> Result<bool, Failure> {
        if let Some(resource) = definition.stored_row() {
            loop {
                match self.pass(definition, resource).await? {
                    Pass { found: 0, .. } => break,
                    Pass { left: 0, .. } => {}
                    _ => return Ok(false),
                }
            }
        }
        self.release(definition).await?;
        Ok(true)
    }

    /// Deletes the instances that are there.
    async fn pass(&self, definition: &Definition, resource: &Resource) -> Result<Pass, Failure> {
        let mut pass = Pass::default();
        let Some(stored) = &resource.storage else {
            return Ok(pass);
        };
        let mut list = List {
            prefix: format!("/{}/", stored.prefix),
            limit: PAGE,
            ..List::default()
        };
        loop {
            let page = self.objects.storage.list(&list).await;
            let page = page.map_err(|error| Failure::storage(resource, "list", &error))?;
            // Another server may have let the definition go, and somebody may have made it anew. As long as it is there *after* the
            // list, everything in the list was of its kind.
            if !self.is_marked(definition, resource).await? {
                return Ok(pass);
            }
            pass.found += page.items.len();
            for item in &page.items {
                let object = encode::served(resource, item).unwrap_or_default();
                let key = item.key.strip_prefix(&*list.prefix).unwrap_or_default();
                let (namespace, name) = match key.split_once('/') {
                    Some((namespace, name)) => (Some(namespace), name),
                    None => (None, key),
                };
                let at = Address::new(resource, namespace, name);
                let gone = self.objects.remove_listed(at, &options(&object)).await?;
                pass.left += usize::from(!gone);
            }
            match page.items.last() {
                Some(last) if page.remaining > 0 => list.after = Some(last.key.to_string()),
                _ => return Ok(pass),
            }
        }
    }

    /// Whether this very definition is stored, and to be deleted.
    async fn is_marked(
        &self,
        definition: &Definition,
        resource: &Resource,
    ) -> Result<bool, Failure> {
        let key = definitions::key(&definition.name);
        let got = self.objects.storage.get(&key).await;
        let got = got.map_err(|error| Failure::storage(resource, "get", &error))?;
        let found = got.found;
        let found: Option<Value> =
            found.and_then(|found| serde_json::from_slice(&found.value).ok());
        Ok(found.is_some_and(|found| {
            meta::text(&found, "uid") == definition.uid
                && meta::get(&found, "deletionTimestamp").is_some()
        }))
    }

    /// Takes away what held the definition.
    async fn release(&self, definition: &Definition) -> Result<(), Failure> {
        let step = |old: &Value| {
            // Somebody else may have let it go, and another of its name may have come.
            let marked = meta::get(old, "deletionTimestamp").is_some();
            if !marked || meta::text(old, "uid") != definition.uid {
                return None;
            }
            let mut finalizers = meta::texts(old, "finalizers");
            finalizers.retain(|name| name != definitions::FINALIZER);
            let mut new = old.clone();
            let rest = (!finalizers.is_empty()).then(|| finalizers.into());
            meta::set(&mut new, "finalizers", rest);
            Some(new)
        };
        self.change(&definition.name, step).await
    }
}

/// How an instance is deleted. One that cannot be read goes all the same: nobody will be able to ask for it.
fn options(object: &Value) -> DeleteOptions {
    let uid = meta::text(object, "uid");
    DeleteOptions {
        propagation: Some(Propagation::Background),
        uid: (!uid.is_empty()).then(|| uid.to_owned()),
        ignore_read_error: object.is_null(),
        ..DeleteOptions::default()
    }
}
