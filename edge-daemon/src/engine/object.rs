//! An object as a relay keeps it: one run of bytes that is never changed.
//!
//! ```text
//!   revision u64 │ key length u16 │ labels length u16 │ key │ labels │ JSON
//!                                                        each: key length u16, value length u16, key, value
//! ```
//!
//! Labels are taken out once, decoded, because every selector asks for them. Fields are looked up in the JSON when a selector names one,
//! which is rare; so any path can be selected by.

use core::str;

use ringwatch_core::json::{Limits, Path, Value, scan};
use ringwatch_core::key::{Key, MAX_KEY_LEN};
use ringwatch_core::link::serve::Content;
use ringwatch_core::object;
use ringwatch_core::revision::Revision;

/// Bytes that are written once and then only read. Cloning is cheap, or the bytes are few.
pub trait Bytes: AsRef<[u8]> + Clone {
    /// The most bytes that there can be.
    const LONGEST: usize;

    /// `len` bytes, filled in by `fill`; `None` if they are too many, or if there is no room now.
    fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Option<Self>;
}

impl<const N: usize> Bytes for heapless::Vec<u8, N> {
    const LONGEST: usize = N;

    fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Option<Self> {
        let mut bytes = Self::new();
        bytes.resize(len, 0).ok()?;
        fill(&mut bytes);
        Some(bytes)
    }
}

#[cfg(feature = "linux")]
impl Bytes for std::sync::Arc<[u8]> {
    const LONGEST: usize = usize::MAX;

    fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Option<Self> {
        let mut bytes: Self = core::iter::repeat_n(0, len).collect();
        fill(Self::get_mut(&mut bytes)?);
        Some(bytes)
    }
}

/// An object in bytes of the caller's choice.
#[derive(Debug, Clone)]
pub struct Object<B> {
    bytes: B,
}

/// Why something cannot be kept as an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectError {
    /// It is not a JSON object, or its metadata is not what metadata is.
    Malformed,
    /// It is longer than anything that is kept.
    TooLarge,
    /// There is no room for it now.
    NoRoom,
}

/// Where an object lives and since when: what Kubernetes says in its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Namespace and name.
    pub key: heapless::String<MAX_KEY_LEN>,
    /// Its resourceVersion.
    pub revision: Revision,
}

impl Place {
    /// Reads the metadata of an object.
    pub fn of(json: &[u8]) -> Result<Self, ObjectError> {
        const PATHS: [&str; 3] = [
            "metadata.namespace",
            "metadata.name",
            "metadata.resourceVersion",
        ];
        let [namespace, name, version] = find(json, PATHS)?;
        let mut key = heapless::String::new();
        let malformed = ObjectError::Malformed;
        if let Some(namespace) = namespace.filter(|value| !value.is_null()) {
            append(&mut key, namespace).ok_or(malformed)?;
            key.push('/').map_err(|_| malformed)?;
        }
        name.and_then(|name| append(&mut key, name))
            .ok_or(malformed)?;
        let version = version.and_then(|version| version.as_text()?.plain());
        let revision = version.and_then(|text| text.parse().ok());
        Ok(Self {
            key,
            revision: revision.ok_or(malformed)?,
        })
    }
}

fn append<const N: usize>(key: &mut heapless::String<N>, value: Value<'_>) -> Option<()> {
    let mut letters = value.as_text()?.chars();
    letters.try_for_each(|letter| key.push(letter)).ok()
}

/// The values at some paths.
fn find<'a, const N: usize>(
    json: &'a [u8],
    paths: [&str; N],
) -> Result<[Option<Value<'a>>; N], ObjectError> {
    let malformed = ObjectError::Malformed;
    let mut parsed = heapless::Vec::<Path<'_>, N>::new();
    for path in paths {
        let path = Path::parse(path).map_err(|_| malformed)?;
        parsed.push(path).map_err(|_| malformed)?;
    }
    let mut found = [None; N];
    scan(json, &Limits::default(), &parsed, &mut found).map_err(|_| malformed)?;
    Ok(found)
}

const HEAD: usize = 12;

impl<B: Bytes> Object<B> {
    /// An object that lives at `key`, as of `revision`.
    pub fn new(key: &str, revision: Revision, json: &[u8]) -> Result<Self, ObjectError> {
        Key::parse(key).map_err(|_| ObjectError::Malformed)?;
        let [labels] = find(json, ["metadata.labels"])?;
        // A label that is no text is none.
        let labels = || {
            let entries = labels.iter().flat_map(Value::entries);
            entries.filter_map(|(name, value)| Some((name, value.as_text()?)))
        };
        let labels_len = labels().map(|(name, value)| 4 + name.len() + value.len());
        let labels_len: usize = labels_len.sum();
        let key_short = u16::try_from(key.len()).map_err(|_| ObjectError::TooLarge)?;
        let labels_short = u16::try_from(labels_len).map_err(|_| ObjectError::TooLarge)?;
        let len = HEAD + key.len() + labels_len + json.len();
        if len > B::LONGEST {
            return Err(ObjectError::TooLarge);
        }
        let bytes = B::build(len, |bytes| {
            let mut rest = bytes;
            put(&mut rest, &revision.get().to_le_bytes());
            put(&mut rest, &key_short.to_le_bytes());
            put(&mut rest, &labels_short.to_le_bytes());
            put(&mut rest, key.as_bytes());
            for (name, value) in labels() {
                put(&mut rest, &(name.len() as u16).to_le_bytes());
                put(&mut rest, &(value.len() as u16).to_le_bytes());
                for text in [name, value] {
                    let all = core::mem::take(&mut rest);
                    if let Some((place, after)) = all.split_at_mut_checked(text.len()) {
                        // It has the room that it says it needs.
                        let _ = text.copy_to(place);
                        rest = after;
                    }
                }
            }
            put(&mut rest, json);
        });
        Ok(Self {
            bytes: bytes.ok_or(ObjectError::NoRoom)?,
        })
    }

    /// Its revision, for where a path is wanted.
    pub(super) fn revision_of(object: &Self) -> Revision {
        object::Object::revision(object)
    }

    /// How many bytes it takes.
    pub fn size(&self) -> usize {
        self.bytes.as_ref().len()
    }

    fn part(&self, start: usize, end: usize) -> &[u8] {
        self.bytes.as_ref().get(start..end).unwrap_or_default()
    }

    fn short(&self, at: usize) -> usize {
        let bytes = self.part(at, at + 2).try_into().unwrap_or_default();
        u16::from_le_bytes(bytes).into()
    }

    fn labels(&self) -> &[u8] {
        let start = HEAD + self.short(8);
        self.part(start, start + self.short(10))
    }
}

/// Writes to the front of what is left.
fn put(rest: &mut &mut [u8], bytes: &[u8]) {
    if let Some((place, after)) = core::mem::take(rest).split_at_mut_checked(bytes.len()) {
        place.copy_from_slice(bytes);
        *rest = after;
    }
}

impl<B: Bytes> object::Object for Object<B> {
    fn key(&self) -> Key<'_> {
        let bytes = self.part(HEAD, HEAD + self.short(8));
        Key::checked_before(str::from_utf8(bytes).unwrap_or_default())
    }

    fn revision(&self) -> Revision {
        let bytes = self.part(0, 8).try_into().unwrap_or_default();
        Revision::new(u64::from_le_bytes(bytes))
    }

    fn label(&self, key: &str) -> Option<&str> {
        let mut rest = self.labels();
        while let Some((head, after)) = rest.split_at_checked(4) {
            let [a, b, c, d] = *head else { return None };
            let name_len = usize::from(u16::from_le_bytes([a, b]));
            let value_len = usize::from(u16::from_le_bytes([c, d]));
            let (name, after) = after.split_at_checked(name_len)?;
            let (value, after) = after.split_at_checked(value_len)?;
            if name == key.as_bytes() {
                return str::from_utf8(value).ok();
            }
            rest = after;
        }
        None
    }

    fn field(&self, path: &str) -> Option<&str> {
        let [value] = find(self.json(), [path]).ok()?;
        let value = value.filter(|value| !value.is_null())?;
        match value.as_text() {
            Some(text) => text.plain(),
            None => Some(value.raw()),
        }
    }
}

impl<B: Bytes> Content for Object<B> {
    fn json(&self) -> &[u8] {
        let start = HEAD + self.short(8) + self.short(10);
        self.bytes.as_ref().get(start..).unwrap_or_default()
    }
}
