//! How objects leave: from cached bytes to what the client asked for.
//!
//! JSON objects are sent as they lie in the cache. Everything else is made from those bytes when it is sent.

use std::borrow::Cow;

use bytes::Bytes;
use jiff::Timestamp;
use ringwatch_core::json::line::Bookmark as BookmarkLine;
use ringwatch_core::revision::Revision;
use ringwatch_core::transition::EventKind;
use serde_json::Value;

use crate::cache::{Object, Seen, WatchEvent};
use crate::codec::protobuf;
use crate::columns::Printer;
use crate::negotiate::{Answer, Form, Media, Request};
use crate::resources::{self, Resource};
use crate::shape::Shape;
use crate::status::Failure;
use crate::table::{self, Headings, Include, Page, Partial, Table};
use crate::{indent, yaml};

/// The form of one answer.
#[derive(Debug)]
pub struct Rendition {
    answer: Answer,
    request: Request,
    pretty: bool,
    /// Stored events are shown by their other names.
    renames_events: bool,
    shape: Shape,
    printer: Printer,
    include: Include,
    /// The column headings of a watch have been sent.
    headed: bool,
}

impl Rendition {
    /// The form of an answer about objects of `resource`.
    pub fn new(
        resource: &Resource,
        answer: Answer,
        request: Request,
        pretty: bool,
        include: Include,
    ) -> Self {
        let renames_events = resource
            .storage
            .as_ref()
            .is_some_and(|stored| stored.form == resources::Form::CoreEvent);
        Self {
            answer,
            request,
            pretty,
            renames_events,
            shape: Shape::new(resource),
            printer: match resource.custom() {
                Some(custom) => custom.printer(),
                None => Printer::of(&resource.group, &resource.kind),
            },
            include,
            headed: false,
        }
    }

    /// The Content-Type.
    pub fn content_type(&self) -> &'static str {
        self.answer.content_type(self.request)
    }

    /// Whether what is sent is text.
    pub fn is_text(&self) -> bool {
        self.answer.media != Media::Protobuf
    }

    /// Whether lists can be sent piece by piece: JSON as it is.
    pub fn is_plain(&self) -> bool {
        self.answer.media == Media::Json
            && self.answer.form == Form::Whole
            && !self.pretty
            && !self.renames_events
    }

    /// One object.
    pub fn object(&self, json: &[u8]) -> Result<Vec<u8>, Failure> {
        let json = self.shown(json);
        let mut out = Vec::new();
        match self.answer.form {
            Form::Whole | Form::Discovery => match self.answer.media {
                Media::Protobuf => return protobuf::encode(&json).map_err(Failure::internal),
                Media::Json | Media::Yaml => {
                    out.extend_from_slice(&json);
                    out.push(b'\n');
                }
            },
            Form::Table(version) => self
                .table(version)
                .object(&json, &mut out)
                .map_err(Failure::internal)?,
            Form::Metadata(version) => {
                Partial { version }
                    .object(&json, &mut out)
                    .map_err(Failure::internal)?;
                if self.answer.media == Media::Protobuf {
                    return protobuf::encode(&out).map_err(Failure::internal);
                }
            }
        }
        self.finish(out)
    }

    /// Something that is not an object of the resource: a Status, a Scale. It is never a table.
    pub fn as_is(&self, json: &[u8]) -> Result<Vec<u8>, Failure> {
        if self.answer.media == Media::Protobuf {
            return protobuf::encode(json).map_err(Failure::internal);
        }
        let mut json = json.to_vec();
        json.push(b'\n');
        self.finish(json)
    }

    /// A list.
    pub fn list(&self, page: &Page<'_>, objects: &[Object]) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        let shown = objects.iter().map(|object| self.shown(object.bytes()));
        match self.answer.form {
            Form::Whole | Form::Discovery if self.answer.media == Media::Protobuf => {
                return self.protobuf_list(page, shown);
            }
            Form::Whole | Form::Discovery => {
                let (head, tail) = self.shape.ends(page);
                out.extend_from_slice(&head);
                for (number, json) in shown.enumerate() {
                    self.shape.push(number == 0, &json, &mut out);
                }
                out.extend_from_slice(&tail);
            }
            Form::Table(version) => {
                self.table(version)
                    .list(page, shown, &mut out)
                    .map_err(Failure::internal)?;
            }
            Form::Metadata(version) => {
                Partial { version }
                    .list(page, shown, &mut out)
                    .map_err(Failure::internal)?;
                if self.answer.media == Media::Protobuf {
                    return protobuf::encode(&out).map_err(Failure::internal);
                }
            }
        }
        self.finish(out)
    }

    /// How JSON lists look.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// One event of a watch, with its frame.
    pub fn event(&mut self, event: &WatchEvent, out: &mut Vec<u8>) -> Result<(), Failure> {
        if self.copy(event.seen(), out) {
            return Ok(());
        }
        match event {
            WatchEvent::Object {
                kind,
                object,
                revision,
            } => self.change(*kind, object, *revision, out),
            WatchEvent::Bookmark {
                revision,
                initial_events_end,
            } => self.bookmark(*revision, *initial_events_end, out),
        }
    }

    /// Appends an event whose object leaves as it is: nothing is encoded. `false` if it does not, and then nothing is done.
    pub fn copy(&self, event: Seen<'_>, out: &mut Vec<u8>) -> bool {
        let Seen::Object {
            kind,
            object,
            revision,
        } = event
        else {
            return false;
        };
        let whole = self.answer.media == Media::Json && self.answer.form == Form::Whole;
        if !whole || self.renames_events || !self.shape.is(object.bytes()) {
            return false;
        }
        let line = object.line(kind, revision);
        out.reserve(line.len());
        line.pieces().for_each(|piece| out.extend_from_slice(piece));
        true
    }

    fn change(
        &mut self,
        kind: EventKind,
        object: &Object,
        revision: Revision,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let json = object.at(revision);
        let json = self.shown(&json);
        match self.answer.form {
            Form::Whole | Form::Discovery if self.answer.media == Media::Protobuf => {
                let envelope = protobuf::encode(&json).map_err(Failure::internal)?;
                out.extend_from_slice(&protobuf::frame(kind.as_str(), &envelope));
            }
            Form::Whole | Form::Discovery => frame(kind.as_str(), &json, out),
            Form::Table(version) => {
                let headings = self.headings();
                let written = self.table(version).event(kind, &json, headings, out);
                written.map_err(Failure::internal)?;
            }
            Form::Metadata(version) if self.answer.media == Media::Protobuf => {
                let mut partial = Vec::new();
                Partial { version }
                    .object(&json, &mut partial)
                    .map_err(Failure::internal)?;
                let envelope = protobuf::encode(&partial).map_err(Failure::internal)?;
                out.extend_from_slice(&protobuf::frame(kind.as_str(), &envelope));
            }
            Form::Metadata(version) => {
                Partial { version }
                    .event(kind, &json, out)
                    .map_err(Failure::internal)?;
            }
        }
        Ok(())
    }

    fn bookmark(
        &mut self,
        revision: Revision,
        initial_events_end: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let text = revision.to_string();
        let headed = std::mem::replace(&mut self.headed, true);
        let bookmark = table::Bookmark {
            kind: self.shape.kind(),
            api_version: self.shape.api_version(),
            resource_version: &text,
            initial_events_end,
        };
        match self.answer.form {
            Form::Whole | Form::Discovery => {
                let line = BookmarkLine {
                    kind: self.shape.kind(),
                    api_version: self.shape.api_version(),
                    revision,
                    initial_events_end,
                };
                let mut buffer = [0; BOOKMARK];
                let len = line.write_to(&mut buffer).map_err(Failure::internal)?;
                let line = buffer.get(..len).unwrap_or_default();
                if self.answer.media == Media::Protobuf {
                    protobuf_bookmark(line, out)?;
                } else {
                    out.extend_from_slice(line);
                }
            }
            Form::Table(version) => {
                let headings = if headed {
                    Headings::Known
                } else {
                    Headings::Shown
                };
                self.table(version)
                    .bookmark(&bookmark, headings, out)
                    .map_err(Failure::internal)?;
            }
            Form::Metadata(version) if self.answer.media == Media::Protobuf => {
                let mut line = Vec::new();
                Partial { version }
                    .bookmark(&bookmark, &mut line)
                    .map_err(Failure::internal)?;
                protobuf_bookmark(&line, out)?;
            }
            Form::Metadata(version) => {
                Partial { version }
                    .bookmark(&bookmark, out)
                    .map_err(Failure::internal)?;
            }
        }
        Ok(())
    }

    /// The event that tells why a watch ends.
    pub fn error(&self, failure: &Failure, out: &mut Vec<u8>) {
        if self.answer.media == Media::Protobuf
            && let Ok(envelope) = protobuf::encode_value(&failure.to_value())
        {
            out.extend_from_slice(&protobuf::frame("ERROR", &envelope));
            return;
        }
        frame("ERROR", failure.to_json().as_bytes(), out);
    }

    fn headings(&mut self) -> Headings {
        if std::mem::replace(&mut self.headed, true) {
            Headings::Known
        } else {
            Headings::Shown
        }
    }

    fn table(&self, version: table::Version) -> Table<'_> {
        Table {
            printer: &self.printer,
            version,
            include: self.include,
            now: Timestamp::now(),
        }
    }

    /// The object under the names by which this resource knows it.
    fn shown<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.renames_events {
            return self.shape.object(json);
        }
        match serde_json::from_slice(json) {
            Ok(Value::Object(mut event)) => {
                resources::events::to_events_group(&mut event);
                // Kind and version first, as in all other objects: items of lists go without.
                event.remove("kind");
                event.remove("apiVersion");
                let rest = Value::Object(event).to_string();
                let rest = rest.strip_prefix('{').unwrap_or(&rest);
                Cow::Owned([self.shape.head(), rest].concat().into_bytes())
            }
            _ => Cow::Borrowed(json),
        }
    }

    fn protobuf_list<'a>(
        &self,
        page: &Page<'_>,
        shown: impl Iterator<Item = Cow<'a, [u8]>>,
    ) -> Result<Vec<u8>, Failure> {
        let mut metadata = Vec::new();
        page.write_to(&mut metadata);
        let items: Result<Vec<_>, _> = shown
            .map(|json| protobuf::encode_raw(self.shape.api_version(), self.shape.kind(), &json))
            .collect();
        let items = items.map_err(Failure::internal)?;
        protobuf::list(
            self.shape.api_version(),
            self.shape.list_kind(),
            &metadata,
            items.iter().map(Vec::as_slice),
        )
        .map_err(Failure::internal)
    }

    /// JSON, indented or as YAML if that was wanted.
    fn finish(&self, json: Vec<u8>) -> Result<Vec<u8>, Failure> {
        match self.answer.media {
            Media::Yaml => {
                let value: Value = serde_json::from_slice(&json).map_err(Failure::internal)?;
                Ok(yaml::from_json(&value).into_bytes())
            }
            _ if self.pretty => Ok(indent::indented(&json)),
            _ => Ok(json),
        }
    }
}

/// Room for the line of a bookmark: kind and version are names of some dozen bytes.
const BOOKMARK: usize = 1024;

fn protobuf_bookmark(line: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
    let event: Value = serde_json::from_slice(line).map_err(Failure::internal)?;
    let object = event.get("object").unwrap_or(&Value::Null);
    let envelope = protobuf::encode_value(object).map_err(Failure::internal)?;
    out.extend_from_slice(&protobuf::frame("BOOKMARK", &envelope));
    Ok(())
}

fn frame(kind: &str, json: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":""#);
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(br#"","object":"#);
    out.extend_from_slice(json);
    out.extend_from_slice(b"}\n");
}

/// A failure as the body of an answer, in an encoding that the client understands.
pub fn failure(failure: &Failure, media: Media, pretty: bool) -> (Bytes, &'static str) {
    let text = match media {
        Media::Yaml => yaml::from_json(&failure.to_value()).into_bytes(),
        Media::Protobuf => match protobuf::encode_value(&failure.to_value()) {
            Ok(bytes) => bytes,
            Err(_) => return (failure.to_json().into(), Media::Json.as_str()),
        },
        Media::Json if pretty => indent::indented(failure.to_json().as_bytes()),
        Media::Json => format!("{}\n", failure.to_json()).into_bytes(),
    };
    (text.into(), media.as_str())
}
