//! The encoding of a request's body.

use std::error::Error;
use std::fmt;

use super::Media;

/// How a patch is to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patch {
    /// `application/json-patch+json`: a list of operations.
    Json,
    /// `application/merge-patch+json`: an object to lay over.
    Merge,
    /// `application/strategic-merge-patch+json`: the same, with lists merged by keys.
    StrategicMerge,
    /// `application/apply-patch+yaml`: what its sender wants to own.
    Apply,
}

impl Patch {
    const ALL: [Self; 4] = [Self::Json, Self::Merge, Self::StrategicMerge, Self::Apply];

    /// The media type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::StrategicMerge => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

/// Reads the `Content-Type` of an object or of options; without one, JSON.
///
/// # Errors
///
/// [`UnsupportedMediaType`] if it is none of those `offered` besides JSON and YAML: a 415.
pub fn content_type(header: Option<&str>, protobuf: bool) -> Result<Media, UnsupportedMediaType> {
    let offered = || {
        let all = Media::ALL.into_iter();
        all.filter(|media| protobuf || *media != Media::Protobuf)
    };
    let Some(name) = media_type(header) else {
        return Ok(Media::Json);
    };
    offered()
        .find(|media| media.as_str().eq_ignore_ascii_case(name))
        .ok_or_else(|| UnsupportedMediaType::new(offered().map(Media::as_str)))
}

/// Reads the `Content-Type` of a patch, which must be given.
///
/// # Errors
///
/// [`UnsupportedMediaType`] if it is none of those `offered`: a 415.
pub fn patch_type(header: Option<&str>, offered: &[Patch]) -> Result<Patch, UnsupportedMediaType> {
    let name = media_type(header).unwrap_or("");
    Patch::ALL
        .into_iter()
        .filter(|patch| offered.contains(patch))
        .find(|patch| patch.as_str().eq_ignore_ascii_case(name))
        .ok_or_else(|| UnsupportedMediaType::of_patch(offered))
}

/// The type without its parameters; `None` if there is none.
fn media_type(header: Option<&str>) -> Option<&str> {
    let name = header?.split(';').next()?.trim();
    (!name.is_empty()).then_some(name)
}

/// A body in an encoding that is not offered. The text is the message of the Status; its reason is
/// `UnsupportedMediaType` and its code 415.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsupportedMediaType {
    listed: String,
}

impl UnsupportedMediaType {
    /// A patch that is none of those `offered`.
    pub fn of_patch(offered: &[Patch]) -> Self {
        let known = Patch::ALL.into_iter();
        let known = known.filter(|patch| offered.contains(patch));
        Self::new(known.map(Patch::as_str))
    }

    fn new(offered: impl Iterator<Item = &'static str>) -> Self {
        Self {
            listed: offered.collect::<Vec<_>>().join(", "),
        }
    }
}

impl fmt::Display for UnsupportedMediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the body of the request was in an unknown format - accepted media types include: {}",
            self.listed
        )
    }
}

impl Error for UnsupportedMediaType {}
