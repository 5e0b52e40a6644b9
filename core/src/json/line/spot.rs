//! Where in an object its resourceVersion stands, or has to go.

use core::error::Error;
use core::fmt;

use super::splice::Spliced;
use crate::json::{Kind, Limits, Path, ScanError, Value, scan};
use crate::revision::Revision;

/// The place of `metadata.resourceVersion` in one object, found once and kept beside it.
///
/// | object | place |
/// |---|---|
/// | has the value | the value is replaced, whatever it is |
/// | has `metadata` without it | it becomes the first member of `metadata` |
/// | `metadata` is `null` | the `null` is replaced |
/// | has no `metadata` | `metadata` becomes the first member of the object |
///
/// ```
/// use ringwatch_core::json::Limits;
/// use ringwatch_core::json::line::{EventLine, RevisionSpot};
/// use ringwatch_core::revision::Revision;
/// use ringwatch_core::transition::EventKind;
///
/// let object = br#"{"spec":{}}"#;
/// let spot = RevisionSpot::find(object, &Limits::default())?;
/// let mut buffer = [0; 99];
/// let line = EventLine::with_revision(EventKind::Added, object, spot, Revision::new(5));
/// let len = line.write_to(&mut buffer)?;
/// assert_eq!(
///     &buffer[..len],
///     b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"5\"},\"spec\":{}}}\n",
/// );
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevisionSpot {
    /// The bytes from `start` to `end` give way to the new text; empty for an insertion.
    start: u32,
    end: u32,
    form: Form,
}

/// What has to be written around the digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The value.
    Value,
    /// A member of `metadata`, with a comma if others follow.
    Member { comma: bool },
    /// A whole `metadata` object in the place of a null.
    Object,
    /// The member `metadata`, with a comma if others follow.
    Metadata { comma: bool },
}

impl RevisionSpot {
    /// Scans an object for the place.
    ///
    /// # Errors
    ///
    /// [`SpotError::Scan`] if the object is not valid, [`SpotError::Metadata`] if its `metadata` is
    /// neither an object nor null.
    pub fn find(object: &[u8], limits: &Limits) -> Result<Self, SpotError> {
        let mut found = [None; Self::PATHS.len()];
        scan(object, limits, &Self::PATHS, &mut found).map_err(SpotError::Scan)?;
        let [metadata, revision] = found;
        Self::from_values(object, metadata, revision)
    }

    /// What a scan must look for when the values are to be given to
    /// [`from_values`](Self::from_values): `metadata` and `metadata.resourceVersion`.
    pub const PATHS: [Path<'static>; 2] = [METADATA, REVISION];

    /// The place, from values that a scan of `object` has found at [`PATHS`](Self::PATHS); saves a
    /// second scan where one is made anyway.
    ///
    /// # Errors
    ///
    /// [`SpotError::Metadata`] as for [`find`](Self::find), [`SpotError::TooLarge`] for 4 GiB.
    pub fn from_values(
        object: &[u8],
        metadata: Option<Value<'_>>,
        revision: Option<Value<'_>>,
    ) -> Result<Self, SpotError> {
        let spot = |form, start: usize, end: usize| {
            let narrow = |pos: usize| u32::try_from(pos).map_err(|_| SpotError::TooLarge);
            Ok(Self {
                start: narrow(start)?,
                end: narrow(end)?,
                form,
            })
        };
        let whole = |value: Value<'_>| (value.offset(), value.offset() + value.raw().len());
        if let Some(revision) = revision {
            let (start, end) = whole(revision);
            return spot(Form::Value, start, end);
        }
        let Some(metadata) = metadata else {
            let mut filled = object
                .iter()
                .enumerate()
                .filter(|(_, byte)| !byte.is_ascii_whitespace());
            let at = filled.next().map_or(0, |(open, _)| open + 1);
            let comma = filled.next().is_some_and(|(_, &byte)| byte != b'}');
            return spot(Form::Metadata { comma }, at, at);
        };
        let (start, end) = whole(metadata);
        match metadata.kind() {
            Kind::Object => {
                let comma = metadata.entries().next().is_some();
                spot(Form::Member { comma }, start + 1, start + 1)
            }
            Kind::Null => spot(Form::Object, start, end),
            _ => Err(SpotError::Metadata { offset: start }),
        }
    }

    /// The object under the resourceVersion `revision`. The spot must have been found in it.
    #[must_use]
    pub fn splice<'a>(self, object: &'a [u8], revision: Revision) -> Spliced<'a> {
        Spliced::new(object, self, revision)
    }

    /// A place that holds the value, quotes included.
    pub(super) fn value_at(start: usize, end: usize) -> Option<Self> {
        Some(Self {
            start: start.try_into().ok()?,
            end: end.try_into().ok()?,
            form: Form::Value,
        })
    }

    /// What of the object stays, before and behind the new text.
    pub(super) fn split<'a>(&self, object: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        // A spot of another object may point past the end of this one: the clamps keep the result
        // two halves of the object, and no spot that was found here is changed by them.
        let start = usize::try_from(self.start)
            .unwrap_or(usize::MAX)
            .min(object.len());
        let end = usize::try_from(self.end)
            .unwrap_or(usize::MAX)
            .clamp(start, object.len());
        (
            object.get(..start).unwrap_or_default(),
            object.get(end..).unwrap_or_default(),
        )
    }

    pub(super) const fn prefix(&self) -> &'static [u8] {
        match self.form {
            Form::Value => br#"""#,
            Form::Member { .. } => br#""resourceVersion":""#,
            Form::Object => br#"{"resourceVersion":""#,
            Form::Metadata { .. } => br#""metadata":{"resourceVersion":""#,
        }
    }

    pub(super) const fn suffix(&self) -> &'static [u8] {
        match self.form {
            Form::Value | Form::Member { comma: false } => br#"""#,
            Form::Member { comma: true } => br#"","#,
            Form::Object | Form::Metadata { comma: false } => br#""}"#,
            Form::Metadata { comma: true } => br#""},"#,
        }
    }
}

/// Why no place was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SpotError {
    /// The object is not valid.
    Scan(ScanError),
    /// The object's `metadata` cannot have members.
    Metadata {
        /// Where its value begins.
        offset: usize,
    },
    /// The place is beyond 4 GiB.
    TooLarge,
}

impl fmt::Display for SpotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scan(error) => error.fmt(f),
            Self::Metadata { offset } => write!(f, "metadata is no object at byte {offset}"),
            Self::TooLarge => f.write_str("object beyond 4 GiB"),
        }
    }
}

impl Error for SpotError {}

const METADATA: Path<'static> = fixed(Path::parse("metadata"));
const REVISION: Path<'static> = fixed(Path::parse("metadata.resourceVersion"));

/// Runs in the compiler only, so the panic is a failed build.
#[expect(clippy::panic, reason = "evaluated at compile time")]
const fn fixed(path: Result<Path<'static>, crate::json::PathError>) -> Path<'static> {
    match path {
        Ok(path) => path,
        Err(_) => panic!("a fixed path is wrong"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::line::EventLine;
    use crate::transition::EventKind;

    #[test]
    fn every_form_gives_the_object_with_the_revision() {
        for (object, expected) in [
            (r#"{}"#, r#"{"metadata":{"resourceVersion":"9"}}"#),
            (r#" { } "#, r#" {"metadata":{"resourceVersion":"9"} } "#),
            (
                r#"{ "a":1}"#,
                r#"{"metadata":{"resourceVersion":"9"}, "a":1}"#,
            ),
            (
                r#"{"metadata":{}}"#,
                r#"{"metadata":{"resourceVersion":"9"}}"#,
            ),
            (
                r#"{"metadata":{ }}"#,
                r#"{"metadata":{"resourceVersion":"9" }}"#,
            ),
            (
                r#"{"metadata":{"a":1}}"#,
                r#"{"metadata":{"resourceVersion":"9","a":1}}"#,
            ),
            (
                r#"{"metadata":null,"a":1}"#,
                r#"{"metadata":{"resourceVersion":"9"},"a":1}"#,
            ),
            (
                r#"{"metadata":{"resourceVersion":"123"}}"#,
                r#"{"metadata":{"resourceVersion":"9"}}"#,
            ),
            (
                r#"{"metadata":{"resource\u0056ersion":null,"b":2}}"#,
                r#"{"metadata":{"resource\u0056ersion":"9","b":2}}"#,
            ),
        ] {
            let spot = RevisionSpot::find(object.as_bytes(), &Limits::default()).unwrap();
            let line = EventLine::with_revision(
                EventKind::Modified,
                object.as_bytes(),
                spot,
                Revision::new(9),
            );
            let mut buffer = [0; 128];
            let len = line.write_to(&mut buffer).unwrap();
            let text = core::str::from_utf8(&buffer[..len]).unwrap();
            let text = text
                .strip_prefix(r#"{"type":"MODIFIED","object":"#)
                .unwrap();
            assert_eq!(text.strip_suffix("}\n"), Some(expected), "{object}");
        }
    }

    #[test]
    fn metadata_without_members_is_refused() {
        assert_eq!(
            RevisionSpot::find(br#"{"metadata":[]}"#, &Limits::default()),
            Err(SpotError::Metadata { offset: 12 })
        );
    }

    #[test]
    fn a_spot_of_another_object_harms_nobody() {
        let spot = RevisionSpot::find(
            br#"{"metadata":{"resourceVersion":"7"}}"#,
            &Limits::default(),
        );
        let line =
            EventLine::with_revision(EventKind::Added, b"{}", spot.unwrap(), Revision::new(1));
        assert_eq!(line.pieces().map(<[u8]>::len).sum::<usize>(), line.len());
    }
}
