//! `/healthz`, `/livez` and `/readyz`, in the words of Kubernetes. What is checked is the business of who asks.
//!
//! ```
//! use ringwatch_server::health::{Check, Endpoint};
//!
//! let checks = [Check::new("ping", true), Check::new("shutdown", false)];
//! let endpoint = Endpoint::parse("/readyz").unwrap();
//! assert_eq!(endpoint.answer("", &checks).status(), 500);
//! assert_eq!(endpoint.answer("exclude=shutdown", &checks).status(), 200);
//! assert_eq!(Endpoint::parse("/readyz/ping").unwrap().answer("", &checks).status(), 200);
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response, StatusCode};

use crate::body::Body;

/// Something that is well or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// What is looked at.
    pub name: &'static str,
    /// Whether it is well.
    pub ok: bool,
    /// What to say if it is not. The particulars are logged, not shown: everyone may ask.
    pub otherwise: &'static str,
}

impl Check {
    /// A check and its result.
    pub fn new(name: &'static str, ok: bool) -> Self {
        Self {
            name,
            ok,
            otherwise: "reason withheld",
        }
    }

    /// What to say if it is not well.
    pub fn otherwise(self, words: &'static str) -> Self {
        Self {
            otherwise: words,
            ..self
        }
    }
}

/// What is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint<'a> {
    /// The question.
    pub question: Question,
    /// One check of it; `None` for all.
    pub check: Option<&'a str>,
}

/// The question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// `/healthz`: the old one.
    Health,
    /// `/livez`: or should it be restarted?
    Live,
    /// `/readyz`: should requests be sent here?
    Ready,
}

impl<'a> Endpoint<'a> {
    /// The endpoint of a path; `None` if it is another path.
    pub fn parse(path: &'a str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.splitn(2, '/');
        let question = match parts.next()? {
            "healthz" => Question::Health,
            "livez" => Question::Live,
            "readyz" => Question::Ready,
            _ => return None,
        };
        let check = parts.next().filter(|check| !check.is_empty());
        Some(Self { question, check })
    }

    /// The answer: 200 if all is well that is asked about and not excluded, and 500 otherwise.
    pub fn answer(&self, query: &str, checks: &[Check]) -> Response<Body> {
        if let Some(name) = self.check {
            return match checks.iter().find(|check| check.name == name) {
                None => text(StatusCode::NOT_FOUND, "404 page not found\n"),
                Some(check) if check.ok => text(StatusCode::OK, "ok"),
                Some(check) => {
                    let words = format!("internal server error: {}\n", check.otherwise);
                    text(StatusCode::INTERNAL_SERVER_ERROR, words)
                }
            };
        }
        let name = self.question.name();
        let parameters = || {
            query
                .split('&')
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        };
        let verbose = parameters().any(|(key, _)| key == "verbose");
        let excluded = |name: &str| parameters().any(|pair| pair == ("exclude", name));
        let mut lines = String::new();
        let mut failed = false;
        let known = |name: &str| checks.iter().any(|check| check.name == name);
        let unknown: BTreeSet<_> = parameters()
            .filter(|(key, name)| *key == "exclude" && !name.is_empty() && !known(name))
            .map(|(_, name)| format!("{name:?}"))
            .collect();
        for check in checks {
            let _ = match (excluded(check.name), check.ok) {
                (true, _) => writeln!(lines, "[+]{} excluded: ok", check.name),
                (false, true) => writeln!(lines, "[+]{} ok", check.name),
                (false, false) => {
                    failed = true;
                    writeln!(lines, "[-]{} failed: {}", check.name, check.otherwise)
                }
            };
        }
        if !unknown.is_empty() {
            let unknown = Vec::from_iter(unknown).join(",");
            let words = "warn: some health checks cannot be excluded: no matches for";
            let _ = writeln!(lines, "{words} {unknown}");
        }
        if failed {
            let _ = writeln!(lines, "{name} check failed");
            return text(StatusCode::INTERNAL_SERVER_ERROR, lines);
        }
        if verbose {
            let _ = writeln!(lines, "{name} check passed");
            return text(StatusCode::OK, lines);
        }
        text(StatusCode::OK, "ok")
    }
}

impl Question {
    fn name(self) -> &'static str {
        match self {
            Self::Health => "healthz",
            Self::Live => "livez",
            Self::Ready => "readyz",
        }
    }
}

fn text(status: StatusCode, text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let nosniff = HeaderName::from_static("x-content-type-options");
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, plain);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert(nosniff, HeaderValue::from_static("nosniff"));
    response
}
