//! A kind that a definition makes, in all its versions.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::cache::Object;
use crate::columns::Printer;
use crate::columns::custom::Columns;
use crate::schema::path::FieldPath;
use crate::status::Failure;
use crate::structural::Schema;

/// A custom kind in all its versions. All are stored in one of them.
pub struct Kind {
    /// The name of its definition.
    pub(super) definition: String,
    /// The definition's uid: another of the same name is another kind.
    pub(super) uid: String,
    /// Counts what the definition has said.
    pub(super) generation: i64,
    pub(super) group: String,
    pub(super) versions: Vec<Version>,
    /// The place of the version in which objects are stored.
    pub(super) storage: usize,
    /// Whether it is on its way out.
    pub(super) terminating: bool,
    /// The stored definition, to read schemas from when they are first needed: most kinds are idle most of the time.
    pub(super) source: Option<Object>,
}

/// A version of a custom kind.
pub struct Version {
    name: String,
    /// `group/name` is made where it is needed; this is its place in the definition.
    place: usize,
    served: bool,
    columns: Columns,
    schema: OnceLock<Result<Schema, String>>,
}

impl Version {
    pub(super) fn new(name: &str, place: usize, served: bool, columns: Columns) -> Self {
        Self {
            name: name.to_owned(),
            place,
            served,
            columns,
            schema: OnceLock::new(),
        }
    }
}

impl Kind {
    /// The schema of a version; none if there is nothing to read it from.
    fn schema<'a>(&self, version: &'a Version) -> Result<Option<&'a Schema>, Failure> {
        let Some(source) = &self.source else {
            return Ok(None);
        };
        let read = || {
            let definition: Value =
                serde_json::from_slice(source.bytes()).map_err(|error| error.to_string())?;
            let schema = definition
                .pointer(&schema_at(version.place))
                .ok_or("there is none")?;
            Schema::parse(schema, &FieldPath::Root.field("openAPIV3Schema")).map_err(|faults| {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                faults.join(", ")
            })
        };
        match version.schema.get_or_init(read) {
            Ok(schema) => Ok(Some(schema)),
            // It was let in by somebody else: nothing is written by a schema that cannot be read.
            Err(why) => Err(Failure::internal(format_args!(
                "the schema of {} in version {:?} cannot be read: {why}",
                self.definition, version.name
            ))),
        }
    }

    /// Whether this is the same kind, whatever else its definition has come to say of it.
    pub fn is(&self, other: &Self) -> bool {
        self.uid == other.uid && self.definition == other.definition
    }

    /// Whether a definition says the same of its kind here and there.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.is(other) && self.generation == other.generation
    }

    fn api_version(&self, version: &Version) -> String {
        format!("{}/{}", self.group, version.name)
    }

    /// The version in which an object says it is stored, or in which it would be stored now.
    fn version_of(&self, object: &Value) -> Option<&Version> {
        let named = object.get("apiVersion").and_then(Value::as_str);
        let name = named.and_then(|named| named.rsplit('/').next());
        let mut versions = self.versions.iter();
        let found = versions.find(|version| Some(version.name.as_str()) == name);
        found.or_else(|| self.versions.get(self.storage))
    }

    /// Makes a stored object what it would be if it were stored now: without what its schema has lost, with the defaults that it
    /// has got. Whether that is a change. What cannot be done is left: reading goes on.
    pub fn refresh(&self, object: &mut Value) -> bool {
        let version = self.version_of(object);
        let schema = version.and_then(|version| self.schema(version).ok().flatten());
        let Some(schema) = schema else {
            return false;
        };
        let before = object.clone();
        schema.prune(object);
        if schema.fill(object).is_err() {
            // Half filled it is worse than as it was.
            *object = before;
            return false;
        }
        before != *object
    }

    /// Puts an object into the version in which all are stored.
    pub(crate) fn to_storage(&self, object: &mut Value) {
        let Some(version) = self.versions.get(self.storage) else {
            return;
        };
        let name = self.api_version(version);
        if object.get("apiVersion").and_then(Value::as_str) == Some(&name) {
            return;
        }
        if let Value::Object(map) = object {
            map.insert("apiVersion".to_owned(), name.into());
        }
        self.refresh(object);
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kind").field(&self.definition).finish()
    }
}

/// Where a definition has the schema of a version.
fn schema_at(place: usize) -> String {
    format!("/spec/versions/{place}/schema/openAPIV3Schema")
}

/// A custom kind in one of its versions: what a row of the catalog knows of where it comes from.
#[derive(Clone)]
pub struct Custom {
    kind: Arc<Kind>,
    place: usize,
}

impl Custom {
    pub(super) fn new(kind: &Arc<Kind>, place: usize) -> Self {
        Self {
            kind: kind.clone(),
            place,
        }
    }

    /// A kind without a definition, whose objects may be anything.
    pub fn any(group: &str, version: &str) -> Self {
        let kind = Kind {
            definition: String::new(),
            uid: String::new(),
            generation: 0,
            group: group.to_owned(),
            versions: vec![Version::new(version, 0, true, Columns::plain())],
            storage: 0,
            terminating: false,
            source: None,
        };
        Self::new(&Arc::new(kind), 0)
    }

    /// The kind in all its versions.
    pub fn kind(&self) -> &Arc<Kind> {
        &self.kind
    }

    fn version(&self) -> Option<&Version> {
        self.kind.versions.get(self.place)
    }

    /// The schema of its objects; none if they may be anything.
    ///
    /// # Errors
    ///
    /// A 500 if the stored definition has one that cannot be read.
    pub fn schema(&self) -> Result<Option<&Schema>, Failure> {
        match self.version() {
            Some(version) => self.kind.schema(version),
            None => Ok(None),
        }
    }

    /// The schema as it stands in the definition, for those who publish it.
    pub fn source(&self) -> Option<Value> {
        let definition = self.kind.source.as_ref()?;
        let mut definition: Value = serde_json::from_slice(definition.bytes()).ok()?;
        let place = self.version()?.place;
        let schema = definition.pointer_mut(&schema_at(place))?;
        Some(schema.take())
    }

    /// How its objects are printed.
    pub fn printer(&self) -> Printer {
        let columns = self.version().map(|version| version.columns.clone());
        Printer::custom(columns.unwrap_or_else(Columns::plain))
    }

    /// Whether clients may use this version.
    pub fn is_served(&self) -> bool {
        self.version().is_some_and(|version| version.served)
    }

    /// Whether objects are stored in this version.
    pub fn is_stored(&self) -> bool {
        self.place == self.kind.storage
    }

    /// The `apiVersion` of stored objects.
    pub fn stored_api_version(&self) -> String {
        let version = self.kind.versions.get(self.kind.storage);
        version.map_or_else(String::new, |version| self.kind.api_version(version))
    }

    /// Whether it is on its way out: nothing new comes about.
    pub fn is_terminating(&self) -> bool {
        self.kind.terminating
    }

    /// The name and uid of the definition, if there is one.
    pub fn definition(&self) -> Option<(&str, &str)> {
        let Kind {
            definition, uid, ..
        } = &*self.kind;
        (!definition.is_empty()).then_some((definition, uid))
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version().map_or("", |version| &version.name);
        write!(f, "{}/{version}", self.kind.definition)
    }
}

/// Two views of one state of a definition.
impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.kind, &other.kind) && self.place == other.place
    }
}

impl Eq for Custom {}
