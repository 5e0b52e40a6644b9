//! The objects of one resource in key order, with copies of the whole that cost next to nothing.
//!
//! A list must be of one moment while writes go on. Objects are kept in [chunks](Chunk) behind shared pointers: a
//! [snapshot](ObjectMap::clone) copies the pointers to the chunks, and a later write copies only the chunk it
//! touches, once. With 150 000 objects a snapshot is some 900 pointers.
//!
//! Two levels are enough for the sizes a server has; they keep searches short, walks sequential and the code plain.

mod chunk;
mod row;

use std::num::NonZeroU32;
use std::ops::Bound;
use std::sync::Arc;

use chunk::{CHUNK, Chunk};
use row::Row;

use super::object::Object;
use super::sketch::Sketch;

/// Objects in key order. Cloning it takes a snapshot.
#[derive(Debug, Clone, Default)]
pub struct ObjectMap {
    /// None is empty, and all keys of one come before those of the next.
    chunks: Vec<Slot>,
    /// Where they begin.
    row: Row,
    len: usize,
}

/// A chunk, and what a search that passes it needs to know.
#[derive(Debug, Clone)]
struct Slot {
    /// Not after the first key, and after the last of the chunk before.
    from: Arc<[u8]>,
    chunk: Arc<Chunk>,
}

/// Where an object is in a snapshot. It means nothing to any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position(NonZeroU32);

impl Position {
    /// Before all objects of a snapshot that are still to be shown, wherever those begin.
    pub(super) const OUTSIDE: Self = Self(NonZeroU32::MAX);

    /// The place in the chunk takes eight bits, which leaves room for sixteen million chunks.
    fn new(chunk: usize, at: usize) -> Option<Self> {
        let packed = u32::try_from(chunk.checked_mul(CHUNK)?.checked_add(at)?).ok()?;
        NonZeroU32::new(packed.checked_add(1)?).map(Self)
    }

    fn parts(self) -> (usize, usize) {
        let packed = self.0.get() as usize - 1;
        (packed / CHUNK, packed % CHUNK)
    }
}

impl Slot {
    fn new(chunk: Chunk) -> Self {
        Self {
            from: chunk.first().map_or(&b""[..], Object::key_bytes).into(),
            chunk: Arc::new(chunk),
        }
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
        let slot = self.chunks.get(self.slot_of(key.as_bytes())?)?;
        slot.chunk.get(key.as_bytes())
    }

    /// Puts an object in and gives the one that had its key.
    pub fn insert(&mut self, object: Object) -> Option<Object> {
        let Some(number) = self.slot_of(object.key_bytes()) else {
            *self = Self::from_iter([object]);
            return None;
        };
        let slot = self.chunks.get_mut(number)?;
        let found = slot.chunk.search(object.key_bytes());
        let chunk = Arc::make_mut(&mut slot.chunk);
        match found {
            Ok(at) => chunk.replace(at, object),
            Err(at) => {
                let begins_earlier = at == 0;
                if begins_earlier {
                    slot.from = object.key_bytes().into();
                }
                chunk.insert(at, object);
                self.len += 1;
                if chunk.len() > CHUNK {
                    // Objects that come in key order fill chunks if the last one is split at its end.
                    let appended = at + 1 == chunk.len();
                    let upper = chunk.split_off(if appended { at } else { CHUNK / 2 });
                    self.chunks.insert(number + 1, Slot::new(upper));
                    self.align();
                } else if begins_earlier {
                    self.align();
                }
                None
            }
        }
    }

    /// Takes an object out.
    pub fn remove(&mut self, key: &str) -> Option<Object> {
        let number = self.slot_of(key.as_bytes())?;
        let slot = self.chunks.get_mut(number)?;
        let at = slot.chunk.search(key.as_bytes()).ok()?;
        let removed = Arc::make_mut(&mut slot.chunk).remove(at)?;
        if slot.chunk.len() == 0 {
            self.chunks.remove(number);
            self.row.remove(number);
        }
        self.len -= 1;
        Some(removed)
    }

    /// The objects in key order.
    pub fn iter(&self) -> impl Iterator<Item = &Object> + Clone {
        objects(&self.chunks)
    }

    /// The objects with keys from `from` on and before `until`, with their sketches.
    pub fn range(
        &self,
        from: Bound<&str>,
        until: Option<&str>,
    ) -> impl Iterator<Item = (Sketch, &Object)> + Clone + use<'_> {
        let (first, begin) = self.place_of(from);
        let end = until.map(|until| self.place_of(Bound::Included(until)));
        let (last, end) = end.unwrap_or((self.chunks.len(), 0));
        let numbered = self.chunks.iter().enumerate();
        let concerned = numbered.take(last.saturating_add(1)).skip(first);
        concerned.flat_map(move |(number, slot)| {
            let from = if number == first { begin } else { 0 };
            let until = if number == last {
                end
            } else {
                slot.chunk.len()
            };
            slot.chunk.sketched(from, until)
        })
    }

    /// The chunk and the place in it where keys from `from` on begin.
    fn place_of(&self, from: Bound<&str>) -> (usize, usize) {
        let (Bound::Included(key) | Bound::Excluded(key)) = from else {
            return (0, 0);
        };
        let number = self.slot_of(key.as_bytes()).unwrap_or(0);
        let slot = self.chunks.get(number);
        let at = slot.map_or(0, |slot| match slot.chunk.search(key.as_bytes()) {
            Ok(at) => at + usize::from(from == Bound::Excluded(key)),
            Err(at) => at,
        });
        (number, at)
    }

    /// The object at a position.
    pub fn at(&self, position: Position) -> Option<&Object> {
        let (chunk, at) = position.parts();
        self.chunks.get(chunk)?.chunk.at(at)
    }

    /// The first object with a key after `key`, and where it is.
    pub(super) fn first_after(&self, key: &str) -> Option<(Position, &Object)> {
        let (chunk, at) = self.place_of(Bound::Excluded(key));
        self.at_or_next(chunk, at)
    }

    /// The object after a position, or the first of all, and where it is.
    pub fn after(&self, position: Option<Position>) -> Option<(Position, &Object)> {
        let (chunk, at) = position.map_or((0, 0), |position| {
            let (chunk, at) = position.parts();
            (chunk, at + 1)
        });
        self.at_or_next(chunk, at)
    }

    fn at_or_next(&self, chunk: usize, at: usize) -> Option<(Position, &Object)> {
        // Chunks are not empty: the next object is in this one, or first in the next.
        [(chunk, at), (chunk + 1, 0)]
            .into_iter()
            .find_map(|(chunk, at)| {
                let object = self.chunks.get(chunk)?.chunk.at(at)?;
                Some((Position::new(chunk, at)?, object))
            })
    }

    /// The place of the chunk that holds a key, or would: the last that does not begin after it.
    fn slot_of(&self, key: &[u8]) -> Option<usize> {
        let key_at = |at| self.chunks.get(at).map(|slot: &Slot| &*slot.from);
        match self.row.search(key, key_at) {
            Ok(at) => Some(at),
            Err(_) if self.chunks.is_empty() => None,
            Err(at) => Some(at.saturating_sub(1)),
        }
    }

    /// Makes the row fit the chunks again; needed once in some hundred insertions.
    fn align(&mut self) {
        self.row = Row::new(self.chunks.iter().map(|slot| &*slot.from));
    }
}

fn objects(chunks: &[Slot]) -> impl Iterator<Item = &Object> + Clone {
    chunks.iter().flat_map(|slot| slot.chunk.iter())
}

/// Objects that come in key order.
impl FromIterator<Object> for ObjectMap {
    fn from_iter<I: IntoIterator<Item = Object>>(objects: I) -> Self {
        let mut objects = objects.into_iter();
        let mut map = Self::default();
        loop {
            let chunk: Vec<_> = objects.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                map.align();
                return map;
            }
            map.len += chunk.len();
            map.chunks.push(Slot::new(Chunk::from(chunk)));
        }
    }
}
