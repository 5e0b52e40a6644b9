//! The objects of one resource in key order, with copies of the whole that cost next to nothing.
//!
//! A list must be of one moment while writes go on. Objects are kept in chunks behind shared pointers: a
//! [snapshot](ObjectMap::clone) copies the pointers to the chunks, and a later write copies only the chunk it
//! touches, once. With 150 000 objects a snapshot is some 900 pointers.
//!
//! Two levels are enough for the sizes a server has; they keep searches short, walks sequential and the code plain. What a
//! search costs is memory that is not in a processor's cache, so keys are compared through as few pointers as
//! possible: one, to the text of the key.

use std::sync::Arc;

use super::object::Object;

/// A chunk that would grow past this is split in two.
const CHUNK: usize = 256;

/// Objects in key order. Cloning it takes a snapshot.
#[derive(Debug, Clone, Default)]
pub struct ObjectMap {
    /// None is empty, and all keys of one come before those of the next.
    chunks: Vec<Chunk>,
    len: usize,
}

/// Objects that lie together.
#[derive(Debug, Clone)]
struct Chunk {
    /// Not after the first key, and after the last of the chunk before: a search need not look into
    /// chunks that it passes.
    from: Arc<str>,
    entries: Arc<Vec<Entry>>,
}

#[derive(Debug, Clone)]
struct Entry {
    /// The object's key in storage. All of them begin alike, so they sort as the keys in the resource do.
    key: Arc<str>,
    object: Object,
}

impl Entry {
    fn new(object: Object) -> Self {
        Self {
            key: object.storage_key().clone(),
            object,
        }
    }

    /// The key in the resource, which begins at the same place in all keys.
    fn name(&self, at: usize) -> &str {
        self.key.get(at..).unwrap_or("")
    }
}

impl ObjectMap {
    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The object with this key.
    pub fn get(&self, key: &str) -> Option<&Object> {
        let chunk = self.chunks.get(self.chunk_of(key)?)?;
        let at = chunk.search(key, self.key_at()).ok()?;
        chunk.entries.get(at).map(|entry| &entry.object)
    }

    /// Puts an object in and gives the one that had its key.
    pub fn insert(&mut self, object: Object) -> Option<Object> {
        let Some(number) = self.chunk_of(object.key()) else {
            self.len += 1;
            self.chunks.push(Chunk::new(vec![Entry::new(object)]));
            return None;
        };
        let key_at = self.key_at();
        let chunk = self.chunks.get_mut(number)?;
        let found = chunk.search(object.key(), key_at);
        let entries = Arc::make_mut(&mut chunk.entries);
        match found {
            Ok(at) => {
                let held = entries.get_mut(at)?;
                Some(std::mem::replace(&mut held.object, object))
            }
            Err(at) => {
                if at == 0 {
                    chunk.from = object.storage_key().clone();
                }
                entries.insert(at, Entry::new(object));
                self.len += 1;
                if entries.len() > CHUNK {
                    // Objects that come in key order fill chunks if the last one is split at its end.
                    let appended = at + 1 == entries.len();
                    let upper = entries.split_off(if appended { at } else { CHUNK / 2 });
                    self.chunks.insert(number + 1, Chunk::new(upper));
                }
                None
            }
        }
    }

    /// Takes an object out.
    pub fn remove(&mut self, key: &str) -> Option<Object> {
        let key_at = self.key_at();
        let number = self.chunk_of(key)?;
        let chunk = self.chunks.get_mut(number)?;
        let at = chunk.search(key, key_at).ok()?;
        let removed = Arc::make_mut(&mut chunk.entries).remove(at);
        if chunk.entries.is_empty() {
            self.chunks.remove(number);
        }
        self.len -= 1;
        Some(removed.object)
    }

    /// The objects in key order.
    pub fn iter(&self) -> impl Iterator<Item = &Object> + Clone {
        objects(&self.chunks)
    }

    /// The objects whose keys come after `key`, or are `key` itself if `inclusive`.
    pub fn from(
        &self,
        key: &str,
        inclusive: bool,
    ) -> impl Iterator<Item = &Object> + Clone + use<'_> {
        let number = self.chunk_of(key).unwrap_or(0);
        let chunk = self.chunks.get(number);
        let at = chunk.map_or(0, |chunk| match chunk.search(key, self.key_at()) {
            Ok(at) if inclusive => at,
            Ok(at) => at + 1,
            Err(at) => at,
        });
        objects(self.chunks.get(number..).unwrap_or_default()).skip(at)
    }

    /// The chunk that holds a key, or would: the last that does not begin after it.
    fn chunk_of(&self, key: &str) -> Option<usize> {
        let key_at = self.key_at();
        let begins = |chunk: &Chunk| chunk.from.get(key_at..).unwrap_or("") <= key;
        match self.chunks.partition_point(begins).checked_sub(1) {
            None if self.chunks.is_empty() => None,
            None => Some(0),
            found => found,
        }
    }

    /// Where in a storage key the key in the resource begins; the same for all objects of one resource.
    fn key_at(&self) -> usize {
        let first = self.chunks.first().and_then(|chunk| chunk.entries.first());
        first.map_or(0, |entry| entry.key.len() - entry.object.key().len())
    }
}

impl Chunk {
    /// `entries` is not empty.
    fn new(entries: Vec<Entry>) -> Self {
        Self {
            from: entries
                .first()
                .map_or_else(|| "".into(), |first| first.key.clone()),
            entries: Arc::new(entries),
        }
    }

    fn search(&self, key: &str, key_at: usize) -> Result<usize, usize> {
        self.entries
            .binary_search_by(|entry| entry.name(key_at).cmp(key))
    }
}

fn objects(chunks: &[Chunk]) -> impl Iterator<Item = &Object> + Clone {
    let entries = chunks.iter().flat_map(|chunk| chunk.entries.iter());
    entries.map(|entry| &entry.object)
}

/// Objects that come in key order.
impl FromIterator<Object> for ObjectMap {
    fn from_iter<I: IntoIterator<Item = Object>>(objects: I) -> Self {
        let mut map = Self::default();
        objects.into_iter().for_each(|object| {
            map.insert(object);
        });
        map
    }
}
