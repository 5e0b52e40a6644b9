//! What a list or watch asks for: query parameters become typed requests here, and nowhere else.
//!
//! ```text
//!   query ──► Options (decoded, defaulted) ──► validated ──► ListPlan │ WatchPlan
//!     400: cannot be read                422: contradicts itself
//! ```

mod list;
mod refusals;
mod selectors;
mod watch;

pub use list::{ListPlan, Paging};
pub use watch::WatchPlan;

use ringwatch_core::revision::Revision;
use ringwatch_core::selector::Requirement;

use self::selectors::Selectors;
use super::query::Query;
use crate::cache::Predicate;
use crate::resources::Target;
use crate::status::Failure;
use crate::validation::{Invalid, Reason};

type Selected = Predicate;

/// The options of a list or watch, as decoded.
#[derive(Debug, Clone)]
struct Options<'a> {
    selectors: Selectors,
    /// Whether selectors were given: the number of remaining objects is then not told.
    selective: bool,
    watch: bool,
    bookmarks: bool,
    resource_version: &'a str,
    version_match: &'a str,
    continue_token: &'a str,
    limit: usize,
    timeout: Option<i64>,
    send_initial_events: Option<bool>,
}

impl<'a> Options<'a> {
    fn decode(query: &'a Query<'_>) -> Result<Self, Failure> {
        let limit = query.number("limit")?.unwrap_or(0);
        let timeout = query.number("timeoutSeconds")?;
        let (labels, fields) = (query.text("labelSelector"), query.text("fieldSelector"));
        Ok(Self {
            selectors: Selectors::parse(labels, fields)?,
            selective: !labels.trim().is_empty() || !fields.trim().is_empty(),
            watch: query.flag("watch"),
            bookmarks: query.flag("allowWatchBookmarks"),
            resource_version: query.text("resourceVersion"),
            version_match: query.text("resourceVersionMatch"),
            continue_token: query.text("continue"),
            // Negative is as good as none.
            limit: usize::try_from(limit).unwrap_or(0),
            timeout,
            send_initial_events: query.optional_flag("sendInitialEvents"),
        })
    }
}

/// Whether a request watches, which its path or its query may say.
pub fn is_watch(target: &Target, query: &Query<'_>) -> bool {
    target.watch_path || (target.name.is_none() && query.flag("watch"))
}

/// A resourceVersion in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// None: the newest state.
    Unset,
    /// `0`: any state.
    Any,
    /// A revision.
    At(Revision),
}

impl Version {
    /// Reads one. The error says what is wrong in the words of upstream.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::Unset),
            "0" => Ok(Self::Any),
            text => {
                let digits = text.bytes().all(|byte| byte.is_ascii_digit());
                let parsed = text.parse().ok().filter(|_| digits);
                parsed.map(|revision| Self::At(Revision::new(revision))).ok_or_else(|| {
                    let why = if digits { "value out of range" } else { "invalid syntax" };
                    format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: {why}")
                })
            }
        }
    }
}

fn forbidden(field: &str, detail: impl Into<String>) -> Invalid {
    Invalid {
        field: field.to_owned(),
        reason: Reason::Forbidden,
        value: None,
        detail: detail.into(),
    }
}

fn unsupported(field: &str, value: &str, supported: &[&str]) -> Invalid {
    let supported: Vec<_> = supported.iter().map(|value| format!("{value:?}")).collect();
    Invalid {
        field: field.to_owned(),
        reason: Reason::NotSupported,
        value: Some(value.into()),
        detail: format!("supported values: {}", supported.join(", ")),
    }
}

const MATCH: &str = "resourceVersionMatch";
const INITIAL: &str = "sendInitialEvents";

/// Room for the requirements of a selector while it is parsed.
type Table = heapless::Vec<Requirement, 512>;
