//! Failures of writes.

use std::fmt;

use super::{Cause, Details, Failure};
use crate::managed::{Conflict, Conflicts};
use crate::objects::options::IGNORE_READ_ERROR;
use crate::patch;
use crate::resources::Resource;
use crate::storage::StorageError;
use crate::validation::{Invalid, Reason};

/// How many characters of a patched object a refusal shows.
const MAX_SHOWN: usize = 4096;

impl Failure {
    /// The request is understood and will not be done.
    pub fn forbidden(resource: &Resource, name: &str, why: impl fmt::Display) -> Self {
        let plural = resource.qualified_plural();
        let message = format!("{plural} {name:?} is forbidden: {why}");
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// Nothing new is taken by a namespace on its way out.
    pub fn namespace_terminating(resource: &Resource, name: &str, namespace: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let mut failure = Self::forbidden(resource, name, why);
        failure.details.get_or_insert_default().causes.push(Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
        failure
    }

    /// Every name that was made up is taken. `name` is the last of them.
    pub fn no_name_left(resource: &Resource, name: &str) -> Self {
        let plural = resource.qualified_plural();
        let message = format!(
            "{plural} {name:?} already exists, the server was not able to generate a unique name for the object"
        );
        Self::new(409, "AlreadyExists", message)
            .about(resource, name)
            .retry_after(1)
    }

    /// What can be read is not deleted in the way that is for what cannot.
    pub fn is_readable(resource: &Resource, name: &str) -> Self {
        let fault = Invalid {
            field: IGNORE_READ_ERROR.to_owned(),
            reason: Reason::Invalid,
            value: Some(true.into()),
            detail: "unsafe deletion is not allowed because the object is decodable from storage"
                .to_owned(),
        };
        Self::invalid_as(&resource.plural, &resource.group, name, &fault)
    }

    /// What a deletion presupposes does not hold. Unlike all other conflicts it names the kind.
    pub fn deletion_precondition(resource: &Resource, name: &str, why: impl fmt::Display) -> Self {
        let kind = resource.qualified_kind();
        let message = format!("Operation cannot be fulfilled on {kind} {name:?}: {why}");
        Self::new(409, "Conflict", message).with(Details {
            name: name.to_owned(),
            group: resource.group.clone().into_owned(),
            kind: resource.kind.clone().into_owned(),
            ..Details::default()
        })
    }

    /// A write names an object's uid, and the object has another.
    pub fn storage_precondition(
        resource: &Resource,
        name: &str,
        key: &str,
        why: impl fmt::Display,
    ) -> Self {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry{key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {why}"
        );
        Self::conflict(resource, name, why)
    }

    /// A pod cannot be put on a node.
    pub fn binding_conflict(name: &str, why: impl fmt::Display) -> Self {
        let message = format!("Operation cannot be fulfilled on pods/binding {name:?}: {why}");
        Self::new(409, "Conflict", message).with(Details {
            name: name.to_owned(),
            kind: "pods/binding".to_owned(),
            ..Details::default()
        })
    }

    /// An update must say which version of the object it is of. Upstream has the resource where the kind belongs.
    pub fn revision_required(resource: &Resource, name: &str) -> Self {
        let fault = Invalid {
            field: "metadata.resourceVersion".to_owned(),
            reason: Reason::Invalid,
            value: Some(0.into()),
            detail: "must be specified for an update".to_owned(),
        };
        let plural = resource.qualified_plural();
        let message = format!("{plural} {name:?} is invalid: {fault}");
        Self::new(422, "Invalid", message).with(Details {
            name: name.to_owned(),
            group: resource.group.clone().into_owned(),
            kind: resource.plural.clone().into_owned(),
            causes: vec![Cause::from(&fault)],
            ..Details::default()
        })
    }

    /// What was sent about an object, but is of another kind, breaks a rule.
    pub fn invalid_as(kind: &str, group: &str, name: &str, fault: &Invalid) -> Self {
        let dot = if group.is_empty() { "" } else { "." };
        let message = format!("{kind}{dot}{group} {name:?} is invalid: {fault}");
        Self::new(422, "Invalid", message).with(Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes: vec![Cause::from(fault)],
            ..Details::default()
        })
    }

    /// Other managers own what is applied, and want it to be something else.
    pub fn apply_conflict(conflicts: &Conflicts) -> Self {
        let cause = |conflict: &Conflict| Cause {
            reason: "FieldManagerConflict",
            message: format!("conflict with {}", conflict.manager),
            field: conflict.field.clone(),
        };
        Self::new(409, "Conflict", conflicts.to_string()).with(Details {
            causes: conflicts.0.iter().map(cause).collect(),
            ..Details::default()
        })
    }

    /// A resourceVersion in an object is no number.
    pub fn bad_revision(text: &str) -> Self {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let why = if digits {
            "value out of range"
        } else {
            "invalid syntax"
        };
        Self::bad_request(format!("strconv.ParseUint: parsing {text:?}: {why}"))
    }

    /// The body is no object.
    pub fn unreadable_body(kind: &str, why: impl fmt::Display) -> Self {
        Self::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why}"
        ))
    }

    /// What a patch makes of the object is none of its kind. `shown` is the patch or what it made.
    pub fn patched_invalid(shown: &str, why: impl fmt::Display) -> Self {
        // It is shown twice, and an object may have millions of bytes.
        let shown: String = shown.chars().take(MAX_SHOWN).collect();
        let fault = Invalid {
            field: "patch".to_owned(),
            reason: Reason::Invalid,
            value: Some(shown.into()),
            detail: why.to_string().chars().take(MAX_SHOWN).collect(),
        };
        let message = format!(" \"\" is invalid: {fault}");
        Self::new(422, "Invalid", message).with(Details {
            causes: vec![Cause::from(&fault)],
            ..Details::default()
        })
    }

    /// A patch is refused.
    pub fn patch(error: &patch::Error) -> Self {
        match error.class() {
            patch::Class::Malformed => Self::bad_request(error.to_string()),
            patch::Class::TooLarge => Self::new(
                413,
                "RequestEntityTooLarge",
                format!("Request entity too large: {error}"),
            ),
            patch::Class::Unprocessable => Self::new(
                422,
                "Invalid",
                "the server rejected our request due to an error in our request",
            )
            .with(Details {
                // Upstream leaves people to guess.
                causes: vec![Cause {
                    reason: "UnexpectedServerResponse",
                    message: error.to_string(),
                    field: String::new(),
                }],
                ..Details::default()
            }),
            patch::Class::Misfit => Self::new(500, "", error.to_string()),
        }
    }

    /// Storage did not do as it was told. `operation` is a verb: `create`.
    pub fn storage(resource: &Resource, operation: &str, error: &StorageError) -> Self {
        match error {
            StorageError::Unavailable(_) => Self::server_timeout(resource, operation),
            StorageError::Refused(why) => Self::new(
                413,
                "RequestEntityTooLarge",
                format!("Request entity too large: {why}"),
            ),
            other => Self::internal(other),
        }
    }
}
