//! What the query of a list or watch asks for: texts become typed plans here, and nowhere else.
//!
//! ```text
//!   query ──► Options (decoded) ──► validated ──► ListPlan │ WatchPlan
//!     400: cannot be read     422: contradicts itself
//! ```

use std::borrow::Cow;
use std::time::Duration;

use ringwatch_core::revision::{Match, Revision, StartFrom};

use super::answer::Refusal;
use super::continuation::Continuation;

/// How long a watch lasts that does not say.
const LASTS: Duration = Duration::from_secs(1800);

/// The options of a request, as decoded.
#[derive(Debug, Default)]
pub(super) struct Options<'q> {
    pub(super) labels: Cow<'q, str>,
    pub(super) fields: Cow<'q, str>,
    pub(super) include: Include,
    /// Whether the query says that it watches.
    pub(super) watch: bool,
    bookmarks: bool,
    version: Cow<'q, str>,
    matching: Cow<'q, str>,
    token: Cow<'q, str>,
    limit: usize,
    timeout: Option<i64>,
    initial: Option<bool>,
}

/// What of its object a row of a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Include {
    #[default]
    Metadata,
    Object,
    None,
}

/// A list, ready to be looked up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ListPlan {
    pub(super) start: StartFrom,
    /// At most so many objects; 0 for all.
    pub(super) limit: usize,
    /// Where it goes on, if it is not the first page.
    pub(super) continued: Option<Continuation>,
}

/// A watch, ready to begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WatchPlan {
    pub(super) begin: Begin,
    pub(super) bookmarks: bool,
    /// Whether the end of the initial objects is marked by a bookmark.
    pub(super) marks_initial_end: bool,
    pub(super) lasts: Duration,
}

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// With the objects there are, in a state that is at least of this revision.
    State(Revision),
    /// With what happens from now on.
    Now,
    /// With what has happened since.
    After(Revision),
}

impl<'q> Options<'q> {
    /// Decodes a query. Of a parameter that is given twice the first counts; what is not known is passed over.
    pub(super) fn decode(query: &'q str) -> Result<Self, Refusal> {
        let mut options = Self::default();
        let mut seen: Vec<Cow<'q, str>> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if seen.contains(&name) {
                continue;
            }
            let flag = || !matches!(&*value, "0") && !value.eq_ignore_ascii_case("false");
            match &*name {
                "watch" => options.watch = flag(),
                "allowWatchBookmarks" => options.bookmarks = flag(),
                "sendInitialEvents" => options.initial = Some(flag()),
                // Negative is as good as none.
                "limit" => {
                    options.limit = usize::try_from(number("limit", &value)?).unwrap_or(0);
                }
                "timeoutSeconds" => options.timeout = Some(number("timeoutSeconds", &value)?),
                "includeObject" => {
                    options.include = match &*value {
                        "" | "Metadata" => Include::Metadata,
                        "Object" => Include::Object,
                        "None" => Include::None,
                        other => {
                            return Err(Refusal::bad_request(format!(
                                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', 'Object', 'None', or empty"
                            )));
                        }
                    };
                }
                "labelSelector" => options.labels = value,
                "fieldSelector" => options.fields = value,
                "resourceVersion" => options.version = value,
                "resourceVersionMatch" => options.matching = value,
                "continue" => options.token = value,
                _ => continue,
            }
            seen.push(name);
        }
        Ok(options)
    }

    /// What a list asks for.
    pub(super) fn list(&self) -> Result<ListPlan, Refusal> {
        self.validate_list()?;
        let continued = match &*self.token {
            "" => None,
            token => Some(Continuation::decode(token).map_err(Refusal::bad_request)?),
        };
        if continued.is_some() && !matches!(&*self.version, "" | "0") {
            let message = "specifying resource version is not allowed when using continue";
            return Err(Refusal::bad_request(message));
        }
        if let Some(continued) = continued {
            let revision = continued.revision;
            return Ok(ListPlan {
                start: revision.map_or(StartFrom::Newest, StartFrom::Exact),
                limit: self.limit,
                continued: Some(continued),
            });
        }
        let matching = match &*self.matching {
            "Exact" => Some(Match::Exact),
            "NotOlderThan" => Some(Match::NotOlderThan),
            _ => None,
        };
        let version = self.revision("invalid resource version: ")?;
        let start = StartFrom::for_list(&self.version, matching, self.limit > 0)
            .map_err(|error| Refusal::bad_request(error.to_string()))?;
        Ok(ListPlan {
            start,
            // Old clients take the answer for the whole list, however they asked.
            limit: match version {
                Some(Revision::ZERO) => 0,
                _ => self.limit,
            },
            continued: None,
        })
    }

    /// What a watch asks for. On one of the old paths nobody has said that it watches.
    pub(super) fn watch(&self) -> Result<WatchPlan, Refusal> {
        let anywhere = matches!(&*self.version, "" | "0");
        // A watch of nothing in particular begins with the state.
        let unsaid = self.watch && anywhere && self.initial.is_none() && self.matching.is_empty();
        if self.watch && !unsaid {
            self.validate_watch()?;
        } else if !self.watch {
            self.validate_list()?;
        } else if !self.token.is_empty() {
            return Err(Refusal::invalid_options(&[forbidden_with_continue()]));
        }
        let version = self.revision("")?.filter(|at| *at != Revision::ZERO);
        let state = self.initial.unwrap_or(anywhere);
        Ok(WatchPlan {
            begin: match (version, state) {
                (version, true) => Begin::State(version.unwrap_or(Revision::ZERO)),
                (None, false) => Begin::Now,
                (Some(version), false) => Begin::After(version),
            },
            bookmarks: self.bookmarks,
            marks_initial_end: self.watch && state && self.bookmarks,
            lasts: match self.timeout {
                None | Some(0) => LASTS,
                Some(seconds) => Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
            },
        })
    }

    /// The least revision of an object that is asked for.
    pub(super) fn get(&self) -> Result<Revision, Refusal> {
        Ok(self.revision("")?.unwrap_or(Revision::ZERO))
    }

    fn revision(&self, context: &str) -> Result<Option<Revision>, Refusal> {
        let text = &*self.version;
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| {
            Refusal::bad_request(format!(
                "{context}resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
            ))
        })
    }

    fn validate_list(&self) -> Result<(), Refusal> {
        let mut faults = Vec::new();
        let mut forbid = |detail: &str| {
            faults.push(format!("resourceVersionMatch: Forbidden: {detail}"));
        };
        if !self.matching.is_empty() {
            if self.version.is_empty() {
                forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
            }
            if self.matching == "Exact" && self.version == "0" {
                forbid(r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#);
            }
            if !self.token.is_empty() {
                faults.push(forbidden_with_continue());
            }
            if !matches!(&*self.matching, "Exact" | "NotOlderThan") {
                faults.push(self.unsupported_match(r#""Exact", "NotOlderThan", """#));
            }
        }
        if self.initial.is_some() {
            faults.push(
                "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list".to_owned(),
            );
        }
        refuse(&faults)
    }

    fn validate_watch(&self) -> Result<(), Refusal> {
        let mut faults = Vec::new();
        let mut forbid = |detail: &str| {
            faults.push(format!("resourceVersionMatch: Forbidden: {detail}"));
        };
        match self.initial {
            None if !self.matching.is_empty() => forbid(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ),
            Some(_) if self.matching != "NotOlderThan" => {
                forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
            }
            _ => {}
        }
        if !self.matching.is_empty() {
            if self.matching != "NotOlderThan" {
                faults.push(self.unsupported_match(r#""NotOlderThan""#));
            }
            if !self.token.is_empty() {
                faults.push(forbidden_with_continue());
            }
        }
        refuse(&faults)
    }

    fn unsupported_match(&self, supported: &str) -> String {
        format!(
            "resourceVersionMatch: Unsupported value: {:?}: supported values: {supported}",
            self.matching
        )
    }
}

fn forbidden_with_continue() -> String {
    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"
        .to_owned()
}

fn refuse(faults: &[String]) -> Result<(), Refusal> {
    match faults {
        [] => Ok(()),
        faults => Err(Refusal::invalid_options(faults)),
    }
}

fn number(name: &str, text: &str) -> Result<i64, Refusal> {
    text.parse().map_err(|_| {
        Refusal::bad_request(format!(
            "{name}: strconv.ParseInt: parsing {text:?}: invalid syntax"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T: std::fmt::Debug>(result: Result<T, Refusal>) -> (u64, String) {
        let status = result.unwrap_err().object();
        let message = status["message"].as_str().unwrap_or_default().to_owned();
        (status["code"].as_u64().unwrap_or(0), message)
    }

    #[test]
    fn a_list_begins_in_the_state_that_is_asked_for() {
        let at = Revision::new(7);
        let token = Continuation {
            revision: Some(at),
            after: "a".to_owned(),
        };
        let next = format!("continue={}&limit=3", token.encode());
        for (query, start, limit) in [
            ("", StartFrom::Newest, 0),
            ("limit=2", StartFrom::Newest, 2),
            ("limit=-2", StartFrom::Newest, 0),
            ("limit=2&limit=3", StartFrom::Newest, 2),
            ("limit=2&resourceVersion=0", StartFrom::Any, 0),
            ("resourceVersion=7", StartFrom::NotOlderThan(at), 0),
            ("resourceVersion=7&limit=1", StartFrom::Exact(at), 1),
            (
                "resourceVersion=7&limit=1&resourceVersionMatch=NotOlderThan",
                StartFrom::NotOlderThan(at),
                1,
            ),
            (&next, StartFrom::Exact(at), 3),
        ] {
            let plan = Options::decode(query).unwrap().list().unwrap();
            assert_eq!((plan.start, plan.limit), (start, limit), "{query}");
        }
        for (query, code, end) in [
            (
                "resourceVersionMatch=Exact",
                422,
                "unless resourceVersion is provided",
            ),
            (
                "resourceVersion=1&resourceVersionMatch=Best",
                422,
                r#"supported values: "Exact", "NotOlderThan", """#,
            ),
            ("sendInitialEvents=true", 422, "is forbidden for list"),
            ("resourceVersion=x", 400, "invalid syntax"),
            ("resourceVersion=1&continue=e30", 400, "encoded version "),
        ] {
            let (status, message) = refused(Options::decode(query).unwrap().list());
            assert!(
                status == code && message.ends_with(end),
                "{query}: {message}"
            );
        }
        assert_eq!(refused(Options::decode("limit=many")).0, 400);
    }

    #[test]
    fn a_watch_begins_where_it_says() {
        let at = Revision::new(7);
        let state = Begin::State(Revision::ZERO);
        for (query, begin, marks) in [
            ("watch=1", state, false),
            ("watch=1&allowWatchBookmarks=1", state, true),
            ("watch=true&resourceVersion=0", state, false),
            ("watch&resourceVersion=7", Begin::After(at), false),
            (
                "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
                Begin::Now,
                false,
            ),
            (
                "watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&resourceVersion=7&allowWatchBookmarks=true",
                Begin::State(at),
                true,
            ),
            // The old paths.
            ("allowWatchBookmarks=1", state, false),
            ("resourceVersion=7", Begin::After(at), false),
        ] {
            let plan = Options::decode(query).unwrap().watch().unwrap();
            assert_eq!(
                (plan.begin, plan.marks_initial_end),
                (begin, marks),
                "{query}"
            );
        }
        for (query, code) in [
            ("watch=1&sendInitialEvents=1", 422),
            ("watch=1&resourceVersionMatch=NotOlderThan", 422),
            ("watch=1&continue=x", 422),
            ("watch=1&resourceVersion=x", 400),
            ("sendInitialEvents=1", 422),
        ] {
            let options = Options::decode(query).unwrap();
            assert_eq!(refused(options.watch()).0, code, "{query}");
        }
    }
}
