//! From a request's body to an object of a kind.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::meta;
use super::options::FieldValidation;
use crate::codec::{self, omit};
use crate::definitions::Custom;
use crate::resources::Resource;
use crate::schema::decode::{remarks, strict_message};
use crate::schema::{DecodeError, Definition, Parsed, decode};
use crate::status::Failure;
use crate::validation::{Invalid, Reason};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// What a body must be: a kind in a version, and its type if it is a built-in one.
#[derive(Debug, Clone)]
pub struct Expected {
    /// The kind.
    pub kind: String,
    /// As in `apiVersion`.
    pub api_version: String,
    /// The type's name in the published schemas; none for custom kinds.
    pub schema: Option<&'static str>,
    /// The kind's definition, for custom kinds.
    pub custom: Option<Custom>,
}

impl From<&Resource> for Expected {
    fn from(resource: &Resource) -> Self {
        Self {
            kind: resource.kind.clone().into_owned(),
            api_version: resource.api_version().into_owned(),
            schema: resource.schema_name(),
            custom: resource.custom().cloned(),
        }
    }
}

impl Expected {
    /// The `autoscaling/v1` Scale.
    pub fn scale() -> Self {
        Self {
            kind: "Scale".to_owned(),
            api_version: "autoscaling/v1".to_owned(),
            schema: Some("io.k8s.api.autoscaling.v1.Scale"),
            custom: None,
        }
    }

    /// The binding of a pod.
    pub fn binding() -> Self {
        Self {
            kind: "Binding".to_owned(),
            api_version: "v1".to_owned(),
            schema: Some("io.k8s.api.core.v1.Binding"),
            custom: None,
        }
    }

    fn version(&self) -> &str {
        self.api_version.rsplit('/').next().unwrap_or_default()
    }

    /// Reads a body, with what there is to warn of.
    ///
    /// # Errors
    ///
    /// A 400 for another kind, a wrong type, or, if that is asked for, a field too many.
    pub fn read(
        &self,
        body: Parsed,
        validation: FieldValidation,
    ) -> Result<(Value, Vec<String>), Failure> {
        let Parsed {
            mut value,
            duplicates,
        } = body;
        let unknown = self
            .check(&mut value)?
            .map_err(|error| Failure::bad_request(error.message(&self.kind, self.version())))?;
        let remarks = remarks(&unknown, &duplicates);
        match validation {
            FieldValidation::Ignore => Ok((value, Vec::new())),
            FieldValidation::Warn => Ok((value, remarks)),
            FieldValidation::Strict => match strict_message(&self.kind, self.version(), &remarks) {
                None => Ok((value, Vec::new())),
                Some(message) => Err(Failure::bad_request(message)),
            },
        }
    }

    /// Makes what a patch left an object of the kind, with what there is to warn of. `shown` is what the refusal
    /// shows of the patch, and `duplicates` the fields that it has twice.
    ///
    /// # Errors
    ///
    /// A 422 on the field `patch`, or a 400 for another kind.
    pub fn read_patched(
        &self,
        value: &mut Value,
        duplicates: &[String],
        validation: FieldValidation,
        shown: impl FnOnce(&Value) -> String,
    ) -> Result<Vec<String>, Failure> {
        let before = value.clone();
        let unknown = match self.check(value)? {
            Ok(unknown) => unknown,
            Err(error) => return Err(Failure::patched_invalid(&shown(&before), error)),
        };
        let remarks = remarks(&unknown, duplicates);
        match validation {
            FieldValidation::Ignore => Ok(Vec::new()),
            FieldValidation::Warn => Ok(remarks),
            FieldValidation::Strict if remarks.is_empty() => Ok(remarks),
            FieldValidation::Strict => {
                let why = format!("strict decoding error: {}", remarks.join(", "));
                Err(Failure::patched_invalid(&shown(&before), why))
            }
        }
    }

    /// Checks kind and types, and drops what the kind does not have.
    fn check(&self, value: &mut Value) -> Result<Result<Vec<String>, DecodeError>, Failure> {
        if value.is_null() {
            *value = Map::new().into();
        }
        if !value.is_object() && self.schema.is_none() {
            return Err(Failure::unreadable_body(&self.kind, "not an object"));
        }
        self.check_kind(value)?;
        let unknown = match self.schema.and_then(Definition::find) {
            Some(definition) => decode(value, definition),
            None => self.check_metadata(value),
        };
        if unknown.is_ok() {
            self.leave_out_empties(value);
        }
        let schema = match &self.custom {
            Some(custom) => custom.schema()?,
            None => None,
        };
        let unknown = unknown.map(|mut unknown| {
            unknown.extend(schema.map(|schema| schema.prune(value)).unwrap_or_default());
            unknown
        });
        if unknown.is_ok() {
            meta::metadata(value);
        }
        if let Value::Object(map) = value {
            map.insert("kind".into(), self.kind.as_str().into());
            map.insert("apiVersion".into(), self.api_version.as_str().into());
        }
        Ok(unknown)
    }

    fn check_kind(&self, value: &Value) -> Result<(), Failure> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let [kind, version] = [text("kind"), text("apiVersion")];
        if self.schema.is_none() {
            return self.check_custom_kind(kind, version, meta::text(value, "name"));
        }
        if !version.is_empty() && version != self.api_version {
            return Err(Failure::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({})",
                self.api_version
            )));
        }
        if !kind.is_empty() && kind != self.kind {
            let (wanted, version) = (&self.kind, self.version());
            return Err(Failure::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {wanted}: converting ({version}.{kind}) to ({version}.{wanted}): unknown conversion"
            )));
        }
        Ok(())
    }

    /// Custom kinds must say what they are.
    fn check_custom_kind(&self, kind: &str, version: &str, name: &str) -> Result<(), Failure> {
        for (field, found) in [("Kind", kind), ("apiVersion", version)] {
            if found.is_empty() {
                let message = format!("Object '{field}' is missing in the object provided");
                return Err(Failure::bad_request(message));
            }
        }
        if version != self.api_version {
            return Err(Failure::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({})",
                self.api_version
            )));
        }
        if kind != self.kind {
            let fault = Invalid {
                field: "kind".to_owned(),
                reason: Reason::Invalid,
                value: Some(kind.into()),
                detail: format!("must be {}", self.kind),
            };
            let (group, _) = self.api_version.split_once('/').unwrap_or_default();
            return Err(Failure::invalid_as(&self.kind, group, name, &fault));
        }
        Ok(())
    }

    /// What is empty is as good as absent. Of custom kinds, only the metadata has a type that says so.
    fn leave_out_empties(&self, value: &mut Value) {
        let (message, object) = match self.schema {
            Some(_) => (
                codec::schema::kind(&self.api_version, &self.kind),
                Some(value),
            ),
            None => (
                codec::schema::message(OBJECT_META),
                value.get_mut("metadata"),
            ),
        };
        if let (Some(message), Some(Value::Object(object))) = (message, object) {
            omit::empties(message, object);
        }
    }

    fn check_metadata(&self, value: &mut Value) -> Result<Vec<String>, DecodeError> {
        let (Some(definition), Some(metadata)) =
            (Definition::find(OBJECT_META), value.get_mut("metadata"))
        else {
            return Ok(Vec::new());
        };
        if metadata.is_null() {
            *metadata = Map::new().into();
        }
        let unknown = decode(metadata, definition)?;
        let below = |path: String| format!("metadata.{path}");
        Ok(unknown.into_iter().map(below).collect())
    }
}

/// Removes owners that are named twice, and says so.
pub(super) fn remove_duplicate_owners(object: &mut Value) -> Option<String> {
    let owners = meta::metadata(object)
        .get_mut("ownerReferences")?
        .as_array_mut()?;
    let mut seen = BTreeSet::new();
    let mut twice = BTreeSet::new();
    owners.retain(|owner| {
        let new = seen.insert(owner.to_string());
        if let (false, Some(uid)) = (new, owner.get("uid").and_then(Value::as_str)) {
            twice.insert(uid.to_owned());
        }
        new
    });
    let twice: Vec<String> = twice.into_iter().collect();
    (!twice.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            twice.join(", ")
        )
    })
}

/// What to say of finalizers that come to a custom object without a domain; built-in kinds refuse them.
pub(super) fn finalizer_warnings(
    resource: &Resource,
    new: &Value,
    old: Option<&Value>,
) -> Vec<String> {
    if !resource.is_custom() {
        return Vec::new();
    }
    let known = old.map(|old| meta::texts(old, "finalizers"));
    let known: BTreeSet<String> = known.into_iter().flatten().collect();
    let standard = ["orphan", "foregroundDeletion", "kubernetes"];
    let plain = |name: &String| {
        !name.contains('/') && !standard.contains(&name.as_str()) && !known.contains(name)
    };
    let finalizers = meta::texts(new, "finalizers").into_iter().filter(plain);
    let warning = |name: String| {
        format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"
        )
    };
    finalizers.map(warning).collect()
}
