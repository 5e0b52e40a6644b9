//! The objects of one resource in key order, with copies of the whole that cost next to nothing.
//!
//! A list must be of one moment while writes go on. Objects are kept in chunks behind shared pointers: a
//! [snapshot](ObjectMap::clone) copies the pointers to the chunks, and a later write copies only the chunk it
//! touches, once. With 150 000 objects a snapshot is some 900 pointers.
//!
//! Two levels are enough for the sizes a server has; they keep searches short, walks sequential and the code plain.

use std::sync::Arc;

use super::object::Object;

/// A chunk that would grow past this is split in two.
const CHUNK: usize = 256;

/// Objects in key order. Cloning it takes a snapshot.
#[derive(Debug, Clone, Default)]
pub struct ObjectMap {
    /// None is empty, and all keys of one come before those of the next.
    chunks: Vec<Arc<Vec<Object>>>,
    len: usize,
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
        search(chunk, key).ok().and_then(|at| chunk.get(at))
    }

    /// Puts an object in and gives the one that had its key.
    pub fn insert(&mut self, object: Object) -> Option<Object> {
        let Some(number) = self.chunk_of(object.key()) else {
            self.len += 1;
            self.chunks.insert(0, Arc::new(vec![object]));
            return None;
        };
        let chunk = self.chunks.get_mut(number).map(Arc::make_mut)?;
        match search(chunk, object.key()) {
            Ok(at) => chunk
                .get_mut(at)
                .map(|held| std::mem::replace(held, object)),
            Err(at) => {
                chunk.insert(at, object);
                self.len += 1;
                if chunk.len() > CHUNK {
                    // Objects that come in key order fill chunks if the last one is split at its end.
                    let appended = at + 1 == chunk.len();
                    let upper = chunk.split_off(if appended { at } else { CHUNK / 2 });
                    self.chunks.insert(number + 1, Arc::new(upper));
                }
                None
            }
        }
    }

    /// Takes an object out.
    pub fn remove(&mut self, key: &str) -> Option<Object> {
        let number = self.chunk_of(key)?;
        let chunk = self.chunks.get_mut(number)?;
        let at = search(chunk, key).ok()?;
        let removed = Arc::make_mut(chunk).remove(at);
        if chunk.is_empty() {
            self.chunks.remove(number);
        }
        self.len -= 1;
        Some(removed)
    }

    /// The objects in key order.
    pub fn iter(&self) -> impl Iterator<Item = &Object> + Clone {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// The objects whose keys come after `key`, or are `key` itself if `inclusive`.
    pub fn from(
        &self,
        key: &str,
        inclusive: bool,
    ) -> impl Iterator<Item = &Object> + Clone + use<'_> {
        let number = self.chunk_of(key).unwrap_or(0);
        let at = self
            .chunks
            .get(number)
            .map_or(0, |chunk| match search(chunk, key) {
                Ok(at) if inclusive => at,
                Ok(at) => at + 1,
                Err(at) => at,
            });
        let chunks = self.chunks.get(number..).unwrap_or_default().iter();
        chunks.flat_map(|chunk| chunk.iter()).skip(at)
    }

    /// The chunk that holds a key, or would: the last that does not begin after it.
    fn chunk_of(&self, key: &str) -> Option<usize> {
        let after = self
            .chunks
            .partition_point(|chunk| chunk.first().is_some_and(|first| first.key() <= key));
        match after.checked_sub(1) {
            None if self.chunks.is_empty() => None,
            None => Some(0),
            found => found,
        }
    }
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

fn search(chunk: &[Object], key: &str) -> Result<usize, usize> {
    chunk.binary_search_by(|object| object.key().cmp(key))
}
