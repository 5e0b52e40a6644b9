//! Answers that are no objects: what went wrong, in the words that Kubernetes clients know.
//!
//! One type, made by one function per condition, so that code, reason, message and details of a condition stand side
//! by side. How it is sent (JSON, YAML, protobuf, as an event of a watch) is the business of who sends it.

mod writes;

use std::fmt;

use ringwatch_core::revision::Revision;
use serde::Serialize;
use serde_json::{Value, json};

use crate::negotiate::{NotAcceptable, UnsupportedMediaType};
use crate::resources::Resource;
use crate::validation::{self, Invalid};

/// A Status that says why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The HTTP status.
    pub code: u16,
    /// The word that programs look at; empty for unknown.
    pub reason: &'static str,
    /// The sentence that people read.
    pub message: String,
    /// More, for programs. Boxed, since most failures are passed up through many hands.
    pub details: Option<Box<Details>>,
    /// With an expired page: a token that goes on all the same.
    pub continue_token: Option<String>,
}

/// What a [`Failure`] is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Details {
    /// The object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its API group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its resource (sic), except where upstream has the kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its uid.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Single faults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// When to try again, in seconds; 0 for no advice. Also sent as a header.
    #[serde(rename = "retryAfterSeconds", skip_serializing_if = "is_zero")]
    pub retry_after: u32,
}

// The signature that serde asks for.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_zero(seconds: &u32) -> bool {
    *seconds == 0
}

/// One fault of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The word.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
    /// The field; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl Failure {
    /// A failure without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            continue_token: None,
        }
    }

    fn with(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    fn about(self, resource: &Resource, name: &str) -> Self {
        self.with(Details {
            name: name.to_owned(),
            group: resource.group.clone().into_owned(),
            kind: resource.plural.clone().into_owned(),
            ..Details::default()
        })
    }

    /// When to try again, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after = seconds;
        self
    }

    /// The request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// Nobody is known by these credentials.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// There is no such path.
    pub fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message).with(Details::default())
    }

    /// There is no such object.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.qualified_plural());
        Self::new(404, "NotFound", message).about(resource, name)
    }

    /// The path does not take this method.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with(Details::default())
    }

    /// The resource does not do this.
    pub fn unsupported(verb: &str, resource: &Resource) -> Self {
        let plural = resource.qualified_plural();
        let message = format!("{verb} is not supported on resources of kind {plural:?}");
        Self::new(405, "MethodNotAllowed", message).about(resource, "")
    }

    /// The answer cannot be given in a form that the client takes. The router, which refuses what nobody knows, has empty
    /// details as in everything that it refuses.
    pub fn not_acceptable(why: &NotAcceptable) -> Self {
        let failure = Self::new(406, "NotAcceptable", why.to_string());
        match why {
            NotAcceptable::Router { .. } => failure.with(Details::default()),
            _ => failure,
        }
    }

    /// An object of that name is there. `deleting`: but not for long.
    pub fn already_exists(resource: &Resource, name: &str, deleting: bool) -> Self {
        let deleting = if deleting {
            "object is being deleted: "
        } else {
            ""
        };
        let plural = resource.qualified_plural();
        let message = format!("{deleting}{plural} {name:?} already exists");
        Self::new(409, "AlreadyExists", message).about(resource, name)
    }

    /// The operation collides with another one.
    pub fn conflict(resource: &Resource, name: &str, why: impl fmt::Display) -> Self {
        let plural = resource.qualified_plural();
        let message = format!("Operation cannot be fulfilled on {plural} {name:?}: {why}");
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// Somebody else changed the object in between.
    pub fn modified(resource: &Resource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// A watch or a list of the past begins where nothing is known any more.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// A watch begins before everything that the cache remembers.
    pub fn too_old(requested: Revision, floor: Revision) -> Self {
        Self::expired(format!("too old resource version: {requested} ({floor})"))
    }

    /// The body is too long.
    pub fn body_too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// The body is in no form that is understood.
    pub fn unsupported_media_type(why: &UnsupportedMediaType) -> Self {
        Self::new(415, "UnsupportedMediaType", why.to_string())
    }

    /// The patch is in an encoding that nobody knows. Before the built-in kinds it is the router that says so.
    pub fn unsupported_patch(why: &UnsupportedMediaType, resource: &Resource) -> Self {
        if resource.is_custom() {
            return Self::unsupported_media_type(why);
        }
        let message = "415: Unsupported Media Type";
        Self::new(415, "UnsupportedMediaType", message).with(Details::default())
    }

    /// The object breaks rules.
    pub fn invalid(resource: &Resource, name: &str, faults: &[Invalid]) -> Self {
        let message = validation::message(resource, name, faults);
        Self::new(422, "Invalid", message).with(Details {
            name: name.to_owned(),
            group: resource.group.clone().into_owned(),
            kind: resource.kind.clone().into_owned(),
            causes: faults.iter().map(Cause::from).collect(),
            ..Details::default()
        })
    }

    /// Options contradict each other. `kind` is that of the options: `ListOptions`.
    pub fn invalid_options(kind: &str, faults: &[Invalid]) -> Self {
        let each: Vec<_> = faults.iter().map(Invalid::to_string).collect();
        let joined = match each.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let message = format!("{kind}.meta.k8s.io \"\" is invalid: {joined}");
        Self::new(422, "Invalid", message).with(Details {
            group: "meta.k8s.io".to_owned(),
            kind: kind.to_owned(),
            causes: faults.iter().map(Cause::from).collect(),
            ..Details::default()
        })
    }

    /// Too much is asked at once.
    pub fn too_many_requests(message: impl Into<String>, retry_after: u32) -> Self {
        Self::new(429, "TooManyRequests", message).retry_after(retry_after)
    }

    /// Something here is broken.
    pub fn internal(error: impl fmt::Display) -> Self {
        let message = format!("Internal error occurred: {error}");
        let cause = Cause {
            reason: "",
            message: error.to_string(),
            field: String::new(),
        };
        Self::new(500, "InternalError", message).with(Details {
            causes: vec![cause],
            ..Details::default()
        })
    }

    /// Storage does not answer.
    pub fn server_timeout(resource: &Resource, operation: &str) -> Self {
        let plural = resource.qualified_plural();
        let message = format!(
            "The {operation} operation against {plural} could not be completed at this time, please try again."
        );
        Self::new(500, "ServerTimeout", message)
            .with(Details {
                group: resource.group.clone().into_owned(),
                kind: resource.plural.clone().into_owned(),
                ..Details::default()
            })
            .retry_after(2)
    }

    /// A revision of the future did not come in time. `retry_after`: 1 from a cache, 0 from storage.
    pub fn too_large_revision(requested: Revision, newest: Revision, retry_after: u32) -> Self {
        let message =
            format!("Timeout: Too large resource version: {requested}, current: {newest}");
        let cause = Cause {
            reason: "ResourceVersionTooLarge",
            message: "Too large resource version".to_owned(),
            field: String::new(),
        };
        Self::new(504, "Timeout", message).with(Details {
            causes: vec![cause],
            retry_after,
            ..Details::default()
        })
    }

    /// The request took too long.
    pub fn timeout() -> Self {
        let message = "Timeout: request did not complete within the allotted timeout";
        Self::new(504, "Timeout", message)
    }

    /// The Status object.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self.status()).unwrap_or_default()
    }

    /// The Status object as JSON, its fields in the order that people know.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.status()).unwrap_or_default()
    }

    fn status(&self) -> Status<'_> {
        Status {
            kind: "Status",
            api_version: "v1",
            metadata: ListMeta {
                continue_token: self.continue_token.as_deref(),
            },
            status: "Failure",
            message: &self.message,
            reason: self.reason,
            details: self.details.as_deref(),
            code: self.code,
        }
    }
}

/// A Status, in the order in which it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: ListMeta<'a>,
    status: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
    code: u16,
}

#[derive(Serialize)]
struct ListMeta<'a> {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    continue_token: Option<&'a str>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.code, self.reason, self.message)
    }
}

impl std::error::Error for Failure {}

impl Details {
    /// The object in the Status, without what is empty.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl From<&Invalid> for Cause {
    fn from(fault: &Invalid) -> Self {
        Self {
            reason: fault.reason.cause(),
            message: fault.body(),
            field: fault.field.clone(),
        }
    }
}

/// The Status of a success that has no object to show: a deletion.
pub fn success(details: &Details) -> Value {
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details.to_value(),
    })
}
