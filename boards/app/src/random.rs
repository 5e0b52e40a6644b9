//! Random bytes for sessions.
//!
//! A board without a source of randomness has 32 random bytes that it was given with its settings, and counts how often it has started. Hashed
//! together with a counter they never give the same twice, and nobody who does not know the bytes can foresee any. A board with a source mixes it in.

use ringwatch_core::link::Seed;
use sha2::{Digest, Sha256};

/// Gives out random bytes.
#[derive(Clone)]
pub struct Random {
    state: [u8; 32],
    given: u64,
}

impl Random {
    /// Nothing that is random: the place of one that is made later.
    pub const UNSET: Self = Self {
        state: [0; 32],
        given: 0,
    };

    /// From what the board was given, how often it has started (never twice the same), and whatever else is not known to others: the time that something took, or
    /// what the hardware says.
    pub fn new(seed: [u8; 32], boot: u32, more: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(seed);
        hash.update(boot.to_le_bytes());
        hash.update(more);
        Self {
            state: hash.finalize().into(),
            given: 0,
        }
    }

    /// The next 32 bytes.
    pub fn bytes(&mut self) -> [u8; 32] {
        self.given += 1;
        let mut hash = Sha256::new();
        hash.update(self.state);
        hash.update(self.given.to_le_bytes());
        hash.finalize().into()
    }

    /// A seed for one session.
    pub fn seed(&mut self) -> Seed {
        Seed::new(self.bytes())
    }

    /// A number.
    pub fn number(&mut self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

impl core::fmt::Debug for Random {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Random(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_given_twice() {
        let mut given = std::collections::BTreeSet::new();
        for boot in 0..10 {
            let mut random = Random::new([1; 32], boot, &[]);
            (0..10).for_each(|_| assert!(given.insert(random.bytes())));
        }
        assert!(given.insert(Random::new([2; 32], 0, &[]).bytes()));
        assert!(given.insert(Random::new([1; 32], 0, &[0]).bytes()));
    }
}
