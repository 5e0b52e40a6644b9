//! What a definition wants its kind to be called, and whether somebody else is called so already.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The names of a kind, as a definition has them in its spec and, once accepted, in its status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Names {
    /// In paths.
    pub plural: String,
    /// Of one, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub singular: String,
    /// What people may type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<String>,
    /// Of an object.
    pub kind: String,
    /// Of a list of them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub list_kind: String,
    /// Groups of kinds that people may type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

/// Which of the names that a definition wants others have, in its API group.
#[derive(Debug)]
pub struct Taken<'a> {
    wanted: &'a Names,
    resources: BTreeSet<&'a str>,
    kinds: BTreeSet<&'a str>,
}

/// What is wrong with names: reason and message of a condition.
pub(super) type Conflict = (&'static str, String);

impl<'a> Taken<'a> {
    /// Nobody has any of these names yet.
    pub fn new(wanted: &'a Names) -> Self {
        Self {
            wanted,
            resources: BTreeSet::new(),
            kinds: BTreeSet::new(),
        }
    }

    /// Notes the names of another kind.
    pub fn add(&mut self, names: &Names) {
        let resources = [&names.plural, &names.singular].into_iter();
        let resources = resources.chain(&names.short_names);
        resources.for_each(|name| self.add_resource(name));
        self.add_kind(&names.kind);
        self.add_kind(&names.list_kind);
    }

    /// Notes the names of a kind that the program brings.
    pub fn add_builtin(&mut self, resource: &crate::resources::Resource) {
        let names = [&resource.plural, &resource.singular].into_iter();
        let names = names.chain(&resource.short_names);
        names.for_each(|name| self.add_resource(name));
        self.add_kind(&resource.kind);
        self.add_kind(&resource.list_kind);
    }

    // Others may be many. What is not wanted need not be known.

    fn add_resource(&mut self, name: &str) {
        let wanted = [&self.wanted.plural, &self.wanted.singular].into_iter();
        let mut wanted = wanted.chain(&self.wanted.short_names);
        self.resources
            .extend(wanted.find(|wanted| **wanted == name).map(String::as_str));
    }

    fn add_kind(&mut self, name: &str) {
        let mut wanted = [&self.wanted.kind, &self.wanted.list_kind].into_iter();
        self.kinds
            .extend(wanted.find(|wanted| **wanted == name).map(String::as_str));
    }

    /// The names that the definition has from now on, if it has `accepted`; and the last that it cannot have.
    pub(super) fn accept(&self, accepted: &Names) -> (Names, Option<Conflict>) {
        let wanted = self.wanted;
        let mut names = accepted.clone();
        let mut conflict = None;
        let free = |taken: &BTreeSet<&str>, wanted: &str, has: &str| {
            wanted == has || !taken.contains(wanted)
        };
        let in_use = |name: &str| format!("{name:?} is already in use");
        let mut one = |place: &mut String, taken, wanted: &String, reason| {
            if free(taken, wanted, place) {
                place.clone_from(wanted);
            } else {
                conflict = Some((reason, in_use(wanted)));
            }
        };
        let Names {
            plural,
            singular,
            kind,
            list_kind,
            ..
        } = &mut names;
        one(plural, &self.resources, &wanted.plural, "PluralConflict");
        one(
            singular,
            &self.resources,
            &wanted.singular,
            "SingularConflict",
        );
        one(kind, &self.kinds, &wanted.kind, "KindConflict");
        one(
            list_kind,
            &self.kinds,
            &wanted.list_kind,
            "ListKindConflict",
        );
        let refused: Vec<String> = wanted
            .short_names
            .iter()
            .filter(|name| {
                let has = accepted.short_names.contains(name);
                !has && self.resources.contains(name.as_str())
            })
            .map(|name| in_use(name))
            .collect();
        if refused.is_empty() {
            names.short_names.clone_from(&wanted.short_names);
        } else {
            conflict = Some(("ShortNamesConflict", refused.join(", ")));
        }
        names.categories.clone_from(&wanted.categories);
        (names, conflict)
    }
}
