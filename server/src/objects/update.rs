//! From a stored object and what a client wants it to be to what becomes of it. No I/O.

use serde_json::Value;

use super::{body, meta};
use crate::managed::{self, Writer};
use crate::resources::Resource;
use crate::schema::pattern::at;
use crate::status::Failure;
use crate::validation::{self, Invalid, Reason};
use crate::{defaults, subresources};

/// Which part of an object an update may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Everything but the status, if that is written apart.
    Whole,
    /// The status.
    Status,
    /// A namespace's finalizers.
    Finalize,
    /// The number of replicas, which the caller has put in.
    Scale,
    /// A pod's node, which the caller has put in.
    Binding,
}

impl Part {
    /// Below which path of the object it is written; empty for the object's own.
    pub const fn subresource(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Status => "status",
            Self::Finalize => "finalize",
            Self::Scale => "scale",
            Self::Binding => "binding",
        }
    }

    /// Whether the status can be written here.
    pub(super) fn has_status(self, resource: &Resource) -> bool {
        self != Self::Whole || !resource.has_status()
    }
}

/// What becomes of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// It is this now.
    Write(Value),
    /// It is what it was.
    Keep,
    /// It was to be deleted, and nothing holds it any more. It was this last.
    Delete(Value),
}

/// Checks that an object is what the URL says.
///
/// # Errors
///
/// A 400 that says what differs.
pub fn check_name(object: &Value, namespace: Option<&str>, name: &str) -> Result<(), Failure> {
    let found = meta::text(object, "name");
    if found.is_empty() {
        return Err(Failure::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    if found != name {
        return Err(Failure::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({name})"
        )));
    }
    let found = meta::text(object, "namespace");
    match namespace {
        Some(namespace) if !found.is_empty() && found != namespace => {
            Err(Failure::bad_request(format!(
                "the namespace of the object ({found}) does not match the namespace on the request ({namespace})"
            )))
        }
        _ => Ok(()),
    }
}

/// Checks the uid that a PUT names. It does so before anything else, even whether there is an object.
///
/// # Errors
///
/// A 409 if the object has another.
pub fn check_uid(
    resource: &Resource,
    key: &str,
    name: &str,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), Failure> {
    let wanted = meta::text(new, "uid");
    let found = old.map(|old| meta::text(old, "uid")).unwrap_or_default();
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let why = format!("UID in precondition: {wanted}, UID in object meta: {found}");
    Err(Failure::storage_precondition(resource, name, key, why))
}

/// Decides what becomes of `old`, which has its resourceVersion, if `new` is to take the place of a part of it. Returns
/// what to warn of too. `new` must be decoded. What it changes is the writer's then; without one, `new` has the owners already.
///
/// # Errors
///
/// A 409 if it is not about this version of the object, a 422 for what the kind does not allow.
pub fn decide(
    resource: &Resource,
    part: Part,
    mut new: Value,
    old: &Value,
    writer: Option<&Writer<'_>>,
) -> Result<(Next, Vec<String>), Failure> {
    let name = meta::text(old, "name");
    check_revision(resource, name, &new, old)?;
    let owners = meta::metadata(&mut new).remove("managedFields");
    let namespace = meta::get(old, "namespace").cloned();
    meta::set(&mut new, "namespace", namespace);

    defaults::apply(resource, &mut new);
    defaults::apply_custom(resource, &mut new)
        .map_err(|fault| Failure::invalid(resource, name, &[fault]))?;
    let mut new = match part {
        Part::Whole => {
            subresources::keep_status(resource, &mut new, old);
            keep_namespace_finalizers(resource, &mut new, old);
            defaults::prepare_update(resource, &mut new);
            new
        }
        Part::Status => subresources::take_status(resource, &new, old),
        Part::Finalize => subresources::finalize(&new, old),
        Part::Scale | Part::Binding => new,
    };
    own_metadata(&mut new, old);
    let generation = meta::number(old, "generation");
    let generation = if subresources::counts(resource, &new, old) {
        Some(generation.unwrap_or_default() + 1)
    } else {
        generation
    };
    meta::set(&mut new, "generation", generation.map(Value::from));
    let mut warnings = body::finalizer_warnings(resource, &new, Some(old));
    warnings.extend(body::remove_duplicate_owners(&mut new));
    meta::set(&mut new, "managedFields", owners);
    if let Some(writer) = writer {
        let types = managed::Node::of(resource);
        managed::record(
            types,
            writer,
            Some(old),
            &mut new,
            part.has_status(resource),
        );
    }

    let mut faults = immutable(&new, old);
    faults.extend(match part {
        Part::Status | Part::Binding => validation::update_status(resource, &new, old),
        Part::Whole | Part::Finalize | Part::Scale => validation::update(resource, &new, old),
    });
    if !faults.is_empty() {
        return Err(Failure::invalid(resource, name, &faults));
    }
    let next = if is_released(resource, &new, old) {
        Next::Delete(new)
    } else if new == *old {
        Next::Keep
    } else {
        Next::Write(new)
    };
    Ok((next, warnings))
}

/// The version of the object that the client knows must be the newest, if it names one and wherever it must name one.
fn check_revision(
    resource: &Resource,
    name: &str,
    new: &Value,
    old: &Value,
) -> Result<(), Failure> {
    match meta::revision(new)? {
        None if resource.update.unconditional => Ok(()),
        None => Err(Failure::revision_required(resource, name)),
        wanted if wanted == meta::revision(old)? => Ok(()),
        Some(_) => Err(Failure::modified(resource, name)),
    }
}

/// A namespace's finalizers have a path of their own.
fn keep_namespace_finalizers(resource: &Resource, new: &mut Value, old: &Value) {
    if is_namespace(resource) {
        *new = subresources::finalize(old, new);
    }
}

fn is_namespace(resource: &Resource) -> bool {
    resource.kind == "Namespace" && !resource.is_custom()
}

/// Puts right in silence what the server owns.
fn own_metadata(new: &mut Value, old: &Value) {
    let kept = |field: &str| meta::get(old, field).cloned();
    for field in ["creationTimestamp", "resourceVersion"] {
        meta::set(new, field, kept(field));
    }
    meta::set(new, "selfLink", None);
    if meta::text(new, "uid").is_empty() {
        meta::set(new, "uid", kept("uid"));
    }
    if let Some(moment) = kept("deletionTimestamp") {
        meta::set(new, "deletionTimestamp", Some(moment));
    }
    if meta::get(new, "deletionGracePeriodSeconds").is_none() {
        let period = kept("deletionGracePeriodSeconds");
        meta::set(new, "deletionGracePeriodSeconds", period);
    }
}

/// What the server owns and does not put right.
fn immutable(new: &Value, old: &Value) -> Vec<Invalid> {
    let fields = [
        ("name", "field is immutable"),
        ("uid", "field is immutable"),
        ("deletionTimestamp", "field is immutable"),
        (
            "deletionGracePeriodSeconds",
            "field is immutable; may only be changed via deletion",
        ),
    ];
    let changed = fields
        .iter()
        .filter(|(field, _)| meta::get(new, field) != meta::get(old, field));
    let fault = |(field, detail): &(&str, &str)| Invalid {
        field: format!("metadata.{field}"),
        reason: Reason::Invalid,
        value: Some(meta::get(new, field).cloned().unwrap_or_default()),
        detail: (*detail).to_owned(),
    };
    changed.map(fault).collect()
}

/// Whether an object that is to be deleted has lost the last that held it.
fn is_released(resource: &Resource, new: &Value, old: &Value) -> bool {
    let held = |path: &str| {
        at(new, path)
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    };
    meta::get(old, "deletionTimestamp").is_some()
        && meta::number(old, "deletionGracePeriodSeconds").unwrap_or_default() == 0
        && !held("metadata.finalizers")
        && !(is_namespace(resource) && held("spec.finalizers"))
}
