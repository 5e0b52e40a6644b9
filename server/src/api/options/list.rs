//! What a list asks for.

use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::{Revision, StartFrom};

use super::{INITIAL, MATCH, Options, Version, forbidden, unsupported};
use crate::api::continuation::Continuation;
use crate::api::query::Query;
use crate::cache::ListRequest;
use crate::resources::Target;
use crate::status::Failure;

/// A list, ready to be asked of a reader.
#[derive(Debug, Clone)]
pub struct ListPlan {
    /// What to ask.
    pub request: ListRequest,
    /// How pages follow each other.
    pub paging: Paging,
}

/// What is needed for the next page, or to say that there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paging {
    /// The page that is asked for, if it is not the first.
    pub continued: Option<Continuation>,
    /// What all keys of the list begin with.
    pub root: String,
    /// Whether selectors were given: how many are left is then not known.
    pub selective: bool,
}

impl ListPlan {
    /// Reads and checks the options of a list.
    pub fn parse(target: &Target, query: &Query<'_>) -> Result<Self, Failure> {
        let options = Options::decode(query)?;
        validate(&options)?;
        let predicate = options.selectors.clone().predicate(target)?;
        let continued = match options.continue_token {
            "" => None,
            token => Some(Continuation::decode(token).map_err(Failure::bad_request)?),
        };
        if continued.is_some() && !matches!(options.resource_version, "" | "0") {
            let message = "specifying resource version is not allowed when using continue";
            return Err(Failure::bad_request(message));
        }
        let version = Version::parse(options.resource_version)
            .map_err(|why| Failure::bad_request(format!("invalid resource version: {why}")))?;
        let (start, limit) = state(&options, version, continued.as_ref());
        let root = match &predicate.scope {
            Scope::Namespace(namespace) => format!("{namespace}/"),
            _ => String::new(),
        };
        Ok(Self {
            request: ListRequest {
                predicate,
                start,
                limit,
                after: continued.as_ref().map(|at| format!("{root}{}", at.after)),
            },
            paging: Paging {
                continued,
                root,
                selective: options.selective,
            },
        })
    }
}

impl Paging {
    /// The token for the page after `last`, of the state at `revision`.
    pub fn next(&self, last: &str, revision: Revision) -> String {
        Continuation {
            revision: Some(revision),
            after: last.strip_prefix(&self.root).unwrap_or(last).to_owned(),
        }
        .encode()
    }
}

/// Refuses what contradicts itself.
pub(super) fn validate(options: &Options<'_>) -> Result<(), Failure> {
    let mut faults = Vec::new();
    if !options.version_match.is_empty() {
        if options.resource_version.is_empty() {
            faults.push(forbidden(
                MATCH,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if !options.continue_token.is_empty() {
            faults.push(forbidden(
                MATCH,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if !matches!(options.version_match, "Exact" | "NotOlderThan") {
            let supported = ["Exact", "NotOlderThan", ""];
            faults.push(unsupported(MATCH, options.version_match, &supported));
        }
        if options.version_match == "Exact" && options.resource_version == "0" {
            faults.push(forbidden(
                MATCH,
                r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#,
            ));
        }
    }
    if options.send_initial_events.is_some() {
        faults.push(forbidden(
            INITIAL,
            "sendInitialEvents is forbidden for list",
        ));
    }
    match faults.as_slice() {
        [] => Ok(()),
        faults => Err(Failure::invalid_options("ListOptions", faults)),
    }
}

/// From which state, and how many objects at most.
fn state(
    options: &Options<'_>,
    version: Version,
    continued: Option<&Continuation>,
) -> (StartFrom, usize) {
    let limit = options.limit;
    if let Some(continued) = continued {
        let start = continued
            .revision
            .map_or(StartFrom::Newest, StartFrom::Exact);
        return (start, limit);
    }
    match (version, options.version_match) {
        (Version::Unset, _) => (StartFrom::Newest, limit),
        // Old clients take the answer for the whole list, however they asked.
        (Version::Any, _) => (StartFrom::Any, 0),
        (Version::At(revision), "Exact") => (StartFrom::Exact(revision), limit),
        (Version::At(revision), "") if limit > 0 => (StartFrom::Exact(revision), limit),
        (Version::At(revision), _) => (StartFrom::NotOlderThan(revision), limit),
    }
}
