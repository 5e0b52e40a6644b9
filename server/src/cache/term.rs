//! What a selector can demand of an object, as a number that is made once.
//!
//! The index of watchers and the sketches of objects both ask which labels and fields an object has, and texts are slow to
//! ask: they lie behind pointers, and of an object that is being replaced they have left the processor's cache. So
//! each label and each selectable field is hashed when its object is decoded. Two that meet by accident cost a look and nothing
//! else: whoever is found by a hash still compares texts.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

/// Keyed anew in every process: nobody outside can aim at one place of a table.
static KEY: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));

/// What a label, a field, a key or a namespace hashes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TermHash(u64);

impl TermHash {
    /// The part that tables go by.
    pub(super) fn low(self) -> u32 {
        self.0 as u32
    }

    /// Two bits of 64, from the part that tables do not go by.
    pub(super) fn bits(self) -> u64 {
        1 << (self.0 >> 58) | 1 << (self.0 >> 52 & 63)
    }
}

/// Hashes terms. All of a process hash alike.
#[derive(Debug, Clone, Copy)]
pub(super) struct TermHasher {
    key: u64,
}

impl TermHasher {
    pub(super) fn new() -> Self {
        Self { key: *KEY }
    }

    /// What everything has.
    pub(super) fn anything(self) -> TermHash {
        self.text(0, b"")
    }

    /// An object's key in its resource.
    pub(super) fn key(self, key: &str) -> TermHash {
        self.text(1, key.as_bytes())
    }

    pub(super) fn namespace(self, name: &str) -> TermHash {
        self.text(2, name.as_bytes())
    }

    pub(super) fn label(self, label: &[u8], value: &[u8]) -> TermHash {
        let TermHash(label) = self.text(3, label);
        self.text(label, value)
    }

    /// A value of the selectable field with this place in the resource's list.
    pub(super) fn field(self, place: usize, value: &[u8]) -> TermHash {
        self.text(4 + place as u64, value)
    }

    /// Words of eight bytes, each mixed in by a multiplication whose halves are folded together.
    fn text(self, seed: u64, bytes: &[u8]) -> TermHash {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        let start = fold(self.key ^ seed, bytes.len() as u64 ^ ODD);
        let hash = words.iter().chain([&last]).fold(start, |hash, word| {
            fold(hash ^ u64::from_le_bytes(*word), self.key | 1)
        });
        TermHash(fold(hash, ODD))
    }
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn terms_that_differ_hash_apart() {
        let hasher = TermHasher::new();
        let mut terms = vec![hasher.anything()];
        for number in 0..20_000 {
            let name = format!("node-{number:06}");
            let bytes = name.as_bytes();
            terms.extend([
                hasher.key(&name),
                hasher.namespace(&name),
                hasher.field(0, bytes),
                hasher.field(1, bytes),
                hasher.label(b"node", bytes),
                hasher.label(bytes, b"node"),
            ]);
        }
        let distinct: HashSet<_> = terms.iter().map(|term| term.0).collect();
        assert_eq!(distinct.len(), terms.len());
        // By chance, two of so many share their low half.
        let low: HashSet<_> = terms.iter().map(|term| term.low()).collect();
        assert!(low.len() + 20 > terms.len(), "{}", low.len());
    }

    #[test]
    fn what_is_cut_differently_hashes_apart() {
        let hasher = TermHasher::new();
        assert_ne!(hasher.label(b"ab", b"c"), hasher.label(b"a", b"bc"));
        assert_ne!(hasher.field(0, b""), hasher.field(0, b"\0"));
        assert_ne!(hasher.field(0, &[0; 7]), hasher.field(0, &[0; 8]));
    }
}
