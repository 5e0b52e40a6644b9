//! The JSON scanner on any bytes, beside serde_json.

use ringwatch_core::{
    json::{
        Kind, Limits, Path, ScanError, Value,
        line::{EventLine, RevisionSpot, SpotError},
        scan,
    },
    revision::Revision,
    transition::EventKind,
};
use serde_json::Value as Json;

use crate::input::Input;

/// A path, and the same in serde_json's words.
type Place = (&'static str, fn(&Json) -> Option<&Json>);

/// The first byte chooses among these, a bit for each.
const PLACES: [Place; 8] = [
    ("a", |json| json.get("a")),
    ("a.b", |json| json.get("a")?.get("b")),
    ("a[1]", |json| json.get("a")?.get(1)),
    ("a[0].b.c", |json| json.get("a")?.get(0)?.get("b")?.get("c")),
    (r"a\.b", |json| json.get("a.b")),
    ("metadata", |json| json.get("metadata")),
    (".metadata.labels", |json| {
        json.get("metadata")?.get("labels")
    }),
    ("metadata.labels.app", |json| {
        json.get("metadata")?.get("labels")?.get("app")
    }),
];

/// Four bytes choose paths, limits and a revision; the rest is the text. The verdict is that of serde_json,
/// found values are those that it finds, and the object comes back whole under the revision.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let wanted = input.byte().unwrap_or(0);
    let limits = Limits {
        max_depth: *input.one_of(&[64, 0, 1, 2, 3, 127, usize::MAX]),
        max_bytes: *input.one_of(&[1 << 20, 0, 16, 64]),
    };
    let revision = Revision::new(*input.one_of(&[7, 0, 10, u64::MAX]));
    let text = input.bytes(usize::MAX);

    let places = (0..8).filter(|bit| wanted >> bit & 1 == 1);
    let places: Vec<Place> = places.map(|bit| PLACES[bit]).collect();
    let paths: Vec<_> = places
        .iter()
        .map(|(path, _)| Path::parse(path).expect("a path"))
        .collect();
    let mut found = vec![None; paths.len()];
    let verdict = scan(text, &limits, &paths, &mut found);
    let Some(json) = judge(text, &limits, verdict) else {
        return;
    };
    for (value, (path, find)) in found.into_iter().zip(places) {
        assert_eq!(value.is_some(), find(&json).is_some(), "{path}");
        if let (Some(value), Some(json)) = (value, find(&json)) {
            assert_eq!(
                text[value.offset()..].get(..value.raw().len()),
                Some(value.raw().as_bytes())
            );
            same(&value, json, &limits);
        }
    }
    rewrite(text, &limits, revision, json);
}

/// Compares the verdict with serde_json's, and gives what that read if both accept.
fn judge(text: &[u8], limits: &Limits, verdict: Result<(), ScanError>) -> Option<Json> {
    let json = serde_json::from_slice::<Json>(text);
    match (verdict, json) {
        (Ok(()), Ok(json)) => return Some(json),
        (Ok(()), Err(error)) => {
            // serde_json must put numbers into 64 bits; the scanner takes them as they are.
            assert!(error.to_string().starts_with("number out of range"));
        }
        (Err(ScanError::TooLarge { len, max }), _) => {
            assert_eq!((len, max), (text.len(), limits.max_bytes));
            assert!(len > max);
        }
        (Err(ScanError::TooDeep { offset } | ScanError::Duplicate { offset }), _) => {
            assert!(matches!(text.get(offset), Some(b'{' | b'[' | b'"')));
        }
        (Err(ScanError::NotAnObject { .. }), Ok(json)) => assert!(!json.is_object()),
        (Err(error), Ok(json)) => panic!("{error}, but it is {json}"),
        (Err(error), Err(_)) => assert!(!error.to_string().is_empty()),
    }
    None
}

fn same(value: &Value<'_>, json: &Json, limits: &Limits) {
    let again: Json = serde_json::from_str(value.raw()).expect("valid by itself");
    assert_eq!(&again, json);
    assert_eq!(value.as_bool(), json.as_bool());
    assert_eq!(value.kind() == Kind::Number, json.is_number());
    let text = value.as_text();
    assert_eq!(text.map(|text| text.to_string()).as_deref(), json.as_str());
    if let (Some(text), Some(expected)) = (text, json.as_str()) {
        let mut buffer = vec![0; expected.len()];
        assert_eq!(text.copy_to(&mut buffer), Ok(expected));
    }
    assert_eq!(
        value.elements().count(),
        json.as_array().map_or(0, Vec::len)
    );
    // serde_json keeps the last of several members with one key.
    let members = json.as_object();
    assert!(value.entries().count() >= members.map_or(0, serde_json::Map::len));
    for (key, member) in members.into_iter().flatten() {
        let mine = value.entries().filter(|(mine, _)| *mine == **key).last();
        let (_, mine) = mine.expect("every member is found");
        assert_eq!(mine.is_null(), member.is_null());
    }
    if value.kind() == Kind::Object {
        assert_eq!(scan(value.raw().as_bytes(), limits, &[], &mut []), Ok(()));
    }
}

/// `text` is an object that serde_json reads as `json`.
fn rewrite(text: &[u8], limits: &Limits, revision: Revision, mut json: Json) {
    let spot = match RevisionSpot::find(text, limits) {
        Ok(spot) => spot,
        Err(SpotError::Scan(error)) => {
            assert!(matches!(error, ScanError::Duplicate { .. }));
            return;
        }
        Err(_) => {
            let metadata = &json["metadata"];
            assert!(!metadata.is_object() && !metadata.is_null());
            return;
        }
    };
    let line = EventLine::with_revision(EventKind::Modified, text, spot, revision);
    let mut buffer = vec![0; line.len()];
    assert_eq!(line.write_to(&mut buffer), Ok(buffer.len()));
    // Without what is around it: serde_json might find the object too deep inside the line.
    let object = buffer.strip_prefix(br#"{"type":"MODIFIED","object":"#);
    let object = object.and_then(|object| object.strip_suffix(b"}\n"));
    let written: Json = serde_json::from_slice(object.expect("a line")).expect("valid JSON");
    json["metadata"]["resourceVersion"] = revision.get().to_string().into();
    assert_eq!(written, json);
}
