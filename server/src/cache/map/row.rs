//! Keys in order, made to be searched.
//!
//! What a search costs is memory that is not in a processor's cache: with each key behind its own pointer, every step is
//! a miss. Keys of neighbours begin alike, so a row notes what all of them share and keeps, of each, what follows
//! in sixteen bytes: fifteen of the key and its length. A search runs along the row. It looks at a key itself only
//! where fifteen bytes do not tell.

use std::cmp::Ordering;
use std::sync::Arc;

/// The searchable side of a list of keys; whoever owns the list keeps the keys themselves.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// What all keys begin with. A copy: the keys themselves are pointers away.
    prefix: Arc<[u8]>,
    /// What follows in each key.
    heads: Vec<u128>,
}

impl Row {
    /// A row for keys in order.
    pub(super) fn new<'a>(
        keys: impl DoubleEndedIterator<Item = &'a [u8]> + ExactSizeIterator + Clone,
    ) -> Self {
        let (Some(first), Some(last)) = (keys.clone().next(), keys.clone().next_back()) else {
            return Self::default();
        };
        // In order, so what the first and the last share is shared by all between.
        let pairs = first.iter().zip(last);
        let shared = pairs.take_while(|(one, other)| one == other).count();
        Self {
            prefix: first.get(..shared).unwrap_or_default().into(),
            heads: keys
                .map(|key| head(key.get(shared..).unwrap_or_default()))
                .collect(),
        }
    }

    /// Where a key is, or would be. `key_at` knows the keys.
    pub(super) fn search<'a>(
        &self,
        key: &[u8],
        key_at: impl Fn(usize) -> Option<&'a [u8]>,
    ) -> Result<usize, usize> {
        let Some(rest) = key.strip_prefix(&*self.prefix) else {
            // All keys begin with the prefix, so this one comes before or after all of them.
            let before = *key < *self.prefix;
            return Err(if before { 0 } else { self.heads.len() });
        };
        let head = head(rest);
        let first = self.heads.partition_point(|held| *held < head);
        if self.heads.get(first) != Some(&head) {
            return Err(first);
        }
        if is_whole(head) {
            return Ok(first);
        }
        // Keys that go on behind their heads: mostly one, but nobody promised.
        let behind = self.heads.get(first..).unwrap_or_default();
        let (mut low, mut high) = (first, first + behind.partition_point(|held| *held == head));
        while low < high {
            let middle = low.midpoint(high);
            match key_at(middle).map_or(Ordering::Greater, |held| held.cmp(key)) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Enters a key where a search said that it belongs. `false`: it does not begin like the others, and the row
    /// has to be made anew.
    #[must_use]
    pub(super) fn insert(&mut self, at: usize, key: &[u8]) -> bool {
        let rest = key.strip_prefix(&*self.prefix);
        let fits = rest.filter(|_| at <= self.heads.len());
        if let Some(rest) = fits {
            self.heads.insert(at, head(rest));
        }
        fits.is_some()
    }

    /// Takes a key out.
    pub(super) fn remove(&mut self, at: usize) {
        if at < self.heads.len() {
            self.heads.remove(at);
        }
    }

    /// Keeps the keys before `at`.
    pub(super) fn truncate(&mut self, at: usize) {
        self.heads.truncate(at);
    }
}

/// Bytes of a key in its head; the last byte of a head is for the length.
const HEAD: usize = 15;

/// The beginning of a key as a number that sorts as keys do. Where the first bytes are the same, the shorter key comes
/// first, as it should; all that are longer than a head count as equally long.
fn head(key: &[u8]) -> u128 {
    let mut head = [0; HEAD + 1];
    let len = key.len().min(HEAD);
    if let (Some(place), Some(key)) = (head.get_mut(..len), key.get(..len)) {
        place.copy_from_slice(key);
    }
    let [.., last] = &mut head;
    *last = key.len().min(HEAD + 1) as u8;
    u128::from_be_bytes(head)
}

/// Whether all of the key is in its head.
fn is_whole(head: u128) -> bool {
    let [.., len] = head.to_be_bytes();
    usize::from(len) <= HEAD
}
