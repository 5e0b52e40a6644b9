//! From a stored value to a cached object.

use std::fmt;
use std::sync::Arc;

use ringwatch_core::json::line::{RevisionSpot, Spliced, SpotError};
use ringwatch_core::json::{Limits, Path, PathError, ScanError, Text, Value, scan};
use ringwatch_core::key::{Key, KeyError};
use ringwatch_core::revision::Revision;

use smallvec::{SmallVec, smallvec};

use super::object::{Object, Parts, Span};
use super::term::TermHasher;
use crate::storage::{Condition, KeyValue};

/// What a resource's values are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// JSON objects with Kubernetes metadata. The resourceVersion is put in as they are read.
    Json {
        /// What field selectors may name, besides name and namespace.
        fields: Vec<FieldSource>,
    },
    /// The same, put into another form before they are read.
    Adapted {
        /// What field selectors may name, besides name and namespace.
        fields: Vec<FieldSource>,
        /// Who puts them into that form.
        adapter: Adapter,
    },
    /// Anything: passed on as it is, without labels and fields.
    Opaque,
}

/// Puts stored values into the form in which they are read. If that form changes, the cache must be
/// [read again](super::Cache::read_again).
pub trait Adapt: Send + Sync {
    /// The value in that form; `None` if it has it.
    fn adapt(&self, value: &[u8]) -> Option<Vec<u8>>;
}

/// A shared [`Adapt`]; one is equal to itself.
#[derive(Clone)]
pub struct Adapter(pub Arc<dyn Adapt>);

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Adapter")
    }
}

impl PartialEq for Adapter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Adapter {}

impl Format {
    /// JSON objects whose selectable fields are called by their paths.
    pub fn json<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let fields = paths.into_iter().map(|path| FieldSource {
            name: path.to_owned(),
            path: Some(path.to_owned()),
            absent: String::new(),
        });
        Self::Json {
            fields: fields.collect(),
        }
    }
}

/// Where the value of a name in field selectors comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSource {
    /// The name.
    pub name: String,
    /// Where in an object its value is; `None` if no object has it.
    pub path: Option<String>,
    /// The value for an object that has none there: objects leave out what is false or 0, selectors do not.
    pub absent: String,
}

/// Turns stored values of one resource into objects.
#[derive(Debug, Clone)]
pub struct Decoder {
    /// What every key of the resource begins with, `/` at the end included.
    prefix: Arc<str>,
    json: bool,
    adapter: Option<Adapter>,
    /// The names of the selectable fields, as every object knows them.
    fields: Arc<[Box<str>]>,
    sources: Arc<[FieldSource]>,
    terms: TermHasher,
}

impl Decoder {
    /// A decoder for the values under `prefix`.
    pub fn new(prefix: impl Into<Arc<str>>, format: &Format) -> Result<Self, PathError> {
        let (json, fields, adapter) = match format {
            Format::Json { fields } => (true, fields.as_slice(), None),
            Format::Adapted { fields, adapter } => (true, fields.as_slice(), Some(adapter.clone())),
            Format::Opaque => (false, &[][..], None),
        };
        for path in fields.iter().filter_map(|field| field.path.as_deref()) {
            Path::parse(path)?;
        }
        let names = fields.iter().map(|field| field.name.as_str().into());
        Ok(Self {
            prefix: prefix.into(),
            json,
            adapter,
            fields: names.collect(),
            sources: fields.into(),
            terms: TermHasher::new(),
        })
    }

    /// What every key begins with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The names of the selectable fields.
    pub fn fields(&self) -> &Arc<[Box<str>]> {
        &self.fields
    }

    /// What hashes the terms of the objects.
    pub(super) fn term_hasher(&self) -> TermHasher {
        self.terms
    }

    /// Begins to decode. What can be prepared for many values is prepared once.
    pub fn session(&self) -> Session<'_> {
        let mut paths = Vec::with_capacity(WELL_KNOWN.len() + self.fields.len());
        paths.extend(WELL_KNOWN);
        // Checked when the decoder was made.
        let sources = self
            .sources
            .iter()
            .filter_map(|source| source.path.as_deref());
        paths.extend(sources.flat_map(Path::parse));
        Session {
            decoder: self,
            paths,
        }
    }
}

/// A run of values being decoded.
#[derive(Debug)]
pub struct Session<'a> {
    decoder: &'a Decoder,
    paths: Vec<Path<'a>>,
}

impl Session<'_> {
    /// The object that a key and its value are.
    pub fn decode(&self, stored: KeyValue) -> Result<Object, Undecodable> {
        let decoder = self.decoder;
        let KeyValue {
            key,
            value,
            mod_revision,
            create_revision,
            condition,
        } = stored;
        let fail = |why| Undecodable {
            key: key.clone(),
            why,
        };
        if condition == Condition::Corrupt {
            return Err(fail(Why::Corrupt));
        }
        let Some(name) = key.strip_prefix(&*decoder.prefix) else {
            return Err(fail(Why::Foreign));
        };
        let revisions = (create_revision, mod_revision);
        let parts = if decoder.json {
            Key::parse(name).map_err(|error| fail(Why::Key(error)))?;
            let keys = (&*key, name);
            let adapter = decoder.adapter.as_ref();
            let adapted = adapter.and_then(|adapter| adapter.0.adapt(&value));
            let value = adapted.as_deref().unwrap_or(&value);
            self.read_json(value, keys, mod_revision).map_err(fail)?
        } else {
            let mut buffer = Vec::with_capacity(value.len() + key.len());
            buffer.extend_from_slice(&value);
            Parts {
                key_from: buffer.len(),
                name: append_keys(&mut buffer, (&key, name)),
                buffer,
                spot: None,
                labels: 0,
                words: SmallVec::new(),
            }
        };
        let fields = decoder.fields.clone();
        Ok(Object::new(revisions, fields, decoder.terms, parts))
    }

    /// One scan finds everything; the bytes are then copied once, with the resourceVersion in its
    /// place, and what was found is moved along. `keys` are those in storage and in the resource.
    fn read_json(
        &self,
        value: &[u8],
        keys: (&str, &str),
        revision: Revision,
    ) -> Result<Parts, Why> {
        let mut found: SmallVec<[_; 8]> = smallvec![None; self.paths.len()];
        scan(value, &Limits::default(), &self.paths, &mut found).map_err(Why::Json)?;
        let [metadata, version, labels, fields @ ..] = &*found else {
            return Err(Why::Corrupt);
        };
        let spot = RevisionSpot::from_values(value, *metadata, *version).map_err(Why::Spot)?;
        let spliced = spot.splice(value, revision);

        let mut buffer = Vec::with_capacity(spliced.len() + keys.0.len());
        spliced
            .pieces()
            .for_each(|piece| buffer.extend_from_slice(piece));
        let key_from = buffer.len();
        let name = append_keys(&mut buffer, keys);
        let mut finder = Finder {
            source: value,
            spliced: &spliced,
            buffer,
        };
        let mut words = SmallVec::new();
        for (key, value) in labels.iter().flat_map(Value::entries) {
            if let Some(value) = value.as_text() {
                words.push(finder.text(key));
                words.push(finder.text(value));
            }
        }
        let labels = words.len() / 2;
        let mut fields = fields.iter();
        for source in &*self.decoder.sources {
            let value = source.path.as_ref().and_then(|_| fields.next());
            words.push(finder.field(value.copied().flatten(), &source.absent));
        }
        Ok(Parts {
            buffer: finder.buffer,
            key_from,
            name,
            spot: spliced.spot(),
            labels,
            words,
        })
    }
}

/// Puts the key in storage behind the bytes, and says where in it the key in the resource is.
fn append_keys(buffer: &mut Vec<u8>, (key, name): (&str, &str)) -> Span {
    buffer.extend_from_slice(key.as_bytes());
    Span::new(buffer.len() - name.len(), name.len())
}

const WELL_KNOWN: [Path<'static>; 3] = {
    let [metadata, version] = RevisionSpot::PATHS;
    match Path::parse("metadata.labels") {
        Ok(labels) => [metadata, version, labels],
        Err(_) => panic!("a good path"),
    }
};

/// Says where texts of a scanned value are in the object's buffer, and adds those that are spelled with escapes.
struct Finder<'a> {
    source: &'a [u8],
    spliced: &'a Spliced<'a>,
    buffer: Vec<u8>,
}

impl Finder<'_> {
    fn text(&mut self, text: Text<'_>) -> Span {
        match text.plain() {
            Some(plain) => self.there(plain),
            None => {
                let start = self.buffer.len();
                text.chars().for_each(|char| {
                    let mut place = [0; 4];
                    let encoded = char.encode_utf8(&mut place);
                    self.buffer.extend_from_slice(encoded.as_bytes());
                });
                Span::new(start, self.buffer.len() - start)
            }
        }
    }

    /// A field as selectors compare it: texts decoded, the rest as it is written.
    fn field(&mut self, value: Option<Value<'_>>, absent: &str) -> Span {
        match value.filter(|value| !value.is_null()) {
            None if absent.is_empty() => Span::new(0, 0),
            None => {
                self.buffer.extend_from_slice(absent.as_bytes());
                Span::new(self.buffer.len() - absent.len(), absent.len())
            }
            Some(value) => match value.as_text() {
                Some(text) => self.text(text),
                None => self.there(value.raw()),
            },
        }
    }

    /// `part` is a slice of the source, so the difference of the addresses is where it begins.
    fn there(&self, part: &str) -> Span {
        let start = part
            .as_ptr()
            .addr()
            .wrapping_sub(self.source.as_ptr().addr());
        Span::new(self.spliced.moved(start), part.len())
    }
}

/// A stored value that is no object. It is left out of what is served, and told about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// Its key in storage.
    pub key: Arc<str>,
    /// What is wrong with it.
    pub why: Why,
}

/// Why a stored value is no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The storage's transformer could not read it.
    Corrupt,
    /// The key does not belong to the resource.
    Foreign,
    /// The key cannot be one of an object.
    Key(KeyError),
    /// It is not a JSON object.
    Json(ScanError),
    /// Its metadata cannot be what it is.
    Spot(SpotError),
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.key)?;
        match self.why {
            Why::Corrupt => f.write_str("cannot be decrypted"),
            Why::Foreign => f.write_str("does not belong to this resource"),
            Why::Key(error) => error.fmt(f),
            Why::Json(error) => error.fmt(f),
            Why::Spot(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Undecodable {}
