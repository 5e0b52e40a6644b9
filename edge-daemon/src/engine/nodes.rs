//! What a relay keeps of nodes that are not connected: enough to tell how far each had come.
//!
//! All that is needed to go on is with the node; this is for whoever looks after it. Its key is with the [policy](super::Policy).

use ringwatch_core::digest::Digest;
use ringwatch_core::link::PresharedKey;
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::{Place, Slots};
use ringwatch_core::time::Instant;

/// A node that was here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownNode {
    /// Its name's hash: names are long, and are with the policy.
    id: u64,
    /// When it was last heard.
    pub seen: Instant,
    /// Up to where it had everything.
    pub revision: Revision,
}

/// For a sleepy node the whole bill while it sleeps, its key included.
const _: () = assert!(size_of::<Place<KnownNode>>() + size_of::<PresharedKey>() <= 64);

/// A bounded table of known nodes. If it is full, the one that was away for longest is forgotten.
#[derive(Debug, Clone)]
pub struct Nodes<T> {
    places: T,
}

impl<T: Slots<Place<KnownNode>>> Nodes<T> {
    /// An empty table in these places, which are free.
    pub const fn new(places: T) -> Self {
        Self { places }
    }

    /// A node was heard.
    pub fn note(&mut self, name: &str, revision: Revision, now: Instant) {
        self.enter(KnownNode {
            id: id(name),
            seen: now,
            revision,
        });
    }

    /// What is known of a node.
    pub fn get(&self, name: &str) -> Option<&KnownNode> {
        let id = id(name);
        self.iter().find(|known| known.id == id)
    }

    /// All that are known, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &KnownNode> {
        self.places.as_ref().iter().filter_map(Place::as_ref)
    }

    /// How many places there are.
    pub fn capacity(&self) -> usize {
        self.places.as_ref().len()
    }

    fn enter(&mut self, node: KnownNode) {
        let rank = |place: &Place<KnownNode>| match place.as_ref() {
            Some(known) if known.id == node.id => (0, Instant::from_millis(0)),
            None => (1, Instant::from_millis(0)),
            Some(known) => (2, known.seen),
        };
        let places = self.places.as_mut().iter_mut();
        if let Some(place) = places.min_by_key(|place| rank(place)) {
            *place = Place::Taken(node);
        }
    }

    /// Writes the table as bytes, 24 for each node, until `out` is full; how many.
    pub fn save(&self, out: &mut [u8]) -> usize {
        let mut len = 0;
        for (place, known) in out.chunks_exact_mut(24).zip(self.iter()) {
            let numbers = [known.id, known.seen.as_millis(), known.revision.get()];
            for (place, number) in place.chunks_exact_mut(8).zip(numbers) {
                place.copy_from_slice(&number.to_le_bytes());
            }
            len += 24;
        }
        len
    }

    /// Enters what [`save`](Self::save) wrote.
    pub fn restore(&mut self, bytes: &[u8]) {
        for record in bytes.chunks_exact(24) {
            let number = |at: usize| {
                let bytes = record.get(at..at + 8).unwrap_or_default();
                u64::from_le_bytes(bytes.try_into().unwrap_or_default())
            };
            self.enter(KnownNode {
                id: number(0),
                seen: Instant::from_millis(number(8)),
                revision: Revision::new(number(16)),
            });
        }
    }
}

fn id(name: &str) -> u64 {
    Digest::of(name, Revision::ZERO).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_absent_is_forgotten_and_the_rest_survives_a_restart() {
        let at = Instant::from_millis;
        let mut nodes = Nodes::new([Place::Free; 2]);
        nodes.note("a", Revision::new(1), at(1));
        nodes.note("b", Revision::new(2), at(2));
        nodes.note("a", Revision::new(3), at(3));
        nodes.note("c", Revision::new(4), at(4));
        assert!(nodes.get("b").is_none());
        let mut bytes = [0; 100];
        let len = nodes.save(&mut bytes);
        let mut again = Nodes::new([Place::Free; 4]);
        again.restore(&bytes[..len]);
        assert_eq!(again.get("a"), nodes.get("a"));
        assert_eq!(
            again.get("c").map(|known| known.revision),
            Some(Revision::new(4))
        );
        assert_eq!(again.iter().count(), 2);
    }
}
