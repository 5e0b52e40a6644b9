//! What a path and its query ask for.

use http::StatusCode;
use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::{ListStartError, Match, Revision, StartFrom};

use super::answer::Refusal;

/// A request for objects.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// As in the relay's tracks: `pods`, `devices.example.com`.
    pub(super) resource: String,
    pub(super) version: String,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) labels: String,
    pub(super) fields: String,
    pub(super) revision: String,
    pub(super) matching: Option<Match>,
    pub(super) watches: bool,
    pub(super) bookmarks: bool,
    pub(super) initial: Option<bool>,
    pub(super) timeout: Option<u64>,
    pub(super) include: Option<String>,
}

fn bad(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "BadRequest", message)
}

impl Target {
    pub(super) fn parse(path: &str, query: &str) -> Result<Self, Refusal> {
        let unknown = || {
            Refusal::new(
                StatusCode::NOT_FOUND,
                "NotFound",
                "the server could not find the requested resource",
            )
        };
        let mut parts = path.trim_matches('/').split('/');
        let (group, version) = match parts.next() {
            Some("api") => ("", parts.next().ok_or_else(unknown)?),
            Some("apis") => (
                parts.next().ok_or_else(unknown)?,
                parts.next().ok_or_else(unknown)?,
            ),
            _ => return Err(unknown()),
        };
        let rest: Vec<&str> = parts.collect();
        let (namespace, plural, name) = match *rest.as_slice() {
            ["namespaces", namespace, plural] => (Some(namespace), plural, None),
            ["namespaces", namespace, plural, name] => (Some(namespace), plural, Some(name)),
            [plural] => (None, plural, None),
            [plural, name] => (None, plural, Some(name)),
            _ => return Err(unknown()),
        };
        let mut target = Self {
            resource: match group {
                "" => plural.to_owned(),
                group => format!("{plural}.{group}"),
            },
            version: version.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            labels: String::new(),
            fields: String::new(),
            revision: String::new(),
            matching: None,
            watches: false,
            bookmarks: false,
            initial: None,
            timeout: None,
            include: None,
        };
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let truth = || matches!(&*value, "" | "true" | "1");
            match &*key {
                "labelSelector" => target.labels = value.into_owned(),
                "fieldSelector" => target.fields = value.into_owned(),
                "resourceVersion" => target.revision = value.into_owned(),
                "resourceVersionMatch" => {
                    target.matching = match &*value {
                        "" => None,
                        "Exact" => Some(Match::Exact),
                        "NotOlderThan" => Some(Match::NotOlderThan),
                        other => return Err(bad(format!("resourceVersionMatch: {other}"))),
                    }
                }
                "watch" => target.watches = truth(),
                "allowWatchBookmarks" => target.bookmarks = truth(),
                "sendInitialEvents" => target.initial = Some(truth()),
                "timeoutSeconds" => target.timeout = value.parse().ok(),
                "includeObject" => target.include = Some(value.into_owned()),
                _ => {}
            }
        }
        Ok(target)
    }

    pub(super) fn key(&self) -> Option<String> {
        let name = self.name.as_ref()?;
        Some(match &self.namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.clone(),
        })
    }

    pub(super) fn scope<'a>(&'a self, key: Option<&'a str>) -> Scope<&'a str> {
        match (key, &self.namespace) {
            (Some(key), _) => Scope::Object(key),
            (None, Some(namespace)) => Scope::Namespace(namespace),
            (None, None) => Scope::Resource,
        }
    }

    /// From which state a list is answered.
    pub(super) fn start(&self) -> Result<StartFrom, Refusal> {
        StartFrom::for_list(&self.revision, self.matching, false).map_err(|error| match error {
            ListStartError::Revision(_) => bad(format!("invalid resource version: {error}")),
            error => bad(error.to_string()),
        })
    }

    /// After which revision a watch begins; `None` for the state first.
    pub(super) fn after(&self) -> Result<Option<Revision>, Refusal> {
        match self.revision.as_str() {
            "" | "0" => Ok(None),
            _ if self.initial == Some(true) => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|error| bad(format!("resourceVersion: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_targets() {
        let target = Target::parse(
            "/apis/example.com/v1/namespaces/hall/devices",
            "watch=1&labelSelector=a%3Db&resourceVersion=7",
        )
        .unwrap();
        assert_eq!(
            (target.resource.as_str(), target.namespace.as_deref()),
            ("devices.example.com", Some("hall"))
        );
        assert_eq!((target.labels.as_str(), target.watches), ("a=b", true));
        assert_eq!(target.after().unwrap(), Some(Revision::new(7)));
        let one = Target::parse("/api/v1/namespaces/default/pods/web", "").unwrap();
        assert_eq!(one.key().as_deref(), Some("default/web"));
        let cluster = Target::parse("/api/v1/nodes/a", "").unwrap();
        assert_eq!(
            (cluster.resource.as_str(), cluster.key().as_deref()),
            ("nodes", Some("a"))
        );
        for wrong in [
            "/",
            "/api",
            "/apis/x",
            "/other",
            "/api/v1/namespaces/a/b/c/d",
        ] {
            assert!(Target::parse(wrong, "").is_err(), "{wrong}");
        }
    }
}
