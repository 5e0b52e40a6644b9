//! Which objects a path names.

use ringwatch_core::predicate::Scope;

use super::answer::Refusal;

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// As in the relay's tracks: `pods`, `devices.example.com`.
    pub(super) resource: String,
    pub(super) version: String,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    /// Whether it is one of the old paths, which watch without being told to.
    pub(super) watch_path: bool,
}

impl Target {
    pub(super) fn parse(path: &str) -> Result<Self, Refusal> {
        let unknown = Refusal::no_such_resource;
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
        let (watch_path, rest) = match rest.split_first() {
            Some((&"watch", rest)) => (true, rest),
            _ => (false, rest.as_slice()),
        };
        let (namespace, plural, name) = match *rest {
            ["namespaces", namespace, plural] => (Some(namespace), plural, None),
            ["namespaces", namespace, plural, name] => (Some(namespace), plural, Some(name)),
            [plural] => (None, plural, None),
            [plural, name] => (None, plural, Some(name)),
            _ => return Err(unknown()),
        };
        Ok(Self {
            resource: match group {
                "" => plural.to_owned(),
                group => format!("{plural}.{group}"),
            },
            version: version.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            watch_path,
        })
    }

    /// Where the named object lives, if one is named.
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

    /// What the keys of a list begin with.
    pub(super) fn root(&self) -> String {
        let namespace = self.namespace.as_ref();
        namespace.map_or(String::new(), |namespace| format!("{namespace}/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_targets() {
        let target = Target::parse("/apis/example.com/v1/namespaces/hall/devices").unwrap();
        assert_eq!(
            (target.resource.as_str(), target.namespace.as_deref()),
            ("devices.example.com", Some("hall"))
        );
        assert_eq!(
            (target.root().as_str(), target.watch_path),
            ("hall/", false)
        );
        let one = Target::parse("/api/v1/namespaces/default/pods/web").unwrap();
        assert_eq!(one.key().as_deref(), Some("default/web"));
        let cluster = Target::parse("/api/v1/nodes/a").unwrap();
        assert_eq!(
            (cluster.resource.as_str(), cluster.key().as_deref()),
            ("nodes", Some("a"))
        );
        let old = Target::parse("/api/v1/watch/namespaces/default/pods").unwrap();
        assert_eq!((old.resource.as_str(), old.watch_path), ("pods", true));
        for wrong in [
            "/",
            "/api",
            "/apis/x",
            "/other",
            "/api/v1/namespaces/a/b/c/d",
        ] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }
}
