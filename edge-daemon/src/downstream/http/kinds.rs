//! The kinds that are served: by the settings, or as the first object of each says.

use std::cell::RefCell;

use ringwatch_core::json::{Limits, Path, scan};
use ringwatch_core::link::serve::Content;
use ringwatch_core::object::Object as _;
use ringwatch_core::watcher::State as _;
use serde_json::{Value, json};

use crate::config::Watch;
use crate::hub::{Relay, Track};

/// A kind as clients know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) kind: String,
    pub(super) namespaced: bool,
}

impl Kind {
    /// `apiVersion` of its objects.
    pub(super) fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }
}

pub(super) struct Kinds {
    watches: Vec<Watch>,
    /// What was found out, by track.
    found: RefCell<Vec<Option<Kind>>>,
}

impl Kinds {
    pub(super) fn new(watches: Vec<Watch>) -> Self {
        let found = RefCell::new(vec![None; watches.len()]);
        Self { watches, found }
    }

    /// The kind of a track.
    pub(super) fn get(&self, index: usize, relay: &Relay) -> Option<Kind> {
        if let Some(Some(kind)) = self.found.borrow().get(index) {
            return Some(kind.clone());
        }
        let watch = self.watches.get(index)?;
        let (plural, group) = watch
            .resource
            .split_once('.')
            .unwrap_or((&watch.resource, ""));
        let seen = relay.tracks().get(index).and_then(seen);
        let sure = seen.is_some();
        let guess = || {
            let singular = plural.strip_suffix('s').unwrap_or(plural);
            let mut letters = singular.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        };
        let (kind, version, namespaced) = seen.unwrap_or_else(|| {
            let version = watch.version.clone().unwrap_or_else(|| "v1".to_owned());
            (watch.kind.clone().unwrap_or_else(guess), version, true)
        });
        let kind = Kind {
            group: group.to_owned(),
            version,
            plural: plural.to_owned(),
            kind,
            namespaced,
        };
        if sure && let Some(found) = self.found.borrow_mut().get_mut(index) {
            *found = Some(kind.clone());
        }
        Some(kind)
    }

    fn all(&self, relay: &Relay) -> Vec<Kind> {
        let kinds = (0..self.watches.len()).filter_map(|index| self.get(index, relay));
        let mut kinds: Vec<Kind> = kinds.collect();
        kinds.dedup_by(|one, other| (&one.group, &one.plural) == (&other.group, &other.plural));
        kinds
    }

    /// A document of discovery.
    pub(super) fn document(&self, path: &str, relay: &Relay) -> Option<Value> {
        let kinds = self.all(relay);
        let group_of = |group: &str| {
            let mut versions: Vec<&str> = kinds
                .iter()
                .filter(|kind| kind.group == group)
                .map(|kind| kind.version.as_str())
                .collect();
            versions.sort_unstable();
            versions.dedup();
            let versions: Vec<Value> = versions.iter().map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version})).collect();
            let preferred = versions.last()?.clone();
            Some(json!({"name": group, "versions": versions, "preferredVersion": preferred}))
        };
        let resources = |group: &str, version: &str| {
            let kinds = kinds
                .iter()
                .filter(|kind| kind.group == group && kind.version == version);
            let resources: Vec<Value> = kinds
                .map(|kind| {
                    json!({
                        "name": kind.plural, "singularName": kind.kind.to_lowercase(), "namespaced": kind.namespaced,
                        "kind": kind.kind, "verbs": ["get", "list", "watch"], "shortNames": short_names(kind),
                    })
                })
                .collect();
            if resources.is_empty() {
                return None;
            }
            let name = if group.is_empty() {
                version.to_owned()
            } else {
                format!("{group}/{version}")
            };
            Some(
                json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}),
            )
        };
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match *parts.as_slice() {
            ["api"] => {
                let mut versions: Vec<&str> = kinds
                    .iter()
                    .filter(|kind| kind.group.is_empty())
                    .map(|kind| kind.version.as_str())
                    .collect();
                versions.sort_unstable();
                versions.dedup();
                Some(
                    json!({"kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": []}),
                )
            }
            ["apis"] => {
                let mut groups: Vec<&str> = kinds
                    .iter()
                    .map(|kind| kind.group.as_str())
                    .filter(|group| !group.is_empty())
                    .collect();
                groups.sort_unstable();
                groups.dedup();
                let groups: Vec<Value> = groups.into_iter().filter_map(group_of).collect();
                Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
            }
            ["api", version] => resources("", version),
            ["apis", group] => {
                let mut document = group_of(group)?;
                let members = document.as_object_mut()?;
                members.insert("kind".to_owned(), "APIGroup".into());
                members.insert("apiVersion".to_owned(), "v1".into());
                Some(document)
            }
            ["apis", group, version] => resources(group, version),
            _ => None,
        }
    }
}

/// What the first object of a track says: kind, version, and whether it has a namespace.
fn seen(track: &Track) -> Option<(String, String, bool)> {
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
        .map_or(api.as_str(), |(_, version)| version)
        .to_owned();
    Some((text(kind)?, version, object.key().namespace().is_some()))
}

/// What kubectl's users type for the kinds that every cluster has.
fn short_names(kind: &Kind) -> &'static [&'static str] {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "configmaps") => &["cm"],
        ("", "endpoints") => &["ep"],
        ("", "events") => &["ev"],
        ("", "namespaces") => &["ns"],
        ("", "nodes") => &["no"],
        ("", "pods") => &["po"],
        ("", "services") => &["svc"],
        ("apps", "deployments") => &["deploy"],
        _ => &[],
    }
}
