//! What a small relay keeps of each object: some fields, as JSON.
//!
//! A Kubernetes object is a kilobyte, of which devices want thirty bytes. A relay on a microcontroller asks its upstream for a list of fields and puts
//! the object together again from those alone:
//!
//! ```text
//!   spec.mode:json(16),spec.setpoint:json(16)  ──►  "auto", 21.5  ──►  {"spec":{"mode":"auto","setpoint":21.5}}
//! ```
//!
//! From there on it is an object like any other: selectors look into it, and nodes get whatever projection of those fields they ask for, of any type. What
//! asks for a field that is not kept is refused, since its absence here would say nothing.

use core::error::Error;
use core::fmt;

use ringwatch_core::link::serve::{MAX_FIELDS, Request};
use ringwatch_core::projection::{Field, FieldType, Issues, Projection};

/// The longest object that is put together.
pub(super) const LONGEST: usize = 512;
/// What a selector finds in the key.
const OF_THE_KEY: [&str; 2] = ["metadata.name", "metadata.namespace"];
const LABELS: &str = "metadata.labels";

/// A list of fields, each as JSON, in the order of their paths.
#[derive(Debug, Clone)]
pub struct Kept(Projection<&'static str, heapless::Vec<Field, MAX_FIELDS>>);

/// Why a list of fields is none to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptError {
    /// It is no list of fields.
    Malformed,
    /// A field is not of the type `json`, so that not every value could be had.
    NotJson,
    /// A path has more than plain keys in it.
    NotPlain,
    /// The paths are not in order, or one is part of another.
    NotInOrder,
}

impl fmt::Display for KeptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a list of fields",
            Self::NotJson => "a relay keeps fields of the type json(N)",
            Self::NotPlain => "a relay keeps fields whose paths are plain keys",
            Self::NotInOrder => "the paths are not in order, or one is part of another",
        })
    }
}

impl Error for KeptError {}

impl Kept {
    /// Reads a list of fields.
    pub fn parse(list: &'static str) -> Result<Self, KeptError> {
        let kept = Self(Projection::parse(list).map_err(|_| KeptError::Malformed)?);
        let mut last: Option<&str> = None;
        for (path, kind) in kept.0.fields() {
            if !matches!(kind, FieldType::Json { .. }) {
                return Err(KeptError::NotJson);
            }
            if path.contains(['[', ']', '\\', '"']) || path.contains(char::is_control) {
                return Err(KeptError::NotPlain);
            }
            if last
                .is_some_and(|last| is_within(path, last) || !path.split('.').gt(last.split('.')))
            {
                return Err(KeptError::NotInOrder);
            }
            last = Some(path);
        }
        Ok(kept)
    }

    /// Whether everything that is asked for can be told from these fields.
    pub(super) fn can_answer(&self, request: &Request<'_>) -> bool {
        let Some(projection) = &request.projection else {
            return false;
        };
        projection.fields().all(|(path, _)| self.has(path))
            && request
                .fields
                .requirements()
                .all(|it| self.has(it.key()) || OF_THE_KEY.contains(&it.key()))
            && (request.labels.is_empty() || self.has(LABELS))
    }

    fn has(&self, path: &str) -> bool {
        self.0.fields().any(|(kept, _)| is_within(path, kept))
    }

    /// The object of some packed fields. `None` if they are not those of the list, if one was too long to be had, or if there is no room.
    pub(super) fn object<'o>(&self, packed: &[u8], out: &'o mut [u8]) -> Option<&'o [u8]> {
        let mut out = Writer { out, len: 0 };
        let mut rest = packed;
        let mut last: Option<&str> = None;
        out.push("{")?;
        for (path, _) in self.0.fields() {
            let value: Option<&str>;
            (value, rest) = postcard::take_from_bytes(rest).ok()?;
            if let Some(value) = value {
                out.member(last, path, value)?;
                last = Some(path);
            }
        }
        let (issues, rest): (Issues, _) = postcard::take_from_bytes(rest).ok()?;
        if !issues.is_empty() || !rest.is_empty() {
            return None;
        }
        let depth = last.map_or(1, |last| last.split('.').count());
        (0..depth).try_for_each(|_| out.push("}"))?;
        let Writer { out, len } = out;
        out.get(..len)
    }
}

/// Whether a path is another one, or leads further in.
fn is_within(path: &str, outer: &str) -> bool {
    let rest = path.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

struct Writer<'o> {
    out: &'o mut [u8],
    len: usize,
}

impl Writer<'_> {
    fn push(&mut self, text: &str) -> Option<()> {
        let end = self.len + text.len();
        let place = self.out.get_mut(self.len..end)?;
        place.copy_from_slice(text.as_bytes());
        self.len = end;
        Some(())
    }

    /// The next member, inside of the objects that its path names; those of the last one stay open as far as they are the same.
    fn member(&mut self, last: Option<&str>, path: &str, value: &str) -> Option<()> {
        let same = last.map_or(0, |last| {
            let both = last.split('.').zip(path.split('.'));
            both.take_while(|(one, other)| one == other).count()
        });
        if let Some(last) = last {
            (same + 1..last.split('.').count()).try_for_each(|_| self.push("}"))?;
            self.push(",")?;
        }
        for (number, key) in path.split('.').enumerate().skip(same) {
            if number > same {
                self.push("{")?;
            }
            self.push("\"")?;
            self.push(key)?;
            self.push("\":")?;
        }
        self.push(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringwatch_core::json::Limits;
    use ringwatch_core::predicate::Scope;
    use ringwatch_core::selector::{FieldSelector, LabelSelector};

    const LIST: &str = "metadata.labels:json(40),spec.a.b:json(9),spec.a.c:json(9),spec.d:json(9)";

    /// What is kept of an object, by way of the link.
    fn kept(object: &str) -> Option<String> {
        let kept = Kept::parse(LIST).unwrap();
        let mut packed = [0; 200];
        let limits = Limits::default();
        let packed = kept.0.project(object.as_bytes(), &limits, &mut packed);
        let mut out = [0; 200];
        let json = kept.object(packed.unwrap().bytes, &mut out)?;
        Some(std::str::from_utf8(json).unwrap().to_owned())
    }

    #[test]
    fn what_is_kept_is_an_object_again() {
        for (object, expected) in [
            (
                r#"{"metadata":{"name":"x","labels":{"k":"v"}},"spec":{"a":{"b":1,"c":[2]},"d":"e"}}"#,
                r#"{"metadata":{"labels":{"k":"v"}},"spec":{"a":{"b":1,"c":[2]},"d":"e"}}"#,
            ),
            (
                r#"{"spec":{"a":{"c":true}}}"#,
                r#"{"spec":{"a":{"c":true}}}"#,
            ),
            (
                r#"{"metadata":{"labels":{}},"spec":{"d":0}}"#,
                r#"{"metadata":{"labels":{}},"spec":{"d":0}}"#,
            ),
            (
                r#"{"spec":{"a":{"b":1},"d":2}}"#,
                r#"{"spec":{"a":{"b":1},"d":2}}"#,
            ),
            (r#"{"status":1}"#, "{}"),
        ] {
            assert_eq!(kept(object).as_deref(), Some(expected), "{object}");
        }
        // Too long: better not here than without it.
        assert_eq!(kept(r#"{"spec":{"d":"0123456789"}}"#), None);
    }

    #[test]
    fn bytes_that_are_not_of_the_list_are_refused() {
        let kept = Kept::parse("a:json(9)").unwrap();
        let mut out = [0; 16];
        assert_eq!(
            kept.object(&[1, 1, b'7', 0, 0], &mut out),
            Some(&b"{\"a\":7}"[..])
        );
        for wrong in [
            &[][..],
            &[1, 9, b'7'],
            &[1, 1, b'7', 0],
            &[1, 1, b'7', 0, 0, 0],
        ] {
            assert_eq!(kept.object(wrong, &mut out), None, "{wrong:?}");
        }
        assert_eq!(kept.object(&[1, 1, b'7', 0, 0], &mut [0; 6]), None);
    }

    #[test]
    fn a_list_is_refused_with_the_reason() {
        for (list, why) in [
            ("a", KeptError::Malformed),
            ("a:f32", KeptError::NotJson),
            ("a[0]:json(9)", KeptError::NotPlain),
            ("b:json(9),a:json(9)", KeptError::NotInOrder),
            ("a:json(9),a:json(9)", KeptError::NotInOrder),
            ("a:json(9),a.b:json(9)", KeptError::NotInOrder),
        ] {
            assert_eq!(Kept::parse(list).err(), Some(why), "{list}");
        }
    }

    #[test]
    fn only_what_is_kept_can_be_asked_for() {
        let kept = Kept::parse(LIST).unwrap();
        let can = |projection: &str, labels, fields| {
            let list = Projection::<_>::parse(projection).ok();
            let request = Request {
                resource: "devices",
                scope: Scope::Resource,
                labels: LabelSelector::parse(labels).unwrap(),
                fields: FieldSelector::parse(fields).unwrap(),
                projection: list.as_ref().map(Projection::view),
            };
            kept.can_answer(&request)
        };
        assert!(can(
            "spec.d:f32,spec.a.b[0].x:bool",
            "k=v",
            "spec.d=1,metadata.name=x"
        ));
        assert!(!can("", "", ""), "whole objects");
        assert!(!can("spec.a:json(9)", "", ""), "more than is kept");
        assert!(!can("spec.dd:f32", "", ""));
        assert!(!can("spec.d:f32", "", "spec.e=1"));
        let unlabelled = Kept::parse("spec.d:json(9)").unwrap();
        assert!(!unlabelled.has(LABELS));
    }
}
