//! All definitions, as a server has seen them. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ringwatch_core::revision::Revision;

use crate::cache::Object;
use crate::definitions::{Definition, Taken, Unreadable};
use crate::resources::{Catalog, Resource};

/// All definitions by name, as many as are stored.
#[derive(Debug, Default)]
pub(super) struct Book {
    all: BTreeMap<String, Arc<Definition>>,
    /// Those whose status may have something to say. Few: most have said everything long ago.
    open: BTreeSet<String>,
    revision: Revision,
}

impl Book {
    /// Takes a definition in, in the place of an older state of it. Whether that changes what is served.
    pub(super) fn put(&mut self, object: &Object) -> Result<bool, Unreadable> {
        self.revision = self.revision.max(object.revision());
        let mut definition = Definition::read(object)?;
        let name = definition.name.clone();
        let changes = match self.all.get(&name) {
            Some(before) => !definition.take_rows(before),
            None => definition.is_served(),
        };
        if definition.is_open() {
            self.open.insert(name.clone());
        } else {
            self.open.remove(&name);
        }
        self.all.insert(name, Arc::new(definition));
        Ok(changes)
    }

    /// A definition is gone. Whether it was there.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.open.remove(name);
        self.all.remove(name).is_some()
    }

    pub(super) fn find(&self, name: &str) -> Option<&Arc<Definition>> {
        self.all.get(name)
    }

    /// The revision of the newest definition.
    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// The definitions whose status has something to say.
    pub(super) fn due(&self, builtin: &Catalog) -> Vec<String> {
        let open = self.open.iter().filter_map(|name| self.all.get(name));
        let due = open.filter(|definition| definition.is_due(&self.taken(definition, builtin)));
        due.map(|definition| definition.name.clone()).collect()
    }

    /// All that is served: one row per version. Where names clash after all, the older kind has them.
    pub(super) fn rows(&self) -> Vec<Arc<Resource>> {
        let mut served: Vec<&Arc<Definition>> = self
            .all
            .values()
            .filter(|found| found.is_served())
            .collect();
        served.sort_by_key(|definition| definition.created);
        let rows = served.into_iter().flat_map(|definition| definition.rows());
        rows.cloned().collect()
    }

    /// The names that a definition wants and cannot have.
    pub(super) fn taken<'a>(&self, of: &'a Definition, builtin: &Catalog) -> Taken<'a> {
        let mut taken = Taken::new(&of.wanted);
        let group = &of.group;
        for resource in builtin.resources() {
            if resource.group == *group {
                taken.add_builtin(resource);
            }
        }
        for other in self.all.values() {
            if other.group == *group && other.name != of.name {
                taken.add(other.claims(of));
            }
        }
        taken
    }
}
