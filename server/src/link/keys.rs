//! Who may come in by the node link, and what for.
//!
//! ```toml
//! [heater-1]
//! key = "8f0c…"                                   # 32 bytes as 64 hexadecimal digits
//! allow = ["devices.ringwatch.dev/hall", "nodes"] # resources, each with or without a namespace; "*" for all
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use ringwatch_core::link::serve::{Access, Admission, Name};
use ringwatch_core::link::{MAX_NAME, PresharedKey};
use ringwatch_core::predicate::Scope;
use toml::de::{DeTable, DeValue};

/// The largest file that is read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// The nodes that may come in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    nodes: BTreeMap<String, Node>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    key: PresharedKey,
    allowed: Vec<Allowed>,
}

/// Something that a node may read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Allowed {
    Everything,
    Resource(String),
    Namespace { resource: String, namespace: String },
}

impl Allowed {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a resource; write for example pods, devices.ringwatch.dev/hall or *"
            )
        };
        let named = |text: &str| {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
            (!text.is_empty() && text.chars().all(plain))
                .then(|| text.to_owned())
                .ok_or_else(wrong)
        };
        match text.split_once('/') {
            None if text == "*" => Ok(Self::Everything),
            None => named(text).map(Self::Resource),
            Some((resource, namespace)) => Ok(Self::Namespace {
                resource: named(resource)?,
                namespace: named(namespace)?,
            }),
        }
    }

    fn permits(&self, wanted: &str, scope: &Scope<&str>) -> bool {
        match self {
            Self::Everything => true,
            Self::Resource(resource) => resource == wanted,
            Self::Namespace {
                resource,
                namespace,
            } => {
                let inside = match scope {
                    Scope::Resource => false,
                    Scope::Namespace(asked) => asked == namespace,
                    Scope::Object(key) => key
                        .split_once('/')
                        .is_some_and(|(asked, _)| asked == namespace),
                };
                resource == wanted && inside
            }
        }
    }

    fn concerns(&self, wanted: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Resource(resource) | Self::Namespace { resource, .. } => resource == wanted,
        }
    }
}

impl Keys {
    /// Reads a file.
    pub fn load(file: &Path) -> Result<Self, KeysError> {
        let failed = |why| KeysError {
            file: file.to_owned(),
            line: 0,
            why,
        };
        let unreadable = |error| failed(format!("cannot be read: {error}"));
        if fs::metadata(file).map_err(unreadable)?.len() > MAX_BYTES {
            return Err(failed(format!("is larger than {MAX_BYTES} bytes")));
        }
        Self::parse(file, &fs::read_to_string(file).map_err(unreadable)?)
    }

    /// Reads a file's text. The path is for the words of an error.
    pub fn parse(file: &Path, text: &str) -> Result<Self, KeysError> {
        let failed = |at: usize, why| KeysError {
            file: file.to_owned(),
            line: text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1,
            why,
        };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            failed(at, error.message().to_owned())
        })?;
        let mut nodes = BTreeMap::new();
        for (name, value) in table.get_ref() {
            let at = name.span().start;
            let name = name.get_ref().as_ref();
            if name.is_empty() || name.len() > MAX_NAME {
                let why = format!("a node's name has 1 to {MAX_NAME} bytes");
                return Err(failed(at, why));
            }
            let DeValue::Table(fields) = value.get_ref() else {
                let why = format!("{name}: write a section: [{name}], then key and allow");
                return Err(failed(at, why));
            };
            let node = Node::read(fields)
                .map_err(|(inner, why)| failed(inner.unwrap_or(at), format!("{name}: {why}")))?;
            nodes.insert(name.to_owned(), node);
        }
        Ok(Self { nodes })
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nobody may come in.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether a node may read something of a resource.
    pub fn knows(&self, node: &str, resource: &str) -> bool {
        let allowed = self.nodes.get(node).map(|node| node.allowed.as_slice());
        let mut allowed = allowed.unwrap_or_default().iter();
        allowed.any(|allowed| allowed.concerns(resource))
    }

    /// Whether a node may read this part of a resource.
    pub fn permits(&self, node: &str, resource: &str, scope: &Scope<&str>) -> bool {
        let allowed = self.nodes.get(node).map(|node| node.allowed.as_slice());
        let mut allowed = allowed.unwrap_or_default().iter();
        allowed.any(|allowed| allowed.permits(resource, scope))
    }

    /// Whether a node that came in under other keys may stay: it has the same key and the same rights.
    pub fn keeps(&self, node: &str, before: &Self) -> bool {
        let now = self.nodes.get(node);
        now.is_some() && now == before.nodes.get(node)
    }
}

impl Access for Keys {
    type Name = Name;

    fn name(&self, node: &str) -> Option<Name> {
        node.try_into().ok()
    }

    fn admit(&self, node: &str, sealed: bool) -> Admission {
        match self.nodes.get(node) {
            Some(node) if sealed => Admission::Sealed(node.key.clone()),
            _ => Admission::Refused,
        }
    }
}

impl Node {
    /// Reads a section; what is wrong comes with its place if that is known.
    fn read(fields: &DeTable<'_>) -> Result<Self, (Option<usize>, String)> {
        let (mut key, mut allowed) = (None, None);
        for (name, value) in fields {
            let at = Some(name.span().start);
            match (name.get_ref().as_ref(), value.get_ref()) {
                ("key", DeValue::String(text)) => {
                    key = Some(read_key(text).ok_or((at, WRONG_KEY.to_owned()))?)
                }
                ("key", _) => return Err((at, WRONG_KEY.to_owned())),
                ("allow", DeValue::Array(items)) => {
                    let items = items.iter().map(|item| match item.get_ref() {
                        DeValue::String(text) => Allowed::parse(text),
                        _ => Err("allow is a list of texts in quotes".to_owned()),
                    });
                    let items: Result<Vec<_>, _> = items.collect();
                    allowed = Some(items.map_err(|why| (at, why))?);
                }
                ("allow", _) => return Err((at, "allow is a list: [\"pods\"]".to_owned())),
                (other, _) => {
                    let why = format!("{other}: there is no such field; a node has key and allow");
                    return Err((at, why));
                }
            }
        }
        Ok(Self {
            key: key.ok_or((None, "has no key".to_owned()))?,
            allowed: allowed.ok_or((None, "allow is missing: what may it read?".to_owned()))?,
        })
    }
}

/// Without the key itself, which is secret even if it is wrong.
const WRONG_KEY: &str = "key is 32 random bytes as 64 hexadecimal digits, in quotes; \
    make one with: openssl rand -hex 32";

fn read_key(text: &str) -> Option<PresharedKey> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    let bytes = <[u8; 32]>::try_from(bytes).ok()?;
    rest.is_empty().then(|| PresharedKey::new(bytes))
}

/// What is wrong with a file of keys, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeysError {
    file: PathBuf,
    /// 0 for the file as a whole.
    line: usize,
    why: String,
}

impl fmt::Display for KeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.why)
    }
}

impl Error for KeysError {}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    fn parse(text: &str) -> Result<Keys, String> {
        Keys::parse(Path::new("nodes.toml"), &text.replace("KEY", KEY))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_node_may_read_what_its_line_allows() {
        let keys = parse(
            "[heater]\nkey = \"KEY\"\nallow = [\"devices.ringwatch.dev/hall\", \"nodes\"]\n\
             [all]\nkey = \"KEY\"\nallow = [\"*\"]\n[none]\nkey = \"KEY\"\nallow = []",
        )
        .unwrap();
        let device = "devices.ringwatch.dev";
        for (node, resource, scope, expected) in [
            ("heater", device, Scope::Namespace("hall"), true),
            ("heater", device, Scope::Object("hall/heater"), true),
            ("heater", device, Scope::Namespace("attic"), false),
            ("heater", device, Scope::Object("attic/heater"), false),
            ("heater", device, Scope::Resource, false),
            ("heater", "nodes", Scope::Resource, true),
            ("heater", "pods", Scope::Namespace("hall"), false),
            ("all", "pods", Scope::Resource, true),
            ("none", "pods", Scope::Resource, false),
            ("nobody", "nodes", Scope::Resource, false),
        ] {
            assert_eq!(
                keys.permits(node, resource, &scope),
                expected,
                "{node} {resource} {scope:?}"
            );
        }
        assert!(keys.knows("heater", device) && !keys.knows("heater", "pods"));
    }

    #[test]
    fn only_known_names_come_in_and_never_in_plain_text() {
        let keys = parse("[heater]\nkey = \"KEY\"\nallow = [\"*\"]").unwrap();
        assert!(matches!(keys.admit("heater", true), Admission::Sealed(_)));
        assert_eq!(keys.admit("heater", false), Admission::Refused);
        assert_eq!(keys.admit("cooler", true), Admission::Refused);
    }

    #[test]
    fn who_has_another_key_or_other_rights_does_not_stay() {
        let before = parse("[heater]\nkey = \"KEY\"\nallow = [\"pods\"]").unwrap();
        assert!(before.keeps("heater", &before));
        let other = KEY.replace('0', "f");
        for after in [
            String::new(),
            "[heater]\nkey = \"KEY\"\nallow = [\"nodes\"]".to_owned(),
            format!("[heater]\nkey = \"{other}\"\nallow = [\"pods\"]"),
        ] {
            assert!(!parse(&after).unwrap().keeps("heater", &before), "{after}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_without_the_key() {
        for (text, place, words) in [
            ("heater = 1", "nodes.toml:1: ", "write a section"),
            (
                "\n[heater]\nallow = []",
                "nodes.toml:2: heater: ",
                "has no key",
            ),
            (
                "[heater]\nkey = \"KEY\"",
                "nodes.toml:1: heater: ",
                "allow is missing",
            ),
            (
                "[heater]\nkey = \"abc\"\nallow = []",
                "nodes.toml:2: heater: ",
                "64 hexadecimal",
            ),
            (
                "[heater]\nkey = \"KEY0\"\nallow = []",
                "nodes.toml:2: heater: ",
                "64 hexadecimal",
            ),
            (
                "[heater]\nkey = \"KEY\"\nallow = \"pods\"",
                "nodes.toml:3: heater: ",
                "is a list",
            ),
            (
                "[heater]\nkey = \"KEY\"\nallow = [\"Pods!\"]",
                "nodes.toml:3: heater: ",
                "Pods!",
            ),
            (
                "[heater]\nkey = \"KEY\"\nalow = []",
                "nodes.toml:3: heater: ",
                "no such field",
            ),
            (
                "[heater]\nkey = \"KEY\"\nkey = \"KEY\"",
                "nodes.toml:3: ",
                "duplicate",
            ),
            ("[heater\n", "nodes.toml:1: ", ""),
        ] {
            let error = parse(text).unwrap_err();
            assert!(
                error.starts_with(place) && error.contains(words),
                "{text:?}: {error}"
            );
            assert!(!error.contains("0102"), "{error}");
        }
    }
}
