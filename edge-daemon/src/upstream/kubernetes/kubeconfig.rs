//! The file that tells clients of Kubernetes where to go and who to be.

use std::collections::BTreeMap;
use std::path::Path;

use base64ct::{Base64, Encoding};
use saphyr_parser::{Event, Parser, StrInput};

use super::access::{Access, Given};

/// As much of YAML as such a file needs. Tags and anchors are not looked at.
#[derive(Debug, PartialEq, Eq)]
enum Yaml {
    Text(String),
    List(Vec<Yaml>),
    Map(BTreeMap<String, Yaml>),
}

/// The deepest that such a file goes, and some.
const DEPTH: usize = 16;

struct Reader<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.0.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(error.to_string()),
            None => Ok(Event::StreamEnd),
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Yaml, String> {
        let depth = depth.checked_sub(1).ok_or("too deep")?;
        match event {
            Event::Scalar(text, ..) => Ok(Yaml::Text(text.into_owned())),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Yaml::List(items)),
                        event => items.push(self.value(event, depth)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut members = BTreeMap::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Ok(Yaml::Map(members)),
                        Event::Scalar(key, ..) => key.into_owned(),
                        _ => return Err("a key that is no text".to_owned()),
                    };
                    let event = self.next()?;
                    members.insert(key, self.value(event, depth)?);
                }
            }
            _ => Err("not a kubeconfig".to_owned()),
        }
    }
}

impl Yaml {
    fn read(text: &str) -> Result<Self, String> {
        let mut reader = Reader(Parser::new_from_str(text));
        loop {
            match reader.next()? {
                Event::StreamEnd => return Err("is empty".to_owned()),
                Event::DocumentStart(_) => {
                    let event = reader.next()?;
                    return reader.value(event, DEPTH);
                }
                _ => {}
            }
        }
    }

    fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(members) => members.get(name),
            _ => None,
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Self::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// What a list has under a name: `[{name: NAME, SINGULAR: …}, …]`.
    fn named(&self, list: &str, name: &str, singular: &str) -> Result<&Self, String> {
        let missing = || format!("{list} has no `{name}`");
        let Some(Self::List(items)) = self.get(list) else {
            return Err(missing());
        };
        let found = items.iter().find(|item| item.text("name") == Some(name));
        found
            .and_then(|item| item.get(singular))
            .ok_or_else(missing)
    }
}

/// Reads a kubeconfig. Paths in it are relative to `base`.
pub(super) fn read(text: &str, base: &Path, context: Option<&str>) -> Result<Access, String> {
    let root = Yaml::read(text)?;
    let context = context
        .or(root.text("current-context"))
        .ok_or("no current-context")?;
    let context = root.named("contexts", context, "context")?;
    let cluster = context
        .text("cluster")
        .ok_or("the context names no cluster")?;
    let cluster = root.named("clusters", cluster, "cluster")?;
    let user = context.text("user").ok_or("the context names no user")?;
    let user = root.named("users", user, "user")?;
    if cluster.text("insecure-skip-tls-verify") == Some("true") {
        return Err(
            "insecure-skip-tls-verify: anybody could be upstream; give certificate-authority"
                .to_owned(),
        );
    }
    for unknown in ["exec", "auth-provider", "username"] {
        if user.get(unknown).is_some() {
            return Err(format!(
                "users: {unknown} is not supported; use a token or a certificate"
            ));
        }
    }
    let given = |map: &Yaml, name: &str| -> Result<Option<Given>, String> {
        if let Some(data) = map.text(&format!("{name}-data")) {
            let bytes =
                Base64::decode_vec(data).map_err(|_| format!("{name}-data is not Base64"))?;
            return Ok(Some(Given::Here(bytes)));
        }
        Ok(map.text(name).map(|file| Given::File(base.join(file))))
    };
    let token = match (user.text("tokenFile"), user.text("token")) {
        (Some(file), _) => Some(Given::File(base.join(file))),
        (None, token) => token.map(|token| Given::Here(token.as_bytes().to_vec())),
    };
    let certificate = given(user, "client-certificate")?.zip(given(user, "client-key")?);
    let server = cluster.text("server").ok_or("the cluster has no server")?;
    Ok(Access::new(
        server.to_owned(),
        token,
        given(cluster, "certificate-authority")?,
        certificate,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- name: a\n  context: {cluster: c, user: u}\nclusters:\n- name: c\n  cluster:\n    server: \"http://127.0.0.1:1/\"\nusers:\n- name: u\n  user:\n    token: secret\n";

    #[test]
    fn a_kubeconfig_is_followed() {
        let access = read(FILE, Path::new(""), None).unwrap();
        let given = access.read().unwrap();
        assert_eq!(
            (given.host.as_str(), given.port, given.token.as_deref()),
            ("127.0.0.1", 1, Some("secret"))
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong =
            |from: &str, to: &str| read(&FILE.replace(from, to), Path::new(""), None).unwrap_err();
        assert_eq!(
            wrong("current-context: a", "current-context: b"),
            "contexts has no `b`"
        );
        assert_eq!(
            wrong("token: secret", "exec: {}"),
            "users: exec is not supported; use a token or a certificate"
        );
        assert!(read("", Path::new(""), None).is_err());
        assert!(read("[[[[[[[[[[[[[[[[[[[[", Path::new(""), None).is_err());
    }
}
