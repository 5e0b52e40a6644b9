//! What a node asks for, as a source keeps it beside the place that the node has come to.
//!
//! | kept as | costs |
//! |---|---|
//! | [`Parsed`] | some 600 bytes; nothing is read twice |
//! | [`Texts`] | its texts; they are read again for each object, which on a Cortex-M is less than sealing it |

use crate::json::Limits;
use crate::object::Object;
use crate::predicate::{Matches, Predicate, Scope};
use crate::projection::{Field, ProjectError, Projection};
use crate::selector::{FieldSelector, LabelSelector};

use super::source::Request;

/// The longest field list, in bytes.
pub const MAX_PROJECTION: usize = 160;
/// The most fields in one.
pub const MAX_FIELDS: usize = 16;

/// A field list that is kept.
pub(super) type Fields =
    Projection<heapless::String<MAX_PROJECTION>, heapless::Vec<Field, MAX_FIELDS>>;

/// A selection, and which fields are wanted of each object.
pub trait Asked: Sized {
    /// Keeps what is asked for; `None` if it is too long.
    fn new(request: &Request<'_>) -> Option<Self>;

    /// Whether an object is asked for.
    fn selects<O: Object>(&self, object: &O) -> bool;

    /// Packs the fields that are wanted of an object into the front of `out`; how many bytes. `None` if whole objects are.
    fn project(&self, json: &[u8], out: &mut [u8]) -> Option<Result<usize, ProjectError>>;
}

/// Parsed once.
#[derive(Debug, Clone)]
pub struct Parsed<T> {
    predicate: Predicate<T>,
    fields: Option<Fields>,
}

impl<T> Asked for Parsed<T>
where
    T: AsRef<str> + for<'t> TryFrom<&'t str>,
{
    fn new(request: &Request<'_>) -> Option<Self> {
        let text = |text: &str| T::try_from(text).ok();
        let predicate = Predicate {
            scope: match request.scope {
                Scope::Resource => Scope::Resource,
                Scope::Namespace(namespace) => Scope::Namespace(text(namespace)?),
                Scope::Object(key) => Scope::Object(text(key)?),
            },
            labels: LabelSelector::parse(text(request.labels.text())?).ok()?,
            fields: FieldSelector::parse(text(request.fields.text())?).ok()?,
        };
        let fields = match &request.projection {
            Some(projection) => Some(Fields::parse(projection.text().try_into().ok()?).ok()?),
            None => None,
        };
        Some(Self { predicate, fields })
    }

    fn selects<O: Object>(&self, object: &O) -> bool {
        self.predicate.matches(object)
    }

    fn project(&self, json: &[u8], out: &mut [u8]) -> Option<Result<usize, ProjectError>> {
        let fields = self.fields.as_ref()?;
        let projected = fields.project(json, &Limits::default(), out);
        Some(projected.map(|projected| projected.bytes.len()))
    }
}

impl<O: Object, T> Matches<O> for Parsed<T>
where
    Self: Asked,
{
    fn matches(&self, object: &O) -> bool {
        self.selects(object)
    }
}

/// Texts of `N` bytes together, at most 255.
#[derive(Debug, Clone)]
pub struct Texts<const N: usize> {
    bytes: [u8; N],
    scope: Scope<()>,
    /// Where the name of the scope, the labels, the fields and the list of fields end.
    ends: [u8; 4],
}

impl<const N: usize> Texts<N> {
    /// One of the four.
    fn text(&self, index: usize) -> &str {
        let start = index
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let start = start.copied().unwrap_or(0).into();
        let end = self.ends.get(index).copied().unwrap_or(0).into();
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        // They were texts when they came.
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    fn predicate(&self) -> Option<Predicate<&str>> {
        Some(Predicate {
            scope: match self.scope {
                Scope::Resource => Scope::Resource,
                Scope::Namespace(()) => Scope::Namespace(self.text(0)),
                Scope::Object(()) => Scope::Object(self.text(0)),
            },
            labels: LabelSelector::parse(self.text(1)).ok()?,
            fields: FieldSelector::parse(self.text(2)).ok()?,
        })
    }
}

impl<const N: usize> Asked for Texts<N> {
    fn new(request: &Request<'_>) -> Option<Self> {
        let (scope, name) = match request.scope {
            Scope::Resource => (Scope::Resource, ""),
            Scope::Namespace(namespace) => (Scope::Namespace(()), namespace),
            Scope::Object(key) => (Scope::Object(()), key),
        };
        let projection = request.projection.as_ref();
        let texts = [
            name,
            request.labels.text(),
            request.fields.text(),
            projection.map_or("", Projection::text),
        ];
        let mut kept = Self {
            bytes: [0; N],
            scope,
            ends: [0; 4],
        };
        let mut len = 0;
        for (text, end) in texts.iter().zip(&mut kept.ends) {
            let place = kept.bytes.get_mut(len..len + text.len())?;
            place.copy_from_slice(text.as_bytes());
            len += text.len();
            *end = u8::try_from(len).ok()?;
        }
        Some(kept)
    }

    fn selects<O: Object>(&self, object: &O) -> bool {
        // They were good when they came.
        let predicate = self.predicate();
        predicate.is_some_and(|predicate| predicate.matches(object))
    }

    fn project(&self, json: &[u8], out: &mut [u8]) -> Option<Result<usize, ProjectError>> {
        let list = self.text(3);
        if list.is_empty() {
            return None;
        }
        let fields = Projection::<&str, heapless::Vec<Field, MAX_FIELDS>>::parse(list).ok()?;
        let projected = fields.project(json, &Limits::default(), out);
        Some(projected.map(|projected| projected.bytes.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::revision::Revision;

    struct Lamp(&'static str);

    impl Object for Lamp {
        fn key(&self) -> Key<'_> {
            Key::parse(self.0).unwrap()
        }
        fn revision(&self) -> Revision {
            Revision::new(1)
        }
        fn label(&self, key: &str) -> Option<&str> {
            (key == "kind").then_some("light")
        }
        fn field(&self, path: &str) -> Option<&str> {
            (path == "spec.on").then_some("true")
        }
    }

    fn request<'a>(
        scope: Scope<&'a str>,
        labels: &'a str,
        fields: &'a str,
        projection: Option<Projection<&'a str, &'a [Field]>>,
    ) -> Request<'a> {
        Request {
            resource: "lamps",
            scope,
            labels: LabelSelector::parse(labels).unwrap(),
            fields: FieldSelector::parse(fields).unwrap(),
            projection,
        }
    }

    /// What each of the two makes of a request for three lamps.
    fn both(request: &Request<'_>) -> [[bool; 3]; 2] {
        let lamps = ["hall/a", "hall/b", "attic/a"].map(Lamp);
        let parsed = Parsed::<heapless::String<32>>::new(request).unwrap();
        let texts = Texts::<64>::new(request).unwrap();
        [
            lamps.each_ref().map(|lamp| parsed.selects(lamp)),
            lamps.each_ref().map(|lamp| texts.selects(lamp)),
        ]
    }

    #[test]
    fn both_select_the_same() {
        for (scope, labels, fields, expected) in [
            (Scope::Resource, "", "", [true, true, true]),
            (Scope::Namespace("hall"), "", "", [true, true, false]),
            (Scope::Object("hall/b"), "", "", [false, true, false]),
            (Scope::Resource, "kind=light", "spec.on=true", [true; 3]),
            (Scope::Resource, "kind!=light", "", [false; 3]),
            (Scope::Resource, "", "metadata.name=a", [true, false, true]),
            (
                Scope::Namespace("hall"),
                "kind",
                "metadata.name=a",
                [true, false, false],
            ),
        ] {
            let request = request(scope, labels, fields, None);
            assert_eq!(both(&request), [expected; 2], "{request:?}");
        }
    }

    #[test]
    fn both_project_the_same() {
        let list = Projection::<_>::parse("spec.on:bool,spec.level:u32").unwrap();
        let wanted = request(Scope::Namespace("hall"), "kind", "", Some(list.view()));
        let json = br#"{"spec":{"on":true,"level":7}}"#;
        let mut out = [[0; 16]; 2];
        let [one, other] = &mut out;
        let parsed = Parsed::<heapless::String<32>>::new(&wanted).unwrap();
        let texts = Texts::<64>::new(&wanted).unwrap();
        assert_eq!(parsed.project(json, one), Some(Ok(6)));
        assert_eq!(texts.project(json, other), Some(Ok(6)));
        assert_eq!(one, other);
        let too_small = texts.project(json, &mut [0; 3]);
        assert_eq!(
            too_small,
            Some(Err(ProjectError::BufferTooSmall { needed: 6 }))
        );
        let whole = request(Scope::Resource, "", "", None);
        let texts = Texts::<64>::new(&whole).unwrap();
        assert_eq!(texts.project(json, &mut [0; 16]), None);
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let list = Projection::<_>::parse("spec.on:bool").unwrap();
        let wanted = request(Scope::Object("hall/a"), "kind", "a=b", Some(list.view()));
        assert!(Texts::<25>::new(&wanted).is_some());
        assert!(Texts::<24>::new(&wanted).is_none());
        assert!(Parsed::<heapless::String<6>>::new(&wanted).is_some());
        assert!(Parsed::<heapless::String<5>>::new(&wanted).is_none());
    }
}
