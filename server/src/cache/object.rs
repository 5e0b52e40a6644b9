//! A cached object: its encoded bytes, and beside them what filtering asks for.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use ringwatch_core::json::line::{EventLine, RevisionSpot};
use ringwatch_core::key::Key;
use ringwatch_core::object;
use ringwatch_core::revision::Revision;
use ringwatch_core::transition::EventKind;
use smallvec::SmallVec;

use super::sketch::Sketch;
use super::term::{TermHash, TermHasher};

/// An object as the cache keeps it. Cheap to clone: everyone who holds it shares one copy.
///
/// The bytes are the object's JSON with its resourceVersion inside, ready to be sent. Labels and
/// fields are spans of them, found once when the object came in.
#[derive(Clone)]
pub struct Object(Arc<Inner>);

/// Few parts, since each one apart would be memory to fetch when the object is applied and to free when the
/// ring lets go of it: with many objects that is most of the cost of a change.
struct Inner {
    /// The object's bytes; then its key in storage; then texts that JSON spells with escapes.
    buffer: Box<[u8]>,
    /// Where the bytes end and the key begins.
    key_from: u32,
    /// Where the key in the resource begins, and ends.
    name: Span,
    /// Where a deletion puts its own revision.
    spot: Option<RevisionSpot>,
    /// How many labels there are in `words`.
    labels: u32,
    /// Keys and values of the labels in turn, then the values of the resource's selectable fields in
    /// the order of its list.
    words: SmallVec<[Span; 12]>,
    /// The hashes of the labels, then of the fields. Of an object that is replaced they are all that is looked at to find who
    /// may care.
    terms: SmallVec<[u32; 8]>,
    revision: Revision,
    create_revision: Revision,
    sketch: Sketch,
    field_names: Arc<[Box<str>]>,
}

/// A text in an object's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    /// Buffers are far below 4 GiB, see [`Limits`](ringwatch_core::json::Limits).
    pub(super) fn new(start: usize, len: usize) -> Self {
        Self {
            start: start as u32,
            len: len as u32,
        }
    }
}

/// What a decoder found in a stored value.
#[derive(Debug)]
pub(super) struct Parts {
    /// The bytes, the key in storage, and other texts.
    pub(super) buffer: Vec<u8>,
    /// Where the bytes end and the key begins.
    pub(super) key_from: usize,
    /// The key in the resource.
    pub(super) name: Span,
    pub(super) spot: Option<RevisionSpot>,
    pub(super) labels: usize,
    pub(super) words: SmallVec<[Span; 12]>,
}

impl Parts {
    /// Hands over the hash of each label, then of each field.
    fn each_term(&self, hasher: TermHasher, mut each: impl FnMut(TermHash)) {
        let text = |span: &Span| {
            let start = span.start as usize;
            let text = self.buffer.get(start..start + span.len as usize);
            text.unwrap_or_default()
        };
        let (labels, fields) = self
            .words
            .split_at_checked(2 * self.labels)
            .unwrap_or_default();
        let (labels, _) = labels.as_chunks();
        for [key, value] in labels {
            each(hasher.label(text(key), text(value)));
        }
        for (place, value) in fields.iter().enumerate() {
            each(hasher.field(place, text(value)));
        }
    }
}

impl Object {
    pub(super) fn new(
        revisions: (Revision, Revision),
        field_names: Arc<[Box<str>]>,
        hasher: TermHasher,
        parts: Parts,
    ) -> Self {
        let (create_revision, revision) = revisions;
        let mut sketch = Sketch::default();
        let mut terms = SmallVec::new();
        parts.each_term(hasher, |term| {
            sketch = sketch.with(term);
            terms.push(term.low());
        });
        Self(Arc::new(Inner {
            buffer: parts.buffer.into_boxed_slice(),
            key_from: parts.key_from as u32,
            name: parts.name,
            spot: parts.spot,
            labels: parts.labels as u32,
            words: parts.words,
            terms,
            revision,
            create_revision,
            sketch,
            field_names,
        }))
    }

    /// The object's JSON, resourceVersion included.
    pub fn bytes(&self) -> &[u8] {
        let end = self.0.key_from as usize;
        self.0.buffer.get(..end).unwrap_or(b"")
    }

    /// The line of a watch that tells of this object, in pieces; nothing is encoded again. The revision is the
    /// event's: a deletion is shown with it, everything else has it inside.
    pub fn line(&self, kind: EventKind, revision: Revision) -> EventLine<'_> {
        match self.0.spot {
            Some(spot) if revision != self.0.revision => {
                EventLine::with_revision(kind, self.bytes(), spot, revision)
            }
            _ => EventLine::new(kind, self.bytes()),
        }
    }

    /// The object's JSON with another revision inside, as a deletion shows it.
    pub fn at(&self, revision: Revision) -> Cow<'_, [u8]> {
        match self.0.spot {
            Some(spot) if revision != self.0.revision => {
                let spliced = spot.splice(self.bytes(), revision);
                Cow::Owned(spliced.pieces().flatten().copied().collect())
            }
            _ => Cow::Borrowed(self.bytes()),
        }
    }

    /// The key under which it is stored.
    pub fn storage_key(&self) -> &str {
        let (start, name) = (self.0.key_from, self.0.name);
        self.text(Span {
            start,
            len: (name.start + name.len).saturating_sub(start),
        })
    }

    /// The key in its resource: `namespace/name` or `name`.
    pub fn key(&self) -> &str {
        self.text(self.0.name)
    }

    /// The key in its resource, for comparing.
    pub(super) fn key_bytes(&self) -> &[u8] {
        self.raw(self.0.name)
    }

    /// The revision of its last change.
    pub fn revision(&self) -> Revision {
        self.0.revision
    }

    /// The revision at which it came into being.
    pub fn create_revision(&self) -> Revision {
        self.0.create_revision
    }

    /// What it has, in short.
    pub fn sketch(&self) -> Sketch {
        self.0.sketch
    }

    /// Its labels.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.label_spans()
            .map(|(key, value)| (self.text(key), self.text(value)))
    }

    /// The hashes of its labels.
    pub(super) fn label_terms(&self) -> &[u32] {
        let labels = self.0.labels as usize;
        self.0.terms.get(..labels).unwrap_or_default()
    }

    /// The hash of the selectable field with this place in the resource's list.
    pub(super) fn field_term(&self, place: usize) -> Option<u32> {
        let labels = self.0.labels as usize;
        self.0.terms.get(labels + place).copied()
    }

    /// The value of the selectable field with this place in the resource's list.
    fn field_at(&self, place: usize) -> Option<&str> {
        let first = 2 * self.0.labels as usize;
        let span = self.0.words.get(first + place)?;
        Some(self.text(*span))
    }

    fn label_spans(&self) -> impl Iterator<Item = (Span, Span)> {
        let labels = self.0.words.as_chunks().0.iter();
        labels
            .take(self.0.labels as usize)
            .map(|&[key, value]| (key, value))
    }

    fn text(&self, span: Span) -> &str {
        // The decoder knew the bytes to be UTF-8; short as they are, checking again costs little.
        str::from_utf8(self.raw(span)).unwrap_or("")
    }

    fn raw(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        let range = start..start + span.len as usize;
        self.0.buffer.get(range).unwrap_or(b"")
    }
}

impl object::Object for Object {
    fn key(&self) -> Key<'_> {
        Key::checked_before(self.key())
    }

    fn revision(&self) -> Revision {
        self.revision()
    }

    fn label(&self, key: &str) -> Option<&str> {
        let mut labels = self.label_spans();
        let found = labels.find(|(held, _)| self.raw(*held) == key.as_bytes());
        found.map(|(_, value)| self.text(value))
    }

    fn field(&self, path: &str) -> Option<&str> {
        let place = self.0.field_names.iter().position(|name| **name == *path)?;
        self.field_at(place)
    }
}

/// Two clones of one object are equal, and so are two readings of the same revision.
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.revision == other.0.revision && self.storage_key() == other.storage_key())
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.key(), self.revision())
    }
}
