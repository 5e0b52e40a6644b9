//! Sealed values: they come back, and nothing else does.

use std::path::Path;

use bytes::Bytes;
use proptest::prelude::*;
use ringwatch_server::storage::{Condition, transform::Transformer};

/// Two keys whose names differ in one bit, and the entry that makes any other value readable: where damage is
/// most likely to go unnoticed.
fn keys() -> Transformer {
    let text = "a AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n\
                c Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=\n\
                plain";
    Transformer::parse(Path::new("keys"), text.as_bytes()).unwrap()
}

proptest! {
    #[test]
    fn sealed_values_come_back(key: String, value: Vec<u8>) {
        let (keys, value) = (keys(), Bytes::from(value));
        let sealed = keys.seal(&key, &value).unwrap();
        prop_assert_eq!(keys.open(&key, &sealed), (value, Condition::Sound));
    }

    #[test]
    fn any_flipped_bit_is_corrupt(key: String, value: Vec<u8>, at: prop::sample::Index) {
        let keys = keys();
        let sealed = keys.seal(&key, &value.into()).unwrap();
        let bit = at.index(sealed.len() * 8);
        let mut damaged = sealed.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let damaged = Bytes::from(damaged);
        prop_assert_eq!(keys.open(&key, &damaged), (damaged, Condition::Corrupt));
    }

    #[test]
    fn a_missing_end_is_corrupt(key: String, value: Vec<u8>, at: prop::sample::Index) {
        let keys = keys();
        let sealed = keys.seal(&key, &value.into()).unwrap();
        // Less than the beginning cannot be told from a short plain value.
        let header = b"ringwatch:enc:".len();
        let length = header + at.index(sealed.len() - header);
        let damaged = sealed.slice(..length);
        prop_assert_eq!(keys.open(&key, &damaged), (damaged, Condition::Corrupt));
    }

    #[test]
    fn a_value_in_the_place_of_another_is_corrupt(a: String, b: String, value: Vec<u8>) {
        prop_assume!(a != b);
        let keys = keys();
        let sealed = keys.seal(&a, &value.into()).unwrap();
        prop_assert_eq!(keys.open(&b, &sealed), (sealed, Condition::Corrupt));
    }

    #[test]
    fn bytes_from_anywhere_are_opened_without_a_panic(value: Vec<u8>, sealed: bool) {
        let start: &[u8] = if sealed { b"ringwatch:enc:1:a:" } else { b"" };
        let stored = Bytes::from([start, &value].concat());
        let (opened, condition) = keys().open("/a", &stored);
        prop_assert_eq!(opened, stored);
        prop_assert_ne!(condition, Condition::Sound);
    }

    #[test]
    fn key_files_from_anywhere_are_read_without_a_panic(
        lines in prop::collection::vec("(plain|#x|[a-c]|\\PC{0,9}) ?([A-Za-z0-9+/=]{0,50})", 0..40),
    ) {
        let text = lines.join("\n");
        if let Err(error) = Transformer::parse(Path::new("keys"), text.as_bytes()) {
            let line = error.line.unwrap_or(1);
            prop_assert!((1..=lines.len().max(1)).contains(&line), "{error}");
        }
    }
}
