//! Random values through YAML and back, and random bytes that claim to be YAML.

use proptest::prelude::*;
use ringwatch_server::yaml::{Limits, from_json, to_json};
use serde_json::Value;

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>(),
        "[ \\-:#yn0-9a-f.\n\t'\"{}\\[\\],&*!|>%@`~]{0,12}",
        "(yes|no|on|off|y|n|null|~|true|<<|0x1f|010|1_0|\\.inf|---|\\.\\.\\.)",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1.0e6..1.0e6_f64)
            .prop_map(|number| Value::from((number * 1000.0).trunc() / 1000.0 + 0.0001)),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(text.clone(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(value in any_json()) {
        let yaml = from_json(&value);
        let back = to_json(yaml.as_bytes(), &Limits::default());
        prop_assert_eq!(back.map(|document| document.value), Ok(value), "{}", yaml);
    }

    #[test]
    fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = to_json(&bytes, &Limits::default());
    }

    #[test]
    fn no_signs_do_harm(text in "[ \\-:?#&*!|>'\"{}\\[\\],%@`~\n\ta1]{0,80}") {
        let _ = to_json(text.as_bytes(), &Limits::default());
    }
}
