//! Objects as tables and as bare metadata.
//!
//! A client that only prints, or only wants to know what is there, asks for a `Table` or for
//! `PartialObjectMetadata` in place of the objects. Both are made from an object's bytes in one
//! reading; its metadata goes into the answer as it is written, never rebuilt.
//!
//! ```
//! use ringwatch_server::columns::Printer;
//! use ringwatch_server::table::{Include, Page, Table, Version};
//!
//! let printer = Printer::of("", "Namespace");
//! let table = Table {
//!     printer: &printer,
//!     version: Version::V1,
//!     include: Include::None,
//!     now: "2026-01-01T00:02:05Z".parse()?,
//! };
//! let namespace = br#"{"metadata":{"name":"web","creationTimestamp":"2026-01-01T00:00:00Z"}}"#;
//! let mut out = Vec::new();
//! table.list(&Page::at("7"), [namespace], &mut out)?;
//! let text = String::from_utf8(out)?;
//! assert!(text.starts_with(r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"#));
//! assert!(text.ends_with("\"rows\":[{\"cells\":[\"web\",\"Active\",\"2m5s\"],\"object\":null}]}\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Answers end with a line break, as those of a kube-apiserver do. When an object cannot be read,
//! what was written of the answer is taken back.

mod metadata;
mod page;

use std::error::Error;
use std::fmt;

use jiff::Timestamp;
use ringwatch_core::transition::EventKind;

pub use metadata::Partial;
pub use page::Page;

use crate::columns::{Object, Printer, Row, Unreadable};

/// The version of `meta.k8s.io` that was asked for; the two differ in nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// `v1`
    V1,
    /// `v1beta1`
    V1Beta1,
}

impl Version {
    /// The `apiVersion`.
    #[must_use]
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }

    /// The version with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }
}

/// How much of its object a row carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Include {
    /// Nothing.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

impl Include {
    /// Reads the query parameter `includeObject`; empty is the default.
    ///
    /// # Errors
    ///
    /// [`BadInclude`] has the text for a 400.
    pub fn parse(text: &str) -> Result<Self, BadInclude> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "None" => Ok(Self::None),
            "Object" => Ok(Self::Object),
            other => Err(BadInclude(other.to_owned())),
        }
    }
}

/// A wrong `includeObject`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadInclude(String);

impl fmt::Display for BadInclude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value) = self;
        write!(
            f,
            "Unable to convert to Table as requested: includeObject: Invalid value: {value:?}: \
             must be 'Metadata', 'Object', 'None', or empty"
        )
    }
}

impl Error for BadInclude {}

/// A kind's tables, as one request wants them.
#[derive(Debug, Clone, Copy)]
pub struct Table<'p> {
    /// The printer of the kind.
    pub printer: &'p Printer,
    /// The version that was asked for.
    pub version: Version,
    /// What the rows carry.
    pub include: Include,
    /// The time that ages are counted to.
    pub now: Timestamp,
}

/// Whether a table of a watch names its columns. The first of a stream does; the others say `null`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headings {
    /// Named.
    Shown,
    /// Known from before.
    Known,
}

impl Table<'_> {
    /// Appends the answer to a list.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] if an object is no JSON object.
    pub fn list<B: AsRef<[u8]>>(
        &self,
        page: &Page<'_>,
        objects: impl IntoIterator<Item = B>,
        out: &mut Vec<u8>,
    ) -> Result<(), Unreadable> {
        undo_on_error(out, |out| {
            self.open(page, Headings::Shown, out);
            let mut first = true;
            for object in objects {
                if !std::mem::take(&mut first) {
                    out.push(b',');
                }
                let bytes = object.as_ref();
                self.row(bytes, &Object::read(bytes, self.printer)?, out);
            }
            out.extend_from_slice(b"]}\n");
            Ok(())
        })
    }

    /// Appends the answer to a request for one object: a table with one row.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] if it is no JSON object.
    pub fn object(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Unreadable> {
        undo_on_error(out, |out| {
            self.one(bytes, Headings::Shown, out)?;
            out.push(b'\n');
            Ok(())
        })
    }

    /// Appends one line of a watch.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] if the object is no JSON object.
    pub fn event(
        &self,
        kind: EventKind,
        bytes: &[u8],
        headings: Headings,
        out: &mut Vec<u8>,
    ) -> Result<(), Unreadable> {
        undo_on_error(out, |out| {
            out.extend_from_slice(event_head(kind));
            self.one(bytes, headings, out)?;
            out.extend_from_slice(b"}\n");
            Ok(())
        })
    }

    /// Appends the line of a bookmark, whose row is that of an empty object. The bookmark that ends
    /// the initial events carries its annotation whatever else rows carry: clients look for it.
    ///
    /// # Errors
    ///
    /// None that can be met: the object is made here.
    pub fn bookmark(
        &self,
        bookmark: &Bookmark<'_>,
        headings: Headings,
        out: &mut Vec<u8>,
    ) -> Result<(), Unreadable> {
        let bytes = bookmark.object();
        let include = match self.include {
            Include::None if bookmark.initial_events_end => Include::Metadata,
            other => other,
        };
        undo_on_error(out, |out| {
            out.extend_from_slice(br#"{"type":"BOOKMARK","object":"#);
            Self { include, ..*self }.one(&bytes, headings, out)?;
            out.extend_from_slice(b"}\n");
            Ok(())
        })
    }

    /// A table with one row, under the object's own resourceVersion.
    fn one(&self, bytes: &[u8], headings: Headings, out: &mut Vec<u8>) -> Result<(), Unreadable> {
        let object = Object::read(bytes, self.printer)?;
        let page = Page::at(object.metadata().get("resourceVersion").text());
        self.open(&page, headings, out);
        self.row(bytes, &object, out);
        out.extend_from_slice(b"]}");
        Ok(())
    }

    /// Everything before the rows.
    fn open(&self, page: &Page<'_>, headings: Headings, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"kind":"Table","apiVersion":""#);
        out.extend_from_slice(self.version.api_version().as_bytes());
        out.extend_from_slice(br#"","metadata":"#);
        page.write_to(out);
        out.extend_from_slice(br#","columnDefinitions":"#);
        match headings {
            Headings::Known => out.extend_from_slice(b"null"),
            Headings::Shown => {
                for (place, column) in self.printer.columns().iter().enumerate() {
                    out.extend_from_slice(if place == 0 { b"[{" } else { b",{" });
                    member("name", &column.name, out);
                    out.push(b',');
                    member("type", column.kind.as_str(), out);
                    out.push(b',');
                    member("format", &column.format, out);
                    out.push(b',');
                    member("description", &column.description, out);
                    out.extend_from_slice(br#","priority":"#);
                    out.extend_from_slice(column.priority.to_string().as_bytes());
                    out.push(b'}');
                }
                out.push(b']');
            }
        }
        out.extend_from_slice(br#","rows":["#);
    }

    fn row(&self, bytes: &[u8], object: &Object<'_>, out: &mut Vec<u8>) {
        let row = self.printer.row(object, self.now);
        out.extend_from_slice(br#"{"cells":"#);
        row.write_cells(out);
        conditions(&row, out);
        out.extend_from_slice(br#","object":"#);
        match self.include {
            Include::None => out.extend_from_slice(b"null"),
            Include::Object => out.extend_from_slice(bytes.trim_ascii()),
            Include::Metadata => metadata::partial(self.version, object.raw_metadata(), out),
        }
        out.push(b'}');
    }
}

/// A point that a stream has reached, to be shown as a table or as metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bookmark<'a> {
    /// Kind of the watched resource.
    pub kind: &'a str,
    /// Its `apiVersion`.
    pub api_version: &'a str,
    /// The resourceVersion that was reached.
    pub resource_version: &'a str,
    /// Whether it ends the initial events.
    pub initial_events_end: bool,
}

impl Bookmark<'_> {
    /// The empty object that a bookmark is.
    fn object(&self) -> Vec<u8> {
        let mut out = vec![b'{'];
        member("kind", self.kind, &mut out);
        out.push(b',');
        member("apiVersion", self.api_version, &mut out);
        out.extend_from_slice(br#","metadata":{"#);
        member("resourceVersion", self.resource_version, &mut out);
        if self.initial_events_end {
            out.extend_from_slice(br#","annotations":{"k8s.io/initial-events-end":"true"}"#);
        }
        out.extend_from_slice(b"}}");
        out
    }
}

fn conditions(row: &Row<'_>, out: &mut Vec<u8>) {
    for (place, condition) in row.conditions.iter().enumerate() {
        out.extend_from_slice(match place {
            0 => br#","conditions":[{"#,
            _ => b",{",
        });
        member("type", condition.kind, out);
        out.extend_from_slice(br#","status":"True","#);
        member("reason", condition.reason, out);
        out.push(b',');
        member("message", condition.message, out);
        out.push(b'}');
    }
    if !row.conditions.is_empty() {
        out.push(b']');
    }
}

/// The line of an event up to its object.
fn event_head(kind: EventKind) -> &'static [u8] {
    match kind {
        EventKind::Added => br#"{"type":"ADDED","object":"#,
        EventKind::Modified => br#"{"type":"MODIFIED","object":"#,
        EventKind::Deleted => br#"{"type":"DELETED","object":"#,
    }
}

/// A member whose value is a text.
fn member(key: &str, value: &str, out: &mut Vec<u8>) {
    text(key, out);
    out.push(b':');
    text(value, out);
}

/// A JSON string. Neither can the text fail to be one nor the buffer to take it.
fn text(text: &str, out: &mut Vec<u8>) {
    let written = serde_json::to_writer(out, text);
    debug_assert!(written.is_ok(), "a text was refused: {written:?}");
}

/// Runs `write`, and takes back what it wrote if it fails.
fn undo_on_error<E>(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    write(out).inspect_err(|_| out.truncate(start))
}
