//! How lists look, and objects in them.
//!
//! Lists of built-in kinds say what they are first, and their items do not say it again. Custom kinds are shown as Go shows
//! maps: fields in the order of their names, the items with everything they have. Their objects are stored in one version and
//! shown in any, which is but another `apiVersion` at their beginning.

use std::borrow::Cow;

use serde_json::Value;

use crate::resources::Resource;
use crate::table::Page;

/// How a resource's JSON lists look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    kind: String,
    list_kind: String,
    api_version: String,
    custom: bool,
    /// What the bytes of an object begin with: `{"kind":"Pod","apiVersion":"v1",`, `{"apiVersion":"example.com/v1",`.
    head: String,
}

impl Shape {
    /// How lists of a resource look.
    pub fn new(resource: &Resource) -> Self {
        let api_version = resource.api_version().into_owned();
        let (kind, custom) = (resource.kind.clone().into_owned(), resource.is_custom());
        let head = if custom {
            format!(r#"{HEAD}{api_version}","#)
        } else {
            format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","#)
        };
        Self {
            kind,
            list_kind: resource.list_kind.clone().into_owned(),
            api_version,
            custom,
            head,
        }
    }

    /// The kind of an object.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The kind of a list.
    pub fn list_kind(&self) -> &str {
        &self.list_kind
    }

    /// What objects and lists have in `apiVersion`.
    pub fn api_version(&self) -> &str {
        &self.api_version
    }

    /// What objects of a built-in kind begin with.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// What a list begins and ends with.
    pub fn ends(&self, page: &Page<'_>) -> (Vec<u8>, Vec<u8>) {
        let (kind, api_version) = (&self.list_kind, &self.api_version);
        if self.custom {
            let head = format!(r#"{{"apiVersion":"{api_version}","items":["#);
            let mut tail = format!(r#"],"kind":"{kind}","metadata":"#).into_bytes();
            page.write_sorted(&mut tail);
            tail.extend_from_slice(b"}\n");
            return (head.into_bytes(), tail);
        }
        let mut head =
            format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":"#).into_bytes();
        page.write_to(&mut head);
        head.extend_from_slice(br#","items":["#);
        (head, b"]}\n".to_vec())
    }

    /// Whether an object is shown as it is stored.
    pub fn is(&self, json: &[u8]) -> bool {
        !self.custom || json.starts_with(self.head.as_bytes())
    }

    /// An object of a custom kind in the version that is asked for. Others are what they are.
    pub fn object<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        if self.is(json) {
            return json.into();
        }
        Cow::Owned(match self.rest(json) {
            Some(rest) => [self.head.as_bytes(), rest].concat(),
            // Stored by somebody who writes fields in another order.
            None => match serde_json::from_slice(json) {
                Ok(Value::Object(mut object)) => {
                    object.insert("apiVersion".into(), self.api_version.as_str().into());
                    Value::Object(object).to_string().into_bytes()
                }
                _ => json.to_vec(),
            },
        })
    }

    /// What comes behind the `apiVersion` at the beginning.
    fn rest<'a>(&self, json: &'a [u8]) -> Option<&'a [u8]> {
        let rest = json.strip_prefix(HEAD.as_bytes())?;
        let end = rest.iter().position(|byte| *byte == b'"')?;
        rest.get(end..)?.strip_prefix(b"\",")
    }

    /// How long an object is as an item.
    pub fn len_of(&self, json: &[u8]) -> usize {
        if self.custom {
            return match self.rest(json) {
                Some(rest) => self.head.len() + rest.len(),
                None => self.object(json).len(),
            };
        }
        let rest = json.strip_prefix(self.head.as_bytes());
        rest.map_or(json.len(), |rest| rest.len() + 1)
    }

    /// Writes an item.
    pub fn push(&self, first: bool, json: &[u8], out: &mut Vec<u8>) {
        if !first {
            out.push(b',');
        }
        if self.custom {
            match self.rest(json) {
                Some(rest) => {
                    out.extend_from_slice(self.head.as_bytes());
                    out.extend_from_slice(rest);
                }
                None => out.extend_from_slice(&self.object(json)),
            }
            return;
        }
        match json.strip_prefix(self.head.as_bytes()) {
            Some(rest) => {
                out.push(b'{');
                out.extend_from_slice(rest);
            }
            None => out.extend_from_slice(json),
        }
    }
}

/// What every object of a custom kind begins with.
const HEAD: &str = r#"{"apiVersion":""#;
