//! A digest of a set of (key, revision): tells whether two hops hold the same objects.
//!
//! Each member is hashed alone (SipHash-2-4 with 64-bit output over the revision and the key) and
//! the hashes are added modulo 2⁶⁴. So a member can be added and removed in any order, in constant
//! memory, and sets with the same members have the same digest.
//!
//! **Collision bound.** Taking SipHash as a random function, two *different* sets have equal digests
//! with probability 2⁻⁶⁴ (about 5 · 10⁻²⁰) for each comparison: the difference of the two sums is
//! uniform as soon as one member is on one side only. This is against accidents. The hash key is
//! public, so a peer that may choose keys and revisions could construct a collision; the
//! link's authentication keeps such a peer out, the digest does not.
//!
//! ```
//! use ringwatch_core::{digest::Digest, revision::Revision};
//!
//! let mut here = Digest::EMPTY;
//! here.add("a/x", Revision::new(4));
//! here.add("a/y", Revision::new(9));
//!
//! let mut there = Digest::EMPTY;
//! there.add("a/y", Revision::new(9));
//! there.add("a/x", Revision::new(3));
//! assert_ne!(here, there);
//!
//! there.remove("a/x", Revision::new(3));
//! there.add("a/x", Revision::new(4));
//! assert_eq!(here, there);
//! ```

use core::fmt;
use core::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

use crate::revision::Revision;

/// The SipHash key. Part of the format: two hops agree only if they hash alike.
const HASH_KEY: [u8; 16] = *b"ringwatch-digest";

/// The digest of a set of (key, revision).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
// As small as it can be: see `Revision`.
#[repr(Rust, packed(4))]
pub struct Digest(u64);

impl From<u64> for Digest {
    fn from(bits: u64) -> Self {
        Self::from_bits(bits)
    }
}

impl From<Digest> for u64 {
    fn from(digest: Digest) -> Self {
        digest.to_bits()
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Digest {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Digest({=u64})", self.to_bits());
    }
}

impl Digest {
    /// The digest of the empty set.
    pub const EMPTY: Self = Self(0);

    /// A digest received from elsewhere.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The digest as a number, to be sent elsewhere.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Puts a member in. Adding one that is already there counts it twice.
    pub fn add(&mut self, key: &str, revision: Revision) {
        self.0 = self.0.wrapping_add(hash(key, revision));
    }

    /// The digest of the set with this one member.
    pub fn of(key: &str, revision: Revision) -> Self {
        Self(hash(key, revision))
    }

    /// The digest of both sets together, which have no member in common.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// The digest without the members of another set, all of which are in it.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }

    /// Takes a member out that was added before.
    pub fn remove(&mut self, key: &str, revision: Revision) {
        self.0 = self.0.wrapping_sub(hash(key, revision));
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.to_bits())
    }
}

/// Which of so many buckets a key belongs to, when two ends compare what they hold in parts; 0 if there are none.
pub fn bucket(key: &str, buckets: u8) -> usize {
    bucket_of(hash_key(key), buckets)
}

/// The bucket of a key with this hash.
pub(crate) fn bucket_of(hash: u64, buckets: u8) -> usize {
    hash.checked_rem(buckets.into()).unwrap_or(0) as usize
}

/// The hash by which buckets are chosen.
pub(crate) fn hash_key(key: &str) -> u64 {
    let mut hasher = SipHasher24::new_with_key(&HASH_KEY);
    hasher.write(key.as_bytes());
    hasher.finish()
}

/// Both parts as bytes in a fixed order: the revision first, since it has a fixed length and so
/// cannot be confused with the end of a key.
fn hash(key: &str, revision: Revision) -> u64 {
    let mut hasher = SipHasher24::new_with_key(&HASH_KEY);
    hasher.write(&revision.get().to_le_bytes());
    hasher.write(key.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_fixed() {
        // Computed with another implementation of SipHash-2-4. A change here would make every
        // deployed hop report a mismatch.
        let mut digest = Digest::EMPTY;
        digest.add("a/x", Revision::new(1));
        assert_eq!(digest.to_bits(), 0xba2d_20ce_4376_3f5c);
    }

    #[test]
    fn key_and_revision_cannot_be_confused() {
        let mut one = Digest::EMPTY;
        one.add("a", Revision::new(0x62));
        let mut other = Digest::EMPTY;
        other.add("ab", Revision::new(0));
        assert_ne!(one, other);
    }
}
