//! What the fuzz input reader and the random bytes promise to the harnesses built on them.

use proptest::prelude::*;
use ringwatch_tests::{input::Input, random::Random};

proptest! {
    #[test]
    fn pieces_put_together_are_the_input(data: Vec<u8>, lengths: Vec<u8>) {
        let mut input = Input::new(&data);
        let mut pieces = Vec::new();
        for length in lengths {
            pieces.extend_from_slice(input.bytes(length.into()));
        }
        pieces.extend_from_slice(input.bytes(usize::MAX));
        prop_assert_eq!(&pieces, &data);
        prop_assert_eq!(input.left(), 0);
    }

    #[test]
    fn a_number_is_below_its_bound(data: Vec<u8>, bound in 1u8..) {
        let mut input = Input::new(&data);
        for _ in 0..=data.len() {
            prop_assert!(input.below(bound) < bound);
        }
    }

    #[test]
    fn random_bytes_repeat_and_are_not_too_long(seed: u64, longest in 0usize..600) {
        let bytes = Random::new(seed).bytes(longest);
        prop_assert!(bytes.len() <= longest);
        prop_assert_eq!(bytes, Random::new(seed).bytes(longest));
    }

    #[test]
    fn random_numbers_do_not_get_stuck(seed: u64) {
        let mut random = Random::new(seed);
        prop_assert_ne!(random.number(), random.number());
    }
}
