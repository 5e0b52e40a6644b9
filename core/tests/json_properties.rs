//! The scanner against serde_json: same verdicts, same values.
#[path = "common/tree.rs"]
mod tree;

use proptest::collection::vec;
use proptest::prelude::*;
use ringwatch_core::json::line::{EventLine, RevisionSpot, SpotError};
use ringwatch_core::json::{Kind, Limits, Path, ScanError, Value, scan};
use ringwatch_core::transition::EventKind;
use serde::de::IgnoredAny;
use tree::{Tree, choices, object};

type Json = serde_json::Value;

proptest! {
    #[test]
    fn found_values_are_those_of_serde_json(object in object(), choices in choices(), skip in 0_usize..40) {
        let text = object.text(&choices);
        let wanted: Vec<(String, &Tree)> = object.paths().into_iter().skip(skip).take(60).collect();
        let absent = ["zz", "a.zz", "a.b.zz", "a[7]"];
        let paths: Vec<Path<'_>> = wanted
            .iter()
            .map(|(path, _)| path.as_str())
            .chain(absent)
            .map(|path| Path::parse(path).expect("a path"))
            .collect();
        let mut found = vec![None; paths.len()];
        scan(text.as_bytes(), &Limits::default(), &paths, &mut found).expect("valid");
        let whole = serde_json::from_str::<Json>(&text).expect("valid");
        for (((path, tree), value), parsed) in wanted.iter().zip(&found).zip(&paths) {
            let value = value.unwrap_or_else(|| panic!("{path} not found in {text}"));
            prop_assert!(text[value.offset()..].starts_with(value.raw()));
            same(value, tree);
            // What serde_json reads at this place is what it finds by its own path.
            let theirs: Json = serde_json::from_str(value.raw()).expect("valid");
            prop_assert_eq!(Some(&theirs), lookup(&whole, path), "{}", path);
            // And a value found by walking down from an outer value is the same.
            let outer = Path::parse(path.split(['.', '[']).nth(1).unwrap_or(path));
            if let (Ok(outer), false) = (outer, path.contains('\\')) {
                let mut top = [None];
                scan(text.as_bytes(), &Limits::default(), &[outer], &mut top).expect("valid");
                if parsed.len() > 1 {
                    let rest = Path::parse(parsed.as_str().strip_prefix(outer.as_str()).expect("a prefix"));
                    prop_assert_eq!(top[0].and_then(|top| top.get(&rest.expect("a path"))), Some(value));
                }
            }
        }
        for value in &found[wanted.len()..] {
            prop_assert_eq!(*value, None);
        }
    }

    #[test]
    fn verdicts_on_damaged_texts_are_those_of_serde_json(
        object in object(),
        choices in choices(),
        damages in vec(damage(), 0..4),
    ) {
        let mut text = object.text(&choices).into_bytes();
        for damage in damages {
            damage.apply(&mut text);
        }
        let Some(expected) = model(&text) else { return Ok(()) };
        let shown = String::from_utf8_lossy(&text);
        let plain = scan(&text, &Limits::default(), &[], &mut []);
        prop_assert_eq!(plain.is_ok(), expected, "{:?} {}", plain, shown);
        // With wanted paths other code reads the text; only a duplicate may change the verdict.
        let paths = ["a.b.c", "a[0]", "b", "metadata.resourceVersion"].map(|path| Path::parse(path).expect("a path"));
        let mut found = [None; 4];
        let walked = scan(&text, &Limits::default(), &paths, &mut found);
        if !matches!(walked, Err(ScanError::Duplicate { .. })) {
            prop_assert_eq!(walked, plain, "{}", shown);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop_oneof![
        vec(any::<u8>(), 0..200),
        "[{}\\[\\]\",:\\\\u0-9a-fnrtd8eE.+ \n-]{0,80}".prop_map(String::into_bytes),
        "\\{\"a\":[{}\\[\\]\",:\\\\u0-9a-fnrtd8eE.+ \n-]{0,80}\\}".prop_map(String::into_bytes),
    ], path in "[a-c.\\[\\]0-9\\\\]{0,20}") {
        let paths: Vec<Path<'_>> = Path::parse(&path).into_iter().chain(Path::parse("a")).collect();
        let mut found = [None; 2];
        let verdict = scan(&bytes, &Limits::default(), &paths, &mut found);
        if let Some(expected) = model(&bytes) {
            let duplicate = matches!(verdict, Err(ScanError::Duplicate { .. }));
            prop_assert!(verdict.is_ok() == expected || duplicate);
        }
        let _ = RevisionSpot::find(&bytes, &Limits::default());
    }

    #[test]
    fn paths_print_what_they_parse(text in "[ab.\\[\\]019\\\\,:é]{0,12}") {
        match Path::parse(&text) {
            Ok(path) => {
                let printed = path.to_string();
                let again = Path::parse(&printed).expect("a path");
                prop_assert_eq!(again.len(), path.len());
                prop_assert_eq!(again.to_string(), printed);
            }
            Err(error) => prop_assert!(error.offset() <= text.len()),
        }
    }

    #[test]
    fn a_line_carries_the_object_under_the_revision(object in object(), choices in choices(), revision: u64) {
        let text = object.text(&choices);
        let mut json: Json = serde_json::from_str(&text).expect("valid");
        let spot = match RevisionSpot::find(text.as_bytes(), &Limits::default()) {
            Ok(spot) => spot,
            Err(SpotError::Metadata { .. }) => {
                prop_assert!(!json["metadata"].is_object() && !json["metadata"].is_null());
                return Ok(());
            }
            Err(error) => panic!("{error}"),
        };
        let line = EventLine::with_revision(EventKind::Deleted, text.as_bytes(), spot, revision.into());
        let mut buffer = vec![0; line.len()];
        prop_assert_eq!(line.write_to(&mut buffer), Ok(buffer.len()));
        prop_assert_eq!(&line.pieces().collect::<Vec<_>>().concat(), &buffer);
        prop_assert_eq!(buffer.last(), Some(&b'\n'));
        json["metadata"]["resourceVersion"] = revision.to_string().into();
        let written: Json = serde_json::from_slice(&buffer).expect("valid");
        prop_assert_eq!(&written["type"], "DELETED");
        prop_assert_eq!(&written["object"], &json);
    }
}

/// Checks every way to look at a value against the tree it was printed from.
fn same(value: Value<'_>, tree: &Tree) {
    match tree {
        Tree::Null => assert!(value.is_null()),
        Tree::Bool(wanted) => assert_eq!(value.as_bool(), Some(*wanted)),
        Tree::Number(literal) => {
            assert_eq!(
                (value.kind(), value.raw()),
                (Kind::Number, literal.as_str())
            );
            let integer = literal.parse::<i128>().ok();
            assert_eq!(
                value.as_i64(),
                integer.and_then(|number| number.try_into().ok())
            );
            assert_eq!(
                value.as_u64(),
                integer.and_then(|number| number.try_into().ok())
            );
            assert_eq!(
                value.as_f64(),
                literal
                    .parse()
                    .ok()
                    .filter(|number: &f64| number.is_finite())
            );
        }
        Tree::Text(wanted) => {
            let text = value.as_text().expect("a text");
            assert!(text == *wanted.as_str());
            assert_eq!(&text.to_string(), wanted);
            assert_eq!(text.len(), wanted.len());
            let mut buffer = vec![0; wanted.len()];
            assert_eq!(text.copy_to(&mut buffer), Ok(wanted.as_str()));
        }
        Tree::Array(elements) => {
            assert_eq!(value.elements().count(), elements.len());
            value
                .elements()
                .zip(elements)
                .for_each(|(value, tree)| same(value, tree));
        }
        Tree::Object(members) => {
            assert_eq!(value.entries().count(), members.len());
            for ((key, value), (wanted, tree)) in value.entries().zip(members) {
                assert!(key == *wanted.as_str());
                same(value, tree);
            }
        }
    }
}

/// Follows a path of ours through a value of serde_json.
fn lookup<'j>(json: &'j Json, path: &str) -> Option<&'j Json> {
    let mut value = json;
    let mut chars = path.chars().peekable();
    while let Some(open) = chars.next() {
        let mut segment = String::new();
        while let Some(&c) = chars.peek() {
            match c {
                '.' | '[' => break,
                '\\' => {
                    chars.next();
                    segment.extend(chars.next());
                }
                _ => segment.extend(chars.next()),
            }
        }
        value = if open == '[' {
            value.get(segment.trim_end_matches(']').parse::<usize>().ok()?)?
        } else {
            value.get(segment)?
        };
    }
    Some(value)
}

/// Whether the text should be accepted; `None` where serde_json cannot tell.
///
/// serde_json alone is laxer when it ignores values (halves of surrogate pairs, UTF-8) and stricter
/// when it reads them (numbers must fit), so both ways are asked.
fn model(text: &[u8]) -> Option<bool> {
    let is_object = text.trim_ascii_start().first() == Some(&b'{');
    if !is_object
        || str::from_utf8(text).is_err()
        || serde_json::from_slice::<IgnoredAny>(text).is_err()
    {
        return Some(false);
    }
    match serde_json::from_slice::<Json>(text) {
        Ok(_) => Some(true),
        Err(error) if error.to_string().contains("number out of range") => None,
        Err(_) => Some(false),
    }
}

#[derive(Debug, Clone)]
enum Damage {
    Replace(prop::sample::Index, u8),
    Insert(prop::sample::Index, u8),
    Remove(prop::sample::Index),
    Cut(prop::sample::Index),
    Repeat(prop::sample::Index, prop::sample::Index),
}

impl Damage {
    fn apply(&self, text: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        match self {
            Self::Replace(at, byte) => {
                let at = at.index(text.len());
                text[at] = *byte;
            }
            Self::Insert(at, byte) => text.insert(at.index(text.len() + 1), *byte),
            Self::Remove(at) => {
                text.remove(at.index(text.len()));
            }
            Self::Cut(at) => text.truncate(at.index(text.len())),
            Self::Repeat(from, to) => {
                let (from, to) = (from.index(text.len()), to.index(text.len()));
                let piece = text[from.min(to)..from.max(to)].to_vec();
                text.splice(from..from, piece);
            }
        }
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte = prop_oneof![
        4 => prop::sample::select(b"{}[]\",:\\/ \n\t\r0123456789-+.eEutfnabd\x00\x0b\x0c\x1f\x7f\x80\xc3\xff".to_vec()),
        1 => any::<u8>(),
    ];
    let at = any::<prop::sample::Index>;
    prop_oneof![
        3 => (at(), byte.clone()).prop_map(|(at, byte)| Damage::Replace(at, byte)),
        3 => (at(), byte).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        3 => at().prop_map(Damage::Remove),
        1 => at().prop_map(Damage::Cut),
        1 => (at(), at()).prop_map(|(from, to)| Damage::Repeat(from, to)),
    ]
}
