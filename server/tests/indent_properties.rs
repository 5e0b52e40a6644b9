//! Indented JSON against a serializer's.

use proptest::prelude::*;
use ringwatch_server::indent::indented;
use serde_json::Value;

proptest! {
    #[test]
    fn it_is_what_a_serializer_would_write(keys in prop::collection::vec(any::<String>(), 0..5), texts in prop::collection::vec(any::<String>(), 0..5)) {
        let members = keys.into_iter().map(|key| (key, Value::from(texts.clone()))).collect();
        let value = Value::Object(members);
        let expected = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(String::from_utf8(indented(value.to_string().as_bytes())).unwrap(), expected);
    }

    #[test]
    fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = indented(&bytes);
    }
}
