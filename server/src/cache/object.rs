//! A cached object: its encoded bytes, and beside them what filtering asks for.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ringwatch_core::key::Key;
use ringwatch_core::object;
use ringwatch_core::revision::Revision;

/// An object as the cache keeps it. Cheap to clone: everyone who holds it shares one copy.
///
/// The bytes are the object's JSON with its resourceVersion inside, ready to be sent. Labels and
/// fields are ranges of them, found once when the object came in.
#[derive(Clone)]
pub struct Object(Arc<Inner>);

struct Inner {
    /// The key in storage; the key in the resource is its end.
    storage_key: Arc<str>,
    key_at: u32,
    bytes: Bytes,
    revision: Revision,
    create_revision: Revision,
    labels: Box<[(Words, Words)]>,
    /// The values of the resource's selectable fields, in the order of its list.
    fields: Box<[Words]>,
    field_names: Arc<[Box<str>]>,
}

/// A text that belongs to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Words {
    /// In the object's bytes.
    There(Range<u32>),
    /// Spelled with escapes there, so kept decoded.
    Here(Box<str>),
}

/// What a decoder found in a stored value.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) bytes: Bytes,
    pub(super) labels: Box<[(Words, Words)]>,
    pub(super) fields: Box<[Words]>,
}

impl Object {
    pub(super) fn new(
        storage_key: Arc<str>,
        key_at: usize,
        revisions: (Revision, Revision),
        field_names: Arc<[Box<str>]>,
        parts: Parts,
    ) -> Self {
        let (create_revision, revision) = revisions;
        Self(Arc::new(Inner {
            key_at: key_at as u32,
            storage_key,
            bytes: parts.bytes,
            revision,
            create_revision,
            labels: parts.labels,
            fields: parts.fields,
            field_names,
        }))
    }

    /// The object's JSON, resourceVersion included.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// The key under which it is stored.
    pub fn storage_key(&self) -> &Arc<str> {
        &self.0.storage_key
    }

    /// The key in its resource: `namespace/name` or `name`.
    pub fn key(&self) -> &str {
        self.0
            .storage_key
            .get(self.0.key_at as usize..)
            .unwrap_or("")
    }

    /// The revision of its last change.
    pub fn revision(&self) -> Revision {
        self.0.revision
    }

    /// The revision at which it came into being.
    pub fn create_revision(&self) -> Revision {
        self.0.create_revision
    }

    /// Its labels.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.0.labels.iter();
        labels.map(|(key, value)| (self.words(key), self.words(value)))
    }

    /// The value of the selectable field with this place in the resource's list.
    pub(super) fn field_at(&self, place: usize) -> Option<&str> {
        self.0.fields.get(place).map(|words| self.words(words))
    }

    fn words<'a>(&'a self, words: &'a Words) -> &'a str {
        // The decoder knew the bytes to be UTF-8; short as they are, checking again costs little.
        str::from_utf8(self.raw(words)).unwrap_or("")
    }

    fn raw<'a>(&'a self, words: &'a Words) -> &'a [u8] {
        match words {
            Words::There(range) => {
                let range = range.start as usize..range.end as usize;
                self.0.bytes.get(range).unwrap_or(b"")
            }
            Words::Here(text) => text.as_bytes(),
        }
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
        let mut labels = self.0.labels.iter();
        let found = labels.find(|(held, _)| self.raw(held) == key.as_bytes());
        found.map(|(_, value)| self.words(value))
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
            || (self.0.revision == other.0.revision && self.0.storage_key == other.0.storage_key)
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.key(), self.revision())
    }
}
