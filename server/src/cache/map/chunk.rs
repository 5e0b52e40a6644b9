//! Objects that lie together in key order.

use super::row::Row;
use crate::cache::object::Object;
use crate::cache::sketch::Sketch;

/// A chunk that would grow past this is split in two.
pub(super) const CHUNK: usize = 256;

/// Objects in key order.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    row: Row,
    /// Of the objects, in their order.
    sketches: Vec<Sketch>,
    objects: Vec<Object>,
}

/// The objects are in key order.
impl From<Vec<Object>> for Chunk {
    fn from(objects: Vec<Object>) -> Self {
        Self {
            row: Row::new(objects.iter().map(Object::key_bytes)),
            sketches: objects.iter().map(Object::sketch).collect(),
            objects,
        }
    }
}

impl Chunk {
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn first(&self) -> Option<&Object> {
        self.objects.first()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Object> + Clone {
        self.objects.iter()
    }

    /// The objects from one place to another, with their sketches.
    pub(super) fn sketched(
        &self,
        from: usize,
        until: usize,
    ) -> impl Iterator<Item = (Sketch, &Object)> + Clone {
        let objects = self.objects.get(from..until).unwrap_or_default();
        let sketches = self.sketches.get(from..until).unwrap_or_default();
        sketches.iter().copied().zip(objects)
    }

    pub(super) fn at(&self, place: usize) -> Option<&Object> {
        self.objects.get(place)
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&Object> {
        self.objects.get(self.search(key).ok()?)
    }

    /// Where the object with this key is, or would be.
    pub(super) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        let key_at = |at| self.objects.get(at).map(Object::key_bytes);
        self.row.search(key, key_at)
    }

    pub(super) fn replace(&mut self, at: usize, object: Object) -> Option<Object> {
        let held = self.objects.get_mut(at)?;
        *self.sketches.get_mut(at)? = object.sketch();
        Some(std::mem::replace(held, object))
    }

    /// `at` is where [`search`](Self::search) said that the object belongs.
    pub(super) fn insert(&mut self, at: usize, object: Object) {
        let entered = self.row.insert(at, object.key_bytes());
        self.sketches.insert(at, object.sketch());
        self.objects.insert(at, object);
        if !entered {
            self.row = Row::new(self.objects.iter().map(Object::key_bytes));
        }
    }

    pub(super) fn remove(&mut self, at: usize) -> Option<Object> {
        if at >= self.len() {
            return None;
        }
        self.row.remove(at);
        self.sketches.remove(at);
        Some(self.objects.remove(at))
    }

    /// Takes the objects from `at` on away into a new chunk.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let upper = Self::from(self.objects.split_off(at));
        // What is left may share more than the row knows; it is found out when the next one does not fit.
        self.row.truncate(at);
        self.sketches.truncate(at);
        upper
    }
}
