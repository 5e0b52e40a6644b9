//! A definition as it is stored, as far as serving its kind needs it.

use std::fmt;
use std::sync::Arc;

use ringwatch_core::revision::Revision;
use serde::Deserialize;

use super::kind::{Custom, Kind, Version};
use super::names::{Names, Taken};
use crate::cache::Object;
use crate::columns::ColumnKind;
use crate::columns::custom::{Columns, Wanted};
use crate::resources::{
    FieldLabel, FieldLabels, FieldRefusal, Form, NameRule, Origin, Resource, ScalePaths, Scope,
    Stored, Subresource, Text, UpdateRules, Verbs,
};

/// A stored definition.
#[derive(Debug)]
pub struct Definition {
    /// Its name: `devices.example.com`.
    pub name: String,
    /// Its uid: another of the same name is another.
    pub uid: String,
    /// The group of its kind.
    pub group: String,
    /// What the kind is to be called.
    pub wanted: Names,
    /// What it is called.
    pub accepted: Names,
    /// When it came into being. Who was there first keeps its names.
    pub created: Revision,
    /// The revision of this state of it.
    pub revision: Revision,
    /// Whether it waits for its instances to be deleted.
    pub is_held: bool,
    /// Counts what it has said.
    generation: i64,
    names_accepted: Option<bool>,
    established: bool,
    deleted: bool,
    resources: Vec<Arc<Resource>>,
}

/// How far a definition has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nobody has looked at it yet.
    New,
    /// Somebody else has its names.
    Refused,
    /// Its names are its own, and every server begins to serve it.
    Accepted,
    /// It is served, and clients may rely on it.
    Established,
    /// It is to be deleted; its instances go first.
    Terminating,
}

/// Why a stored definition cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

impl Definition {
    /// Reads a stored definition.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] if it is not what [validation](crate::validation) lets in.
    pub fn read(object: &Object) -> Result<Self, Unreadable> {
        let unreadable = |why: &dyn fmt::Display| Unreadable(format!("{}: {why}", object.key()));
        let raw: Raw =
            serde_json::from_slice(object.bytes()).map_err(|error| unreadable(&error))?;
        let is_true = |kind: &str| {
            let mut all = raw.status.conditions.iter();
            all.find(|condition| condition.kind == kind)
                .map(|condition| condition.status == "True")
        };
        let mut definition = Self {
            name: raw.metadata.name,
            uid: raw.metadata.uid,
            generation: raw.metadata.generation,
            group: raw.spec.group,
            created: object.create_revision(),
            revision: object.revision(),
            is_held: raw
                .metadata
                .finalizers
                .iter()
                .any(|name| name == super::FINALIZER),
            names_accepted: is_true("NamesAccepted"),
            established: is_true("Established") == Some(true),
            deleted: raw.metadata.deletion_timestamp.is_some(),
            wanted: raw.spec.names,
            accepted: raw.status.accepted_names,
            resources: Vec::new(),
        };
        let storage = raw.spec.versions.iter().position(|version| version.storage);
        let storage = storage.ok_or_else(|| unreadable(&"no version is stored"))?;
        let versions: Result<Vec<Version>, _> = raw
            .spec
            .versions
            .iter()
            .enumerate()
            .map(|(place, version)| {
                let columns = columns(&version.additional_printer_columns)
                    .map_err(|error| unreadable(&error))?;
                Ok(Version::new(&version.name, place, version.served, columns))
            })
            .collect();
        let kind = Arc::new(Kind {
            definition: definition.name.clone(),
            uid: definition.uid.clone(),
            generation: definition.generation,
            group: definition.group.clone(),
            versions: versions?,
            storage,
            terminating: definition.deleted,
            source: Some(object.clone()),
        });
        let scope = match raw.spec.scope.as_str() {
            "Namespaced" => Scope::Namespaced,
            _ => Scope::Cluster,
        };
        let rows = raw.spec.versions.iter().enumerate();
        definition.resources = rows
            .map(|(place, version)| {
                Arc::new(row(&definition, scope, version, Custom::new(&kind, place)))
            })
            .collect();
        Ok(definition)
    }

    /// How far it has come.
    pub fn stage(&self) -> Stage {
        match self.names_accepted {
            _ if self.deleted => Stage::Terminating,
            _ if self.established => Stage::Established,
            Some(true) => Stage::Accepted,
            Some(false) => Stage::Refused,
            None => Stage::New,
        }
    }

    /// Whether clients have been told that they may rely on it.
    pub fn is_established(&self) -> bool {
        self.established
    }

    /// Whether its kind is served.
    pub fn is_served(&self) -> bool {
        self.established || self.names_accepted == Some(true)
    }

    /// Whether its status may have something to say that it does not say yet.
    pub fn is_open(&self) -> bool {
        let settled =
            self.established && self.names_accepted == Some(true) && self.accepted == self.wanted;
        !self.deleted && !settled
    }

    /// Whether its status has something to say, given the names that others have.
    pub fn is_due(&self, taken: &Taken<'_>) -> bool {
        match self.stage() {
            Stage::Terminating => false,
            Stage::New | Stage::Accepted => true,
            Stage::Refused | Stage::Established => {
                let (names, conflict) = taken.accept(&self.accepted);
                names != self.accepted || self.names_accepted != Some(conflict.is_none())
            }
        }
    }

    /// The names that nobody else may have: those it has and, of one that has none yet, those it wants. Of two that want
    /// the same the older is to have it, and every server knows which that is.
    pub fn claims(&self, other: &Self) -> &Names {
        let waits = self.names_accepted.is_none() && !self.deleted && self.created < other.created;
        if waits { &self.wanted } else { &self.accepted }
    }

    /// Takes the rows of an older state of it, if they would be the same. Whether they are.
    pub fn take_rows(&mut self, before: &Self) -> bool {
        let what = |state: &Self| (state.generation, state.is_served(), state.deleted);
        let same = self.uid == before.uid
            && what(self) == what(before)
            && self.accepted == before.accepted;
        if same {
            self.resources.clone_from(&before.resources);
        }
        same
    }

    /// Its kind as rows of the catalog: one for each version that is served.
    pub fn rows(&self) -> impl Iterator<Item = &Arc<Resource>> {
        let served = |row: &&Arc<Resource>| row.custom().is_some_and(|custom| custom.is_served());
        self.resources.iter().filter(served)
    }

    /// Its kind in the version in which it is stored.
    pub fn stored_row(&self) -> Option<&Arc<Resource>> {
        let stored = |row: &&Arc<Resource>| row.custom().is_some_and(Custom::is_stored);
        self.resources.iter().find(stored)
    }
}

fn row(definition: &Definition, scope: Scope, version: &RawVersion, custom: Custom) -> Resource {
    let Definition {
        group,
        accepted: names,
        ..
    } = definition;
    let text = |text: &String| Text::Owned(text.clone());
    let texts = |texts: &[String]| texts.iter().map(text).collect();
    let mut subresources = Vec::new();
    if version.subresources.status.is_some() {
        subresources.push(Subresource::Status);
    }
    if let Some(scale) = &version.subresources.scale {
        let path = |path: &str| Text::Owned(path.strip_prefix('.').unwrap_or(path).to_owned());
        subresources.push(Subresource::Scale(ScalePaths {
            replicas: path(&scale.spec_replicas_path),
            status_replicas: path(&scale.status_replicas_path),
            selector: scale.label_selector_path.as_deref().map(path),
        }));
    }
    let label = |field: &RawField| {
        let path = field
            .json_path
            .strip_prefix('.')
            .unwrap_or(&field.json_path);
        FieldLabel {
            name: Text::Owned(path.to_owned()),
            path: Some(Text::Owned(path.to_owned())),
            absent: Text::Borrowed(""),
        }
    };
    Resource {
        group: text(group),
        version: text(&version.name),
        kind: text(&names.kind),
        list_kind: text(&names.list_kind),
        plural: text(&names.plural),
        singular: text(&names.singular),
        short_names: texts(&names.short_names),
        categories: texts(&names.categories),
        scope,
        verbs: Verbs::ALL,
        fields: FieldLabels {
            labels: version.selectable_fields.iter().map(label).collect(),
            refusal: FieldRefusal::Unsupported,
        },
        subresources,
        storage: Some(Stored {
            prefix: Text::Owned(format!("{group}/{}", definition.wanted.plural)),
            form: Form::Same,
            ttl: None,
        }),
        update: UpdateRules {
            generation: true,
            unconditional: false,
            creates: false,
        },
        names: NameRule::Subdomain,
        protobuf: false,
        origin: Origin::Custom(custom),
    }
}

fn columns(wanted: &[RawColumn]) -> Result<Columns, String> {
    if wanted.is_empty() {
        return Ok(Columns::plain());
    }
    let wanted: Option<Vec<Wanted<'_>>> = wanted
        .iter()
        .map(|column| {
            Some(Wanted {
                name: &column.name,
                kind: ColumnKind::parse(&column.kind)?,
                format: &column.format,
                description: &column.description,
                priority: column.priority,
                json_path: &column.json_path,
            })
        })
        .collect();
    let wanted = wanted.ok_or("a column of an unknown type")?;
    Columns::new(&wanted).map_err(|error| error.to_string())
}

#[derive(Deserialize)]
struct Raw {
    metadata: RawMetadata,
    spec: RawSpec,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMetadata {
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    generation: i64,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    finalizers: Vec<String>,
}

#[derive(Deserialize)]
struct RawSpec {
    group: String,
    names: Names,
    scope: String,
    versions: Vec<RawVersion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawVersion {
    name: String,
    served: bool,
    storage: bool,
    #[serde(default)]
    subresources: RawSubresources,
    #[serde(default)]
    additional_printer_columns: Vec<RawColumn>,
    #[serde(default)]
    selectable_fields: Vec<RawField>,
}

#[derive(Deserialize, Default)]
struct RawSubresources {
    status: Option<serde::de::IgnoredAny>,
    scale: Option<RawScale>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawScale {
    spec_replicas_path: String,
    status_replicas_path: String,
    label_selector_path: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawColumn {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    format: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    priority: i32,
    json_path: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawField {
    json_path: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawStatus {
    accepted_names: Names,
    conditions: Vec<RawCondition>,
}

#[derive(Deserialize)]
struct RawCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}
