//! How objects look in an answer: whole, as rows of a table, or as their metadata; one by one, in lists and in events.
//!
//! Bytes of objects go out as they came in. A table or metadata is cut out of them.

use std::borrow::Cow;

use ringwatch_core::json::line::{Bookmark, EventLine, RevisionSpot};
use ringwatch_core::json::{Limits, Path, scan};
use ringwatch_core::link::serve::Content as _;
use ringwatch_core::object::Object as _;
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;
use ringwatch_core::transition::EventKind;
use serde_json::json;

use super::Kept;
use super::accept::{Form, Version};
use super::columns::Printer;
use super::kinds::Kind;
use super::options::Include;

/// What all answers of a request have in common.
pub(super) struct Rendition<'k> {
    pub(super) kind: &'k Kind,
    pub(super) form: Form,
    pub(super) include: Include,
    pub(super) printer: Printer<'k>,
    pub(super) now: Instant,
}

/// What is said of a list, besides its objects.
#[derive(Debug)]
pub(super) struct ListHead {
    pub(super) revision: Revision,
    /// The token for the next page.
    pub(super) next: Option<String>,
    /// How many are behind this page, where that is said.
    pub(super) remaining: Option<usize>,
}

impl Rendition<'_> {
    /// One object.
    pub(super) fn object(&self, object: &Kept) -> Vec<u8> {
        let mut out = Vec::new();
        match self.form {
            Form::Table(version) => {
                let head = ListHead::of_one(object.revision());
                self.table_head(&mut out, version, &head, true);
                self.row(&mut out, version, object, object.json());
                out.extend_from_slice(b"]}\n");
            }
            _ => {
                self.item(&mut out, object);
                out.push(b'\n');
            }
        }
        out
    }

    /// What comes before the objects of a list.
    pub(super) fn list_head(&self, out: &mut Vec<u8>, head: &ListHead) {
        let (kind, api_version) = match self.form {
            Form::Table(version) => return self.table_head(out, version, head, true),
            Form::Metadata(version) => (
                Cow::Borrowed("PartialObjectMetadataList"),
                Cow::Borrowed(version.api_version()),
            ),
            Form::Whole => (
                Cow::Owned(format!("{}List", self.kind.kind)),
                Cow::Owned(self.kind.api_version()),
            ),
        };
        let text = format!(
            r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{},"items":["#,
            head.metadata()
        );
        out.extend_from_slice(text.as_bytes());
    }

    /// One object of a list.
    pub(super) fn item(&self, out: &mut Vec<u8>, object: &Kept) {
        match self.form {
            Form::Table(version) => self.row(out, version, object, object.json()),
            Form::Metadata(version) => partial(out, version, object.json()),
            Form::Whole => out.extend_from_slice(object.json()),
        }
    }

    /// The line of an event. The columns of a table are told with the first one only.
    pub(super) fn event(
        &self,
        kind: EventKind,
        object: &Kept,
        revision: Revision,
        columns: bool,
    ) -> Vec<u8> {
        let json = object.json();
        // A deletion is shown as of when it happened.
        let spot = RevisionSpot::find(json, &Limits::default())
            .ok()
            .filter(|_| revision != object.revision());
        if self.form == Form::Whole {
            let line = match spot {
                Some(spot) => EventLine::with_revision(kind, json, spot, revision),
                None => EventLine::new(kind, json),
            };
            let mut out = Vec::with_capacity(line.len());
            line.pieces().for_each(|piece| out.extend_from_slice(piece));
            return out;
        }
        let json: Cow<'_, [u8]> = match spot {
            Some(spot) => {
                let spliced = spot.splice(json, revision);
                spliced.pieces().flatten().copied().collect()
            }
            None => json.into(),
        };
        let mut out = format!(r#"{{"type":"{}","object":"#, kind.as_str()).into_bytes();
        match self.form {
            Form::Table(version) => {
                let head = ListHead::of_one(revision);
                self.table_head(&mut out, version, &head, columns);
                self.row(&mut out, version, object, &json);
                out.extend_from_slice(b"]}");
            }
            Form::Metadata(version) => partial(&mut out, version, &json),
            Form::Whole => {}
        }
        out.extend_from_slice(b"}\n");
        out
    }

    /// The line that says how far a watch has come.
    pub(super) fn bookmark(
        &self,
        revision: Revision,
        initial_events_end: bool,
        columns: bool,
    ) -> Vec<u8> {
        let version = match self.form {
            Form::Table(version) | Form::Metadata(version) => version,
            Form::Whole => {
                let bookmark = Bookmark {
                    kind: &self.kind.kind,
                    api_version: &self.kind.api_version(),
                    revision,
                    initial_events_end,
                };
                let mut buffer = [0; 1024];
                // Names of kinds and groups are far shorter than this.
                let len = bookmark.write_to(&mut buffer).unwrap_or(0);
                return buffer.get(..len).unwrap_or_default().to_vec();
            }
        };
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if initial_events_end && let Some(members) = metadata.as_object_mut() {
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            members.insert("annotations".to_owned(), annotations);
        }
        let empty = json!({"metadata": metadata}).to_string();
        let mut out = br#"{"type":"BOOKMARK","object":"#.to_vec();
        if let Form::Table(_) = self.form {
            let head = ListHead::of_one(revision);
            self.table_head(&mut out, version, &head, columns);
            out.extend_from_slice(br#"{"cells":"#);
            self.printer.no_cells(&mut out);
            out.extend_from_slice(br#","object":"#);
            partial(&mut out, version, empty.as_bytes());
            out.extend_from_slice(b"}]}");
        } else {
            partial(&mut out, version, empty.as_bytes());
        }
        out.extend_from_slice(b"}\n");
        out
    }

    fn table_head(&self, out: &mut Vec<u8>, version: Version, head: &ListHead, columns: bool) {
        let columns = match columns {
            true => self.printer.headings(),
            false => serde_json::Value::Null,
        };
        let text = format!(
            r#"{{"kind":"Table","apiVersion":"{}","metadata":{},"columnDefinitions":{columns},"rows":["#,
            version.api_version(),
            head.metadata()
        );
        out.extend_from_slice(text.as_bytes());
    }

    /// A row: the cells, and what is wanted of the object, whose bytes are `json`.
    fn row(&self, out: &mut Vec<u8>, version: Version, object: &Kept, json: &[u8]) {
        out.extend_from_slice(br#"{"cells":"#);
        self.printer.cells(out, object, self.now);
        out.extend_from_slice(br#","object":"#);
        match self.include {
            Include::None => out.extend_from_slice(b"null"),
            Include::Object => out.extend_from_slice(json),
            Include::Metadata => partial(out, version, json),
        }
        out.push(b'}');
    }
}

impl ListHead {
    /// Of what is no list.
    const fn of_one(revision: Revision) -> Self {
        Self {
            revision,
            next: None,
            remaining: None,
        }
    }

    fn metadata(&self) -> serde_json::Value {
        let mut metadata = json!({"resourceVersion": self.revision.to_string()});
        if let (Some(members), Some(next)) = (metadata.as_object_mut(), &self.next) {
            members.insert("continue".to_owned(), next.as_str().into());
            if let Some(remaining) = self.remaining {
                members.insert("remainingItemCount".to_owned(), remaining.into());
            }
        }
        metadata
    }
}

/// The metadata of an object, as an object.
fn partial(out: &mut Vec<u8>, version: Version, json: &[u8]) {
    let mut found = [None];
    if let Ok(metadata) = Path::parse("metadata") {
        // An object that is here was read before.
        let _ = scan(json, &Limits::default(), &[metadata], &mut found);
    }
    let [metadata] = found;
    let metadata = metadata.map_or("{}", |metadata| metadata.raw());
    let text = format!(
        r#"{{"kind":"PartialObjectMetadata","apiVersion":"{}","metadata":{metadata}}}"#,
        version.api_version()
    );
    out.extend_from_slice(text.as_bytes());
}
