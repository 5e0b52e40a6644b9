//! Who may come in, and what each may have: the file of nodes.
//!
//! ```toml
//! [heater-1]
//! key = "8f0c…"                                    # 32 bytes as 64 hexadecimal digits
//! allow = ["devices.example.com/hall"]             # resources, each with or without a namespace; "*" for all
//!
//! [meter-7]
//! key = "03be…"
//! [[meter-7.allow]]
//! resource = "devices.example.com"
//! namespace = "yard"                               # each of these may be left out
//! labels = "kind=meter"
//! fields = "spec.on=true"
//! show = ["spec.interval", "metadata.name"]        # what a node may ask for of an object; all of it if there is no such line
//! ```
//!
//! A node gets an object if one line permits it that also permits every field that the node asks for.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, fs};

use ringwatch_core::link::serve::{Access, Admission, Name, Request};
use ringwatch_core::link::{MAX_NAME, PresharedKey};
use ringwatch_core::object::Object;
use ringwatch_core::predicate::{Matches, Scope};
use ringwatch_core::selector::{FieldSelector, LabelSelector};
use serde::Deserialize;
use toml::Spanned;

use crate::engine::{Policy, Refusal};

/// The largest file that is read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// The nodes that may come in.
#[derive(Debug, Default)]
pub struct Rules {
    nodes: BTreeMap<String, Arc<Node>>,
}

/// One node: its key and what it may have.
#[derive(Debug)]
struct Node {
    key: [u8; 32],
    text: Vec<AllowText>,
    allowed: Vec<Allowed>,
    /// Set when it is no longer so.
    stale: AtomicBool,
}

/// Something that a node may read.
#[derive(Debug)]
struct Allowed {
    resource: Option<String>,
    namespace: Option<String>,
    labels: LabelSelector<Box<str>>,
    fields: FieldSelector<Box<str>>,
    show: Option<Vec<String>>,
}

/// A line of `allow`, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum AllowText {
    Short(String),
    Long(AllowTable),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowTable {
    resource: String,
    namespace: Option<String>,
    labels: Option<String>,
    fields: Option<String>,
    show: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeText {
    key: Spanned<String>,
    allow: Spanned<Vec<AllowText>>,
}

/// What is wrong with the file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesError {
    file: PathBuf,
    line: usize,
    why: String,
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.why)
    }
}

impl Error for RulesError {}

/// The line of a place in a text, counted from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

impl Rules {
    /// Reads a file.
    pub fn load(file: &Path) -> Result<Self, RulesError> {
        let unreadable = |why: String| RulesError {
            file: file.to_owned(),
            line: 0,
            why,
        };
        let len = fs::metadata(file)
            .map_err(|error| unreadable(error.to_string()))?
            .len();
        if len > MAX_BYTES {
            return Err(unreadable(format!("is larger than {MAX_BYTES} bytes")));
        }
        let text = fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
        Self::parse(file, &text)
    }

    /// Reads a file's text. The path is for the words of an error.
    pub fn parse(file: &Path, text: &str) -> Result<Self, RulesError> {
        let failed = |at: usize, why: String| RulesError {
            file: file.to_owned(),
            line: line_of(text, at),
            why,
        };
        let table: BTreeMap<String, Spanned<NodeText>> = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            failed(at, error.message().to_owned())
        })?;
        let mut nodes = BTreeMap::new();
        for (name, node) in table {
            let at = node.span().start;
            if name.is_empty() || name.len() > MAX_NAME {
                return Err(failed(
                    at,
                    format!("a node's name has 1 to {MAX_NAME} bytes"),
                ));
            }
            let NodeText { key, allow } = node.into_inner();
            let key_at = key.span().start;
            let key = parse_key(key.get_ref()).ok_or_else(|| {
                failed(key_at, format!("{name}: key: write 64 hexadecimal digits"))
            })?;
            let allow_at = allow.span().start;
            let text = allow.into_inner();
            let allowed = text.iter().map(Allowed::parse).collect::<Result<_, _>>();
            let allowed =
                allowed.map_err(|why| failed(allow_at, format!("{name}: allow: {why}")))?;
            let node = Node {
                key,
                text,
                allowed,
                stale: AtomicBool::new(false),
            };
            nodes.insert(name, Arc::new(node));
        }
        Ok(Self { nodes })
    }

    /// Takes over what has not changed from the rules before, and marks the rest of those as past.
    pub fn replace(&mut self, mut new: Self) {
        for (name, old) in &self.nodes {
            match new.nodes.get_mut(name) {
                Some(node) if node.key == old.key && node.text == old.text => *node = old.clone(),
                _ => old.stale.store(true, Ordering::Relaxed),
            }
        }
        *self = new;
    }

    /// The nodes by name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.keys().map(String::as_str)
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nobody may come in.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A mark of a node's key, by which a change of it can be told; `None` for a stranger.
    pub fn key(&self, node: &str) -> Option<[u8; 32]> {
        self.nodes.get(node).map(|node| node.key)
    }
}

/// 32 bytes in hexadecimal digits.
pub fn parse_key(text: &str) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    let digits = text.trim().as_bytes();
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16)
            .ok()
            .filter(|_| !pair.starts_with('+'))?;
    }
    Some(key)
}

impl Allowed {
    fn parse(text: &AllowText) -> Result<Self, String> {
        let table = match text {
            AllowText::Short(text) => {
                let (resource, namespace) = match text.split_once('/') {
                    Some((resource, namespace)) => (resource, Some(namespace.to_owned())),
                    None => (text.as_str(), None),
                };
                AllowTable {
                    resource: resource.to_owned(),
                    namespace,
                    labels: None,
                    fields: None,
                    show: None,
                }
            }
            AllowText::Long(table) => table.clone(),
        };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        let names = |text: &str| !text.is_empty() && text.chars().all(plain);
        let resource = &table.resource;
        if resource != "*" && !names(resource)
            || table.namespace.as_deref().is_some_and(|name| !names(name))
        {
            return Err(format!(
                "`{resource}` is not a resource; write for example pods, devices.example.com/hall or *"
            ));
        }
        let selector = |text: &Option<String>| text.clone().unwrap_or_default().into_boxed_str();
        Ok(Self {
            resource: Some(table.resource).filter(|resource| resource != "*"),
            namespace: table.namespace,
            labels: LabelSelector::parse(selector(&table.labels))
                .map_err(|error| format!("labels: {error}"))?,
            fields: FieldSelector::parse(selector(&table.fields))
                .map_err(|error| format!("fields: {error}"))?,
            show: table.show,
        })
    }

    fn concerns(&self, resource: &str) -> bool {
        self.resource.as_deref().is_none_or(|own| own == resource)
    }

    /// Whether something of what is asked for may be in it, and all of what is asked for of an object.
    fn permits_request(&self, request: &Request<'_>) -> bool {
        let inside = match (&self.namespace, &request.scope) {
            (None, _) | (Some(_), Scope::Resource) => true,
            (Some(own), Scope::Namespace(asked)) => own == asked,
            (Some(own), Scope::Object(key)) => {
                key.split_once('/').is_some_and(|(asked, _)| asked == own)
            }
        };
        let shown = match (&self.show, &request.projection) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(show), Some(projection)) => projection.fields().all(|(path, _)| {
                show.iter().any(|shown| {
                    let rest = path.strip_prefix(shown.as_str());
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                })
            }),
        };
        inside && shown && self.concerns(request.resource)
    }

    fn permits_object<O: Object>(&self, object: &O) -> bool {
        let namespace = self.namespace.as_deref();
        namespace.is_none_or(|namespace| object.key().namespace() == Some(namespace))
            && Matches::matches(&self.labels, object)
            && Matches::matches(&self.fields, object)
    }
}

/// What a node may have of a resource.
#[derive(Debug, Clone)]
pub struct Grant {
    node: Option<Arc<Node>>,
    /// Those lines that permit what was asked for.
    lines: u64,
}

impl Grant {
    /// Everything, for whoever needs no permission.
    pub const EVERYTHING: Self = Self {
        node: None,
        lines: 0,
    };
}

impl Access for Rules {
    type Name = Name;

    fn name(&self, node: &str) -> Option<Name> {
        node.try_into().ok()
    }

    fn admit(&self, node: &str, sealed: bool) -> Admission {
        match self.nodes.get(node) {
            Some(node) if sealed => Admission::Sealed(PresharedKey::new(node.key)),
            _ => Admission::Refused,
        }
    }
}

impl Policy for Rules {
    type Grant = Grant;

    fn grant(&self, node: &str, request: &Request<'_>) -> Result<Grant, Refusal> {
        let node = self.nodes.get(node).ok_or(Refusal::Forbidden)?;
        let lines = node.allowed.iter().take(64).enumerate();
        let lines = lines.filter(|(_, allowed)| allowed.permits_request(request));
        let lines = lines.fold(0, |lines, (index, _)| lines | 1 << index);
        match lines {
            0 => Err(Refusal::Forbidden),
            lines => Ok(Grant {
                node: Some(node.clone()),
                lines,
            }),
        }
    }

    fn concerns(&self, node: &str, resource: &str) -> bool {
        let node = self.nodes.get(node);
        node.is_some_and(|node| {
            node.allowed
                .iter()
                .any(|allowed| allowed.concerns(resource))
        })
    }

    fn is_current(&self, grant: &Grant) -> bool {
        let stale = grant.node.as_ref().map(|node| &node.stale);
        stale.is_none_or(|stale| !stale.load(Ordering::Relaxed))
    }

    fn permits<O: Object>(grant: &Grant, object: &O) -> bool {
        let Some(node) = &grant.node else { return true };
        let lines = node.allowed.iter().take(64).enumerate();
        lines
            .filter(|(index, _)| grant.lines >> index & 1 == 1)
            .any(|(_, allowed)| allowed.permits_object(object))
    }
}
