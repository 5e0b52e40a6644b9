//! The kinds that are served: as upstream describes them, or as their objects say, or as the settings do.

use std::cell::{Cell, RefCell};

use ringwatch_core::json::{Limits, Path, scan};
use ringwatch_core::link::serve::{Content as _, Shelf as _};
use ringwatch_core::object::Object as _;
use ringwatch_core::revision::Revision;
use ringwatch_core::watcher::State as _;

use super::columns::Printer;
use crate::config::Watch;
use crate::definition::Definition;
use crate::hub::{Hub, Relay, Track};

/// The resource that definitions of kinds of one's own are.
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// A kind as clients know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) kind: String,
    pub(super) namespaced: bool,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
}

impl Kind {
    /// `apiVersion` of its objects.
    pub(super) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }
}

/// A group and version in one text.
pub(super) fn api_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

pub(super) struct Kinds {
    watches: Vec<Watch>,
    /// What the first object of each track said.
    seen: RefCell<Vec<Option<Seen>>>,
    /// Up to which revision definitions were read that are relayed as objects.
    learned: Cell<Revision>,
}

/// What an object says of its kind.
#[derive(Debug, Clone)]
struct Seen {
    kind: String,
    version: String,
    namespaced: bool,
}

impl Kinds {
    pub(super) fn new(watches: Vec<Watch>) -> Self {
        let seen = RefCell::new(vec![None; watches.len()]);
        Self {
            watches,
            seen,
            learned: Cell::new(Revision::ZERO),
        }
    }

    /// Learns from definitions that are relayed as objects: who reads from a node link, or from another relay, cannot ask for them otherwise.
    pub(super) fn learn(&self, hub: &Hub) {
        let relay = hub.relay.borrow();
        let mut tracks = relay.tracks().iter();
        let relayed = tracks.find(|track| *track.subject().resource == *DEFINITIONS);
        let Some(relayed) = relayed.filter(|track| track.is_readable()) else {
            return;
        };
        let revision = relayed.revision();
        if self.learned.replace(revision) == revision {
            return;
        }
        let mut definitions = hub.definitions.borrow_mut();
        for (index, (watch, place)) in self.watches.iter().zip(definitions.iter_mut()).enumerate() {
            let Some(object) = relayed.get(&watch.resource) else {
                continue;
            };
            let version = self.seen(index, &relay).map(|seen| seen.version);
            let version = version.as_deref().or(watch.version.as_deref());
            if let Some((definition, _)) = Definition::from_definition(version, object.json()) {
                *place = Some(definition);
            }
        }
    }

    /// The kind of a track.
    pub(super) fn get(
        &self,
        index: usize,
        relay: &Relay,
        definitions: &[Option<Definition>],
    ) -> Option<Kind> {
        let watch = self.watches.get(index)?;
        let (plural, group) = parts(watch);
        let definition = definitions.get(index).and_then(Option::as_ref);
        let seen = self.seen(index, relay);
        let seen = seen.or_else(|| {
            definition.map(|definition| Seen {
                kind: definition.kind.clone(),
                version: definition.version.clone(),
                namespaced: definition.namespaced,
            })
        });
        let seen = seen.unwrap_or_else(|| Seen {
            kind: watch.kind.clone().unwrap_or_else(|| guess(plural)),
            version: watch.version.clone().unwrap_or_else(|| "v1".to_owned()),
            namespaced: !matches!(
                (group, plural),
                ("", "namespaces" | "nodes" | "persistentvolumes")
            ),
        });
        let named = definition.filter(|definition| definition.kind == seen.kind);
        let singular = named.map(|definition| definition.singular.clone());
        let short_names = named.map(|definition| definition.short_names.clone());
        Some(Kind {
            group: group.to_owned(),
            plural: plural.to_owned(),
            singular: singular
                .filter(|singular| !singular.is_empty())
                .unwrap_or_else(|| seen.kind.to_lowercase()),
            short_names: short_names.unwrap_or_else(|| known_short_names(group, plural)),
            categories: named.map_or(Vec::new(), |definition| definition.categories.clone()),
            kind: seen.kind,
            version: seen.version,
            namespaced: seen.namespaced,
        })
    }

    /// Every kind once, by group and name. One of which nothing has come yet is left out while it could only be guessed: clients remember what they
    /// were told.
    pub(super) fn all(&self, relay: &Relay, definitions: &[Option<Definition>]) -> Vec<Kind> {
        let tracks = relay.tracks().iter().zip(definitions).enumerate();
        let told =
            tracks.filter(|(_, (track, definition))| definition.is_some() || track.is_complete());
        let kinds = told.filter_map(|(index, _)| self.get(index, relay, definitions));
        let mut kinds: Vec<Kind> = kinds.collect();
        let name = |kind: &Kind| (kind.group.clone(), kind.plural.clone());
        kinds.sort_by_key(name);
        kinds.dedup_by_key(|kind| name(kind));
        kinds
    }

    /// How a track's objects are shown in tables.
    pub(super) fn printer<'d>(
        &'d self,
        index: usize,
        definitions: &'d [Option<Definition>],
    ) -> Printer<'d> {
        let Some(watch) = self.watches.get(index) else {
            return Printer::new(None, "", "");
        };
        let (plural, group) = parts(watch);
        let definition = definitions.get(index).and_then(Option::as_ref);
        let columns = match watch.columns.as_slice() {
            [] => definition.and_then(|definition| definition.columns.as_deref()),
            columns => Some(columns),
        };
        Printer::new(columns, group, plural)
    }

    fn seen(&self, index: usize, relay: &Relay) -> Option<Seen> {
        let mut known = self.seen.borrow_mut();
        let place = known.get_mut(index)?;
        if place.is_none() {
            *place = relay.tracks().get(index).and_then(first);
        }
        place.clone()
    }
}

/// Plural and group of what is watched.
fn parts(watch: &Watch) -> (&str, &str) {
    let resource = watch.resource.as_str();
    resource.split_once('.').unwrap_or((resource, ""))
}

/// What a kind is most likely called.
fn guess(plural: &str) -> String {
    let singular = plural.strip_suffix('s').unwrap_or(plural);
    let mut letters = singular.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// What the first object of a track says of its kind.
fn first(track: &Track) -> Option<Seen> {
    let (_, object) = track.next_after(None)?;
    let mut found = [None; 2];
    let paths = [Path::parse("kind").ok()?, Path::parse("apiVersion").ok()?];
    scan(object.json(), &Limits::default(), &paths, &mut found).ok()?;
    let [kind, api] = found;
    let text = |value: Option<ringwatch_core::json::Value<'_>>| {
        Some(value?.as_text()?.plain()?.to_owned())
    };
    let api = text(api)?;
    let version = api
        .rsplit_once('/')
        .map_or(api.as_str(), |(_, version)| version);
    Some(Seen {
        kind: text(kind)?,
        version: version.to_owned(),
        namespaced: object.key().namespace().is_some(),
    })
}

/// What kubectl's users type for the kinds that every cluster has, where upstream cannot be asked for it.
fn known_short_names(group: &str, plural: &str) -> Vec<String> {
    let name = match (group, plural) {
        ("", "configmaps") => "cm",
        ("", "endpoints") => "ep",
        ("", "events") => "ev",
        ("", "namespaces") => "ns",
        ("", "nodes") => "no",
        ("", "pods") => "po",
        ("", "services") => "svc",
        ("apps", "deployments") => "deploy",
        _ => return Vec::new(),
    };
    vec![name.to_owned()]
}
