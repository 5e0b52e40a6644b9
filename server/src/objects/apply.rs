//! Server-side apply: PATCH by which a manager says what it wants a few fields to be.

use serde_json::{Map, Value, json};

use super::body::Expected;
use super::options::{FieldValidation, WriteOptions};
use super::replace::{Step, Stop};
use super::update::{self, Part};
use super::{Address, Answer, Objects, create, meta};
use crate::managed::{self, Node, NotTyped};
use crate::resources::{Resource, ScalePaths};
use crate::schema::Parsed;
use crate::schema::decode::remarks;
use crate::schema::pattern::at as value_at;
use crate::status::Failure;
use crate::subresources;

/// What says which object is meant. Everything else in the metadata can be wanted.
const IDENTITY: [&str; 4] = ["name", "namespace", "uid", "resourceVersion"];

impl Objects {
    /// Applies what a manager wants of an object, or makes the object if there is none. `part` is [`Part::Whole`] or
    /// [`Part::Status`].
    ///
    /// # Errors
    ///
    /// 409 with every field that another manager owns and wants to be something else, unless it is forced; 400 and 422 for what is
    /// wanted and what it makes of the object, 404 for the status of nothing.
    pub async fn apply(
        &self,
        at: Address<'_>,
        part: Part,
        body: Parsed,
        options: &WriteOptions,
    ) -> Result<Answer, Failure> {
        let (wanted, warnings) = read(&Expected::from(at.resource), body, options)?;
        let wanted = narrowed(at.resource, part, wanted);
        self.apply_wanted(at, part, &wanted, warnings, options)
            .await
    }

    /// Applies the number of replicas that a Scale wants; the answer shows the object.
    pub(super) async fn apply_to_scaled(
        &self,
        at: Address<'_>,
        paths: &ScalePaths,
        body: Parsed,
        options: &WriteOptions,
    ) -> Result<Answer, Failure> {
        let (scale, warnings) = read(&Expected::scale(), body, options)?;
        let mut wanted = json!({
            "kind": at.resource.kind,
            "apiVersion": at.resource.api_version(),
            "metadata": identity(&scale),
        });
        if value_at(&scale, "spec.replicas").is_some() {
            subresources::apply_scale(paths, &mut wanted, &scale)
                .map_err(|fault| Failure::invalid_as("Scale", "autoscaling", at.name, &fault))?;
        }
        self.apply_wanted(at, Part::Scale, &wanted, warnings, options)
            .await
    }

    async fn apply_wanted(
        &self,
        at: Address<'_>,
        part: Part,
        wanted: &Value,
        warnings: Vec<String>,
        options: &WriteOptions,
    ) -> Result<Answer, Failure> {
        let resource = at.resource;
        let expected = Expected::from(resource);
        let by = self.by(resource, part, options);
        let applied = |old: Option<&Value>| -> Result<Value, Failure> {
            let with_status = part.has_status(resource);
            let merged = managed::merge(Node::of(resource), by.writer(), old, wanted, with_status);
            let mut merged = merged.map_err(|error| not_typed(&expected, wanted, &error))?;
            let object = &mut merged.object;
            expected.read_patched(object, &[], FieldValidation::Ignore, Value::to_string)?;
            let settled = merged.settle(old, options.force);
            settled.map_err(|conflicts| Failure::apply_conflict(&conflicts))
        };
        let decided = |old: Option<&Value>, admitted: bool| {
            if old.is_none() && part != Part::Whole {
                return Err(Stop::Failed(at.not_found()));
            }
            let mut object = applied(old)?;
            update::check_name(&object, at.namespace, at.name)?;
            let Some(old) = old else {
                check_no_uid(at, &object)?;
                create::place(resource, at.namespace, &mut object)?;
                if !admitted {
                    return Err(Stop::NotAdmitted(object));
                }
                meta::set(&mut object, "resourceVersion", None);
                let more = create::prepare(resource, &mut object, &self.environment.stamp()?)?;
                return Ok((Step::Create(object), more));
            };
            let (next, more) = update::decide(resource, part, object, old, None)?;
            Ok((Step::Update(next), more))
        };
        self.change_or_create(at, options.dry_run, warnings, decided)
            .await
    }
}

/// Reads what is wanted, with what there is to warn of.
fn read(
    expected: &Expected,
    body: Parsed,
    options: &WriteOptions,
) -> Result<(Value, Vec<String>), Failure> {
    let wanted = match body.value {
        Value::Null => Map::new().into(),
        value => value,
    };
    if !wanted.is_object() {
        let why = "error decoding YAML: what is applied must be an object";
        return Err(Failure::bad_request(why));
    }
    let text = |name: &str| wanted.get(name).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    if version != expected.api_version {
        return Err(Failure::bad_request(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            expected.api_version
        )));
    }
    if kind != expected.kind {
        return Err(Failure::bad_request(format!(
            "Incorrect kind specified in apply patch. Specified patch kind: {kind}, expected: {}",
            expected.kind
        )));
    }
    if meta::get(&wanted, "managedFields").is_some() {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    let remarks = remarks(&[], &body.duplicates);
    match options.field_validation {
        FieldValidation::Strict if !remarks.is_empty() => Err(Failure::bad_request(format!(
            "error strict decoding YAML: {}",
            remarks.join(", ")
        ))),
        FieldValidation::Ignore => Ok((wanted, Vec::new())),
        FieldValidation::Strict | FieldValidation::Warn => Ok((wanted, remarks)),
    }
}

/// Leaves of what is wanted what can be written there. Nobody is told of the rest: the same text may be applied to an object
/// and to its status.
fn narrowed(resource: &Resource, part: Part, mut wanted: Value) -> Value {
    let Value::Object(fields) = &mut wanted else {
        return wanted;
    };
    if !part.has_status(resource) {
        fields.remove("status");
    }
    if part == Part::Status {
        fields.retain(|name, _| {
            matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status")
        });
        if resource.is_custom() {
            let metadata = identity(&wanted);
            meta::metadata(&mut wanted).clone_from(&metadata);
        } else {
            meta::set(&mut wanted, "ownerReferences", None);
        }
    }
    wanted
}

fn identity(object: &Value) -> Map<String, Value> {
    let field = |name: &str| Some((name.to_owned(), meta::get(object, name)?.clone()));
    IDENTITY.into_iter().filter_map(field).collect()
}

fn not_typed(expected: &Expected, wanted: &Value, error: &NotTyped) -> Failure {
    let (group, version) = match expected.api_version.split_once('/') {
        Some((group, version)) => (group, version),
        None => ("", expected.api_version.as_str()),
    };
    let [namespace, name] = ["namespace", "name"].map(|field| meta::text(wanted, field));
    let kind = &expected.kind;
    Failure::bad_request(format!(
        "failed to create typed patch object ({namespace}/{name}; {group}/{version}, Kind={kind}): {error}"
    ))
}

/// Whoever names an object's uid means one that is there.
fn check_no_uid(at: Address<'_>, object: &Value) -> Result<(), Failure> {
    let uid = meta::text(object, "uid");
    if uid.is_empty() {
        return Ok(());
    }
    let why = format!(
        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    );
    Err(Failure::conflict(at.resource, at.name, why))
}
