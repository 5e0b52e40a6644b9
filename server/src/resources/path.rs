//! What the path of a request is about.
//!
//! A path is decoded once, cut at its slashes, and becomes a [`Route`]: a resource with everything that names an
//! object in it, a discovery document, or something else. What cannot be a path of ours is a [`PathError`] that
//! says how to refuse it. The verb is not decided here: it depends on the method and the query too.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Catalog, Resource, Subresource};

/// What a path is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// `/api`: the versions of the core group.
    CoreVersions,
    /// `/apis`: all groups but the core.
    Groups,
    /// `/apis/G`: one group.
    Group(String),
    /// `/api/v1`, `/apis/G/V`: the resources of one version of a group.
    GroupVersion {
        /// Empty for the core group.
        group: String,
        /// One of the group's.
        version: String,
    },
    /// Objects.
    Resource(Target),
    /// Nothing of the API: health, metrics, version and so on.
    NonResource,
}

/// Which objects of a resource a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The resource.
    pub resource: Arc<Resource>,
    /// The namespace, for objects that have one. None for all of them.
    pub namespace: Option<String>,
    /// The object; none for a collection.
    pub name: Option<String>,
    /// What is asked of the object besides itself.
    pub subresource: Option<Subresource>,
    /// The path begins with the old `watch/`: it watches, whatever the query says.
    pub watch_path: bool,
}

/// Why a path is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathError {
    /// No such resource in a group that the program brings: 404 with a Status.
    UnknownResource,
    /// Nothing is here: 404 as plain text.
    NotFound,
    /// A `%` without two hexadecimal digits, or bytes that are no UTF-8: 400 as plain text.
    Malformed,
    /// A name that no object can have: 400 with a Status, whose message this displays.
    InvalidName {
        /// What the name was to be.
        parameter: Parameter,
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// A part of a path that names something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// An object.
    Name,
    /// A namespace.
    Namespace,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownResource => {
                f.write_str("the server could not find the requested resource")
            }
            Self::NotFound => f.write_str("404 page not found"),
            Self::Malformed => f.write_str("400 Bad Request"),
            Self::InvalidName {
                parameter,
                name,
                why,
            } => {
                write!(f, "{parameter:?} parameter invalid: {name:?}: {why}")
            }
        }
    }
}

impl std::error::Error for PathError {}

impl Route {
    /// Reads the path of a request as it came, escapes and all, without the query.
    pub fn parse(path: &str, catalog: &Catalog) -> Result<Self, PathError> {
        let path = decode(path)?;
        let path = path.strip_prefix('/').ok_or(PathError::NotFound)?;
        let path = path.strip_suffix('/').unwrap_or(path);
        let segments: Vec<&str> = path.split('/').take(MAX_SEGMENTS + 1).collect();
        if segments.len() > MAX_SEGMENTS {
            return Err(PathError::NotFound);
        }
        match segments.as_slice() {
            ["api"] => Ok(Self::CoreVersions),
            ["apis"] => Ok(Self::Groups),
            ["apis", group] if catalog.group(group).is_some() && !group.is_empty() => {
                Ok(Self::Group((*group).into()))
            }
            ["api", version, rest @ ..] => Self::in_group("", version, rest, catalog),
            // The core group has no name, so nothing else may be reached by leaving one out.
            ["apis", "", ..] | ["apis", _] => Err(PathError::NotFound),
            ["apis", group, version, rest @ ..] => Self::in_group(group, version, rest, catalog),
            _ => Ok(Self::NonResource),
        }
    }

    fn in_group(
        group: &str,
        version: &str,
        rest: &[&str],
        catalog: &Catalog,
    ) -> Result<Self, PathError> {
        let known = catalog.group(group).ok_or(PathError::NotFound)?;
        let unknown = if known.is_builtin() {
            PathError::UnknownResource
        } else {
            PathError::NotFound
        };
        if catalog.group_version(group, version).is_none() {
            return Err(unknown);
        }
        let (watch_path, rest) = match rest {
            [] => {
                return Ok(Self::GroupVersion {
                    group: group.into(),
                    version: version.into(),
                });
            }
            ["watch", rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let find = |plural: &str| catalog.find(group, version, plural).ok_or(unknown.clone());
        let places = Places::parse(rest, group.is_empty()).ok_or(unknown.clone())?;
        let resource = find(places.plural)?;
        let fits = match (resource.is_namespaced(), places.namespace) {
            (true, None) => places.name.is_none(),
            (true, Some(_)) | (false, None) => true,
            (false, Some(_)) => false,
        };
        let unknown = if resource.is_custom() {
            PathError::NotFound
        } else {
            unknown
        };
        if !fits {
            return Err(unknown);
        }
        let subresource = match places.subresource {
            None => None,
            Some(_) if watch_path => return Err(unknown),
            Some(name) => Some(resource.subresource(name).cloned().ok_or(unknown)?),
        };
        Ok(Self::Resource(Target {
            resource: Arc::clone(resource),
            namespace: checked(Parameter::Namespace, places.namespace)?,
            name: checked(Parameter::Name, places.name)?,
            subresource,
            watch_path,
        }))
    }
}

/// The name of the definition whose kind a path would be about if there were one: `devices.example.com`.
pub fn definition_of(path: &str) -> Option<String> {
    let path = decode(path).ok()?;
    let path = path.strip_prefix("/apis/")?.trim_end_matches('/');
    let mut segments = path.split('/').take(MAX_SEGMENTS);
    let group = segments.next().filter(|group| group.contains('.'))?;
    let (_version, rest): (_, Vec<&str>) = (segments.next()?, segments.collect());
    let rest = rest.strip_prefix(&["watch"]).unwrap_or(&rest);
    let plural = Places::parse(rest, false)?.plural;
    let sound = [group, plural]
        .iter()
        .all(|part| segment_fault(part).is_none());
    sound.then(|| format!("{plural}.{group}"))
}

/// The longest path we serve has eight segments: `apis/G/V/namespaces/N/PLURAL/NAME/SUB`; with `watch` nine.
const MAX_SEGMENTS: usize = 9;

/// The parts of a path behind group and version.
struct Places<'a> {
    namespace: Option<&'a str>,
    plural: &'a str,
    name: Option<&'a str>,
    subresource: Option<&'a str>,
}

impl<'a> Places<'a> {
    fn parse(rest: &[&'a str], core: bool) -> Option<Self> {
        if rest.iter().any(|segment| segment.is_empty()) {
            return None;
        }
        // Namespaces are resources themselves, and what is below one is in it, but for its own subresources.
        let (namespace, rest) = match rest {
            ["namespaces", _, "status" | "finalize"] if core => (None, rest),
            ["namespaces", namespace, inside @ ..] if !(core && inside.is_empty()) => {
                (Some(*namespace), inside)
            }
            _ => (None, rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (plural, None, None),
            [plural, name] => (plural, Some(*name), None),
            [plural, name, subresource] => (plural, Some(*name), Some(*subresource)),
            _ => return None,
        };
        Some(Self {
            namespace,
            plural,
            name,
            subresource,
        })
    }
}

/// Refuses names that would mean something else in a key.
fn checked(parameter: Parameter, name: Option<&str>) -> Result<Option<String>, PathError> {
    let Some(name) = name else { return Ok(None) };
    match segment_fault(name) {
        None => Ok(Some(name.into())),
        Some(why) => Err(PathError::InvalidName {
            parameter,
            name: name.into(),
            why,
        }),
    }
}

/// Why a text cannot be one segment of a key or a path.
pub fn segment_fault(name: &str) -> Option<&'static str> {
    match name {
        "." => Some("may not be '.'"),
        ".." => Some("may not be '..'"),
        _ if name.contains('/') => Some("may not contain '/'"),
        _ if name.contains('%') => Some("may not contain '%'"),
        _ => None,
    }
}

fn decode(path: &str) -> Result<Cow<'_, str>, PathError> {
    if !path.contains('%') {
        return Ok(path.into());
    }
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (high, low) = digit().zip(digit()).ok_or(PathError::Malformed)?;
                (high << 4 | low) as u8
            }
            byte => byte,
        });
    }
    let text = String::from_utf8(decoded).map_err(|_| PathError::Malformed)?;
    Ok(text.into())
}
