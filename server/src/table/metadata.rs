//! Objects reduced to their metadata, by cutting: no object is parsed for it.

use ringwatch_core::json::line::RevisionSpot;
use ringwatch_core::json::{Kind, Limits, ScanError, scan};
use ringwatch_core::transition::EventKind;

use super::{Bookmark, Page, Version, event_head, undo_on_error};

/// Answers of the kind `PartialObjectMetadata`.
#[derive(Debug, Clone, Copy)]
pub struct Partial {
    /// The version that was asked for.
    pub version: Version,
}

impl Partial {
    /// Appends the answer to a request for one object.
    ///
    /// # Errors
    ///
    /// [`ScanError`] if it is no JSON object.
    pub fn object(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ScanError> {
        partial(self.version, metadata(bytes)?, out);
        out.push(b'\n');
        Ok(())
    }

    /// Appends the answer to a list: a `PartialObjectMetadataList`.
    ///
    /// # Errors
    ///
    /// [`ScanError`] if an object is no JSON object.
    pub fn list<B: AsRef<[u8]>>(
        &self,
        page: &Page<'_>,
        objects: impl IntoIterator<Item = B>,
        out: &mut Vec<u8>,
    ) -> Result<(), ScanError> {
        undo_on_error(out, |out| {
            out.extend_from_slice(br#"{"kind":"PartialObjectMetadataList","apiVersion":""#);
            out.extend_from_slice(self.version.api_version().as_bytes());
            out.extend_from_slice(br#"","metadata":"#);
            page.write_to(out);
            out.extend_from_slice(br#","items":["#);
            let mut first = true;
            for object in objects {
                if !std::mem::take(&mut first) {
                    out.push(b',');
                }
                partial(self.version, metadata(object.as_ref())?, out);
            }
            out.extend_from_slice(b"]}\n");
            Ok(())
        })
    }

    /// Appends one line of a watch.
    ///
    /// # Errors
    ///
    /// [`ScanError`] if the object is no JSON object.
    pub fn event(&self, kind: EventKind, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ScanError> {
        let metadata = metadata(bytes)?;
        out.extend_from_slice(event_head(kind));
        partial(self.version, metadata, out);
        out.extend_from_slice(b"}\n");
        Ok(())
    }

    /// Appends the line of a bookmark.
    ///
    /// # Errors
    ///
    /// None that can be met: the object is made here.
    pub fn bookmark(&self, bookmark: &Bookmark<'_>, out: &mut Vec<u8>) -> Result<(), ScanError> {
        let object = bookmark.object();
        let metadata = metadata(&object)?;
        out.extend_from_slice(br#"{"type":"BOOKMARK","object":"#);
        partial(self.version, metadata, out);
        out.extend_from_slice(b"}\n");
        Ok(())
    }
}

/// An object's metadata as it is written; `{}` if it has none.
fn metadata(bytes: &[u8]) -> Result<&str, ScanError> {
    let [metadata, _] = RevisionSpot::PATHS;
    let mut found = [None];
    // What is stored has passed a limit; here it must only be valid.
    let limits = Limits {
        max_bytes: usize::MAX,
        max_depth: 127,
    };
    scan(bytes, &limits, &[metadata], &mut found)?;
    let [found] = found;
    let found = found.filter(|value| value.kind() == Kind::Object);
    Ok(found.map_or("{}", |value| value.raw()))
}

/// Appends an object that is nothing but metadata.
pub(super) fn partial(version: Version, metadata: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":""#);
    out.extend_from_slice(version.api_version().as_bytes());
    out.extend_from_slice(br#"","metadata":"#);
    out.extend_from_slice(metadata.as_bytes());
    out.push(b'}');
}
