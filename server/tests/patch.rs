//! The three patch formats, case by case from text files, and what a patch may cost.

use std::fmt::Write as _;

use ringwatch_server::patch::{Class, Error, Patch, json};
use serde_json::{Value, json};

#[path = "text/cases.rs"]
mod text;
use text::{Case, cases};

/// Runs every case of a file, and fails with all that differ.
fn run(text: &str, at_least: usize, read: impl Fn(&Case<'_>) -> Result<Patch, Error>) {
    let mut differing = String::new();
    for case in &cases(text, at_least) {
        let original = case.value("original");
        let outcome = match read(case).and_then(|patch| patch.apply(&original)) {
            Ok(result) => Ok(result),
            Err(error) => Err((class(&error), error.to_string())),
        };
        let is_right = match (&outcome, case.line("error")) {
            (Ok(result), None) => *result == case.value("result"),
            (Err((class, text)), Some(wanted)) => *class == wanted && !text.is_empty(),
            _ => false,
        };
        if !is_right {
            writeln!(differing, "{}: {outcome:?}", case.title).unwrap();
        }
    }
    assert!(differing.is_empty(), "{differing}");
}

fn class(error: &Error) -> &'static str {
    match error.class() {
        Class::Malformed => "malformed",
        Class::TooLarge => "too-large",
        Class::Unprocessable => "unprocessable",
        Class::Misfit => "misfit",
    }
}

#[test]
fn json_patch_does_what_the_cases_say() {
    run(include_str!("cases/json.txt"), 45, |case| {
        Patch::json(case.line("patch").expect("a patch").as_bytes())
    });
}

#[test]
fn merge_patch_does_what_the_cases_say() {
    run(include_str!("cases/merge.txt"), 15, |case| {
        Patch::merge(case.line("patch").expect("a patch").as_bytes())
    });
}

#[test]
fn strategic_merge_patch_does_what_the_cases_say() {
    run(include_str!("cases/strategic.txt"), 100, |case| {
        Patch::strategic(
            case.line("type").expect("a type"),
            case.line("patch").expect("a patch").as_bytes(),
        )
    });
}

#[test]
fn a_strategic_merge_patch_needs_a_known_type() {
    let error = Patch::strategic("io.k8s.api.core.v1.Sprocket", b"{}").unwrap_err();
    assert!(matches!(error, Error::UnknownType(_)), "{error}");
}

#[test]
fn a_field_newer_than_the_table_is_merged_as_plain_json() {
    let patch = br#"{"spec":{"newer":{"b":{"c":2},"l":[2]}}}"#;
    let patch = Patch::strategic("io.k8s.api.core.v1.Pod", patch).unwrap();
    assert_eq!(
        patch
            .apply(&json!({"spec": {"newer": {"a": 1, "b": {"d": 3}, "l": [1]}}}))
            .unwrap(),
        json!({"spec": {"newer": {"a": 1, "b": {"c": 2, "d": 3}, "l": [2]}}})
    );
}

fn operations(count: usize, operation: &Value) -> Vec<u8> {
    serde_json::to_vec(&vec![operation; count]).unwrap()
}

#[test]
fn operations_are_counted() {
    let operation = json!({"op": "test", "path": "/a", "value": 1});
    let patch = Patch::json(&operations(json::MAX_OPERATIONS, &operation)).unwrap();
    assert!(patch.apply(&json!({"a": 1})).is_ok());
    let error = Patch::json(&operations(json::MAX_OPERATIONS + 1, &operation)).unwrap_err();
    assert_eq!(error.class(), Class::TooLarge);
    assert_eq!(
        error.to_string(),
        "The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

#[test]
fn a_document_cannot_be_copied_into_itself_for_ever() {
    // Doubles with every operation, in width.
    let patch = Patch::json(&operations(
        64,
        &json!({"op": "copy", "from": "/a", "path": "/a/-"}),
    ))
    .unwrap();
    let error = patch.apply(&json!({"a": ["x".repeat(1024)]})).unwrap_err();
    assert!(
        matches!(error, Error::CopiesTooMuch | Error::TooDeep),
        "{error}"
    );
    // Doubles in depth: must end before anyone's stack does.
    let patch = Patch::json(&operations(
        64,
        &json!({"op": "copy", "from": "/a", "path": "/a/a"}),
    ))
    .unwrap();
    assert!(patch.apply(&json!({"a": {"a": 1}})).is_ok());
    let chain: Vec<Value> = (0..20)
        .map(|level| json!({"op": "copy", "from": "/a", "path": format!("/a{}", "/b".repeat(1 << level))}))
        .collect();
    let patch = Patch::json(&serde_json::to_vec(&chain).unwrap()).unwrap();
    assert!(patch.apply(&json!({"a": {"b": {}}})).is_err());
}

#[test]
fn copies_are_bounded_in_bytes() {
    let patch = Patch::json(&operations(
        8,
        &json!({"op": "copy", "from": "/a", "path": "/l/-"}),
    ))
    .unwrap();
    let large = json!({"a": "x".repeat(1024 * 1024), "l": []});
    assert_eq!(patch.apply(&large).unwrap_err(), Error::CopiesTooMuch);
}

#[test]
fn shifting_a_long_list_is_bounded() {
    let patch = Patch::json(&operations(
        json::MAX_OPERATIONS,
        &json!({"op": "add", "path": "/l/0", "value": 1}),
    ))
    .unwrap();
    let long = json!({"l": vec![0; 100_000]});
    assert_eq!(patch.apply(&long).unwrap_err(), Error::TooMuchWork);
}

#[test]
fn a_patch_nested_too_deeply_is_refused() {
    let deep = format!("{}1{}", r#"{"a":"#.repeat(500), "}".repeat(500));
    for read in [
        Patch::merge(deep.as_bytes()),
        Patch::strategic("io.k8s.api.core.v1.Pod", deep.as_bytes()),
        Patch::json(format!(r#"[{{"op":"add","path":"/a","value":{deep}}}]"#).as_bytes()),
    ] {
        assert_eq!(read.unwrap_err().class(), Class::Malformed);
    }
}
