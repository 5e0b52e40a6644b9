//! Random bytes that are the same in every run, so that a failure can be repeated.

/// Marsaglia's xorshift64*: small, fast, and good enough to shake a decoder.
///
/// ```
/// use ringwatch_tests::random::Random;
///
/// assert_eq!(Random::new(1).bytes(16), Random::new(1).bytes(16));
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A sequence chosen by `seed`.
    pub fn new(seed: u64) -> Self {
        // The state must not be 0, which is its own successor.
        Self {
            state: seed.wrapping_add(0x9e37_79b9_7f4a_7c15).max(1),
        }
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    ///
    /// # Panics
    ///
    /// If `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The upper half is the better one; the bias of the remainder does not matter here.
        (self.number() >> 32) as usize % bound
    }

    /// Between none and `longest` bytes.
    pub fn bytes(&mut self, longest: usize) -> Vec<u8> {
        let length = self.below(longest + 1);
        (0..length)
            .map(|_| self.number().to_be_bytes()[0])
            .collect()
    }
}
