//! What is asked for, and whether the caller may have it.

use std::fmt::Write as _;

use super::{Caller, Rights};
use crate::status::{Details, Failure};

/// What is asked for, in the words of Kubernetes' rules. All verbs are lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access<'a> {
    /// A path that is no resource.
    Path {
        /// The method: `get`.
        verb: &'a str,
        /// The path, without query.
        path: &'a str,
    },
    /// A resource.
    Resource {
        /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
        verb: &'a str,
        /// The API group; empty for the core group.
        group: &'a str,
        /// The resource: `pods`.
        resource: &'a str,
        /// `status` and the like; empty for the object itself.
        subresource: &'a str,
        /// The namespace; empty for all of them, and for what is in none.
        namespace: &'a str,
        /// The object; empty for a collection.
        name: &'a str,
    },
}

impl<'a> Access<'a> {
    /// A path that is no resource.
    pub fn path(verb: &'a str, path: &'a str) -> Self {
        Self::Path { verb, path }
    }

    /// The least rights that it takes.
    pub fn needs(&self) -> Rights {
        match *self {
            Self::Path { verb, path } => match verb {
                "get" | "head" if is_public(path) => Rights::Public,
                "get" | "head" => Rights::Read,
                _ => Rights::All,
            },
            Self::Resource {
                verb,
                group,
                resource,
                ..
            } => match (verb, group, resource) {
                ("get" | "list" | "watch", ..) => Rights::Read,
                // A question about oneself, which is asked by creating it.
                ("create", "authorization.k8s.io", "selfsubjectaccessreviews") => Rights::Read,
                _ => Rights::All,
            },
        }
    }
}

impl Caller {
    /// Whether the caller may have it: else 401 for who did not say who they are, and 403 for others.
    pub fn check(&self, access: &Access<'_>) -> Result<(), Failure> {
        if self.rights() >= access.needs() {
            Ok(())
        } else if self.rights() == Rights::Public {
            Err(Failure::unauthorized())
        } else {
            Err(forbidden(self, access))
        }
    }
}

/// Whether it is well, and which version it is.
fn is_public(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    matches!(first, Some("healthz" | "livez" | "readyz"))
        || path.trim_end_matches('/') == "/version"
}

/// 403, as Kubernetes' own rules put it.
fn forbidden(caller: &Caller, access: &Access<'_>) -> Failure {
    let user = caller.name();
    match *access {
        Access::Path { verb, path } => {
            let message = format!("forbidden: User {user:?} cannot {verb} path {path:?}");
            failure(message, Details::default())
        }
        Access::Resource {
            verb,
            group,
            resource,
            subresource,
            namespace,
            name,
        } => {
            let mut what = resource.to_owned();
            let mut kind = resource.to_owned();
            if !group.is_empty() {
                let _ = write!(kind, ".{group}");
            }
            let mut message = kind;
            if !name.is_empty() {
                let _ = write!(message, " {name:?}");
            }
            if !subresource.is_empty() {
                let _ = write!(what, "/{subresource}");
            }
            let _ = write!(
                message,
                " is forbidden: User {user:?} cannot {verb} resource {what:?} in API group {group:?} "
            );
            let _ = match namespace {
                "" => write!(message, "at the cluster scope"),
                namespace => write!(message, "in the namespace {namespace:?}"),
            };
            let details = Details {
                name: name.to_owned(),
                group: group.to_owned(),
                kind: resource.to_owned(),
                ..Details::default()
            };
            failure(message, details)
        }
    }
}

fn failure(message: String, details: Details) -> Failure {
    Failure {
        details: Some(Box::new(details)),
        ..Failure::new(403, "Forbidden", message)
    }
}
