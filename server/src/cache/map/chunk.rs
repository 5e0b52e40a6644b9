//! Objects that lie together in key order, made to be searched.
//!
//! What a search costs is memory that is not in a processor's cache: with each key behind its own pointer, every step is
//! a miss. Keys of neighbours begin alike, so a chunk notes how much all of them share and keeps, of
//! each, the sixteen bytes behind that in one row. A search runs along the row and looks at a key itself only to
//! confirm, or where sixteen bytes do not tell.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::cache::object::Object;

/// A chunk that would grow past this is split in two.
pub(super) const CHUNK: usize = 256;

/// Objects in key order.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    /// What the keys of all objects begin with. A copy: the keys themselves are two pointers further away.
    prefix: Arc<[u8]>,
    /// What follows in each key.
    heads: Vec<u128>,
    objects: Vec<Object>,
}

/// The objects are in key order.
impl From<Vec<Object>> for Chunk {
    fn from(objects: Vec<Object>) -> Self {
        let mut chunk = Self {
            prefix: Arc::default(),
            heads: Vec::new(),
            objects,
        };
        chunk.measure();
        chunk
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

    pub(super) fn get(&self, key: &[u8]) -> Option<&Object> {
        self.objects.get(self.search(key).ok()?)
    }

    /// Where the object with this key is, or would be.
    pub(super) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        let Some(rest) = key.strip_prefix(&*self.prefix) else {
            // All keys begin with the prefix, so this one comes before or after all of them.
            return Err(if *key < *self.prefix { 0 } else { self.len() });
        };
        let head = head(rest);
        let begin = self.heads.partition_point(|held| *held < head);
        let mut at = begin;
        // Mostly one step: to the key itself, or to one that is larger.
        while self.heads.get(at) == Some(&head) {
            let Some(object) = self.objects.get(at) else {
                break;
            };
            match object.key_bytes().cmp(key) {
                Ordering::Less if at > begin + LOOK => return self.search_by_key(at, key),
                Ordering::Less => at += 1,
                Ordering::Equal => return Ok(at),
                Ordering::Greater => break,
            }
        }
        Err(at)
    }

    pub(super) fn replace(&mut self, at: usize, object: Object) -> Option<Object> {
        let held = self.objects.get_mut(at)?;
        Some(std::mem::replace(held, object))
    }

    /// `at` is where [`search`](Self::search) said that the object belongs.
    pub(super) fn insert(&mut self, at: usize, object: Object) {
        let head = object.key_bytes().strip_prefix(&*self.prefix).map(head);
        self.objects.insert(at, object);
        match head {
            Some(head) => self.heads.insert(at, head),
            None => self.measure(),
        }
    }

    pub(super) fn remove(&mut self, at: usize) -> Option<Object> {
        if at >= self.len() {
            return None;
        }
        self.heads.remove(at);
        Some(self.objects.remove(at))
    }

    /// Takes the objects from `at` on away into a new chunk.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let upper = Self::from(self.objects.split_off(at));
        self.measure();
        upper
    }

    /// Finds out again what is shared.
    fn measure(&mut self) {
        let (Some(first), Some(last)) = (self.objects.first(), self.objects.last()) else {
            return;
        };
        // In order, so what the first and the last share is shared by all between.
        let (first, last) = (first.key_bytes(), last.key_bytes());
        let shared = common(first, last);
        let rest = |object: &Object| head(object.key_bytes().get(shared..).unwrap_or(b""));
        self.heads = self.objects.iter().map(rest).collect();
        self.prefix = first.get(..shared).unwrap_or_default().into();
    }

    /// Goes on by whole keys where many heads are equal.
    fn search_by_key(&self, from: usize, key: &[u8]) -> Result<usize, usize> {
        let rest = self.objects.get(from..).unwrap_or_default();
        let found = rest.binary_search_by(|object| object.key_bytes().cmp(key));
        found.map(|at| from + at).map_err(|at| from + at)
    }
}

/// How many equal heads are looked at one by one.
const LOOK: usize = 4;

/// The first sixteen bytes as a number that sorts as they do.
fn head(key: &[u8]) -> u128 {
    let mut head = [0; 16];
    let len = key.len().min(head.len());
    if let (Some(place), Some(key)) = (head.get_mut(..len), key.get(..len)) {
        place.copy_from_slice(key);
    }
    u128::from_be_bytes(head)
}

/// How many bytes two keys begin alike.
fn common(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.iter().zip(other);
    pairs.take_while(|(one, other)| one == other).count()
}
