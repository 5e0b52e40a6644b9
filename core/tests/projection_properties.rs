//! Projections against a model that works on the tree an object was printed from.
#[path = "common/tree.rs"]
mod tree;

use proptest::collection::vec;
use proptest::prelude::*;
use ringwatch_core::compact::{CompactEvent, EncodeError};
use ringwatch_core::json::Limits;
use ringwatch_core::projection::{self, Field, FieldType, Issues, ProjectError, Projection};
use ringwatch_core::transition::EventKind;
use tree::{Tree, choices, object};

type Wide<T> = Projection<T, heapless::Vec<Field, 32>>;

/// What the model expects of one field.
#[derive(Debug, PartialEq)]
enum Expected {
    Absent,
    Mismatched,
    TooLong,
    /// The value as postcard packs it.
    Packed(Vec<u8>),
}

proptest! {
    #[test]
    fn fields_are_those_of_the_model(
        object in object(),
        choices in choices(),
        picks in vec((any::<prop::sample::Index>(), field_type()), 1..=32),
    ) {
        let text = object.text(&choices);
        let mut paths = object.paths();
        // The list has no escape for a line break.
        paths.retain(|(path, _)| !path.contains('\n'));
        paths.push((".nowhere.to.be.found".into(), &Tree::Null));
        let wanted: Vec<(&str, &Tree, FieldType)> = picks
            .iter()
            .map(|(pick, kind)| {
                let (path, tree) = &paths[pick.index(paths.len())];
                (path.as_str(), *tree, *kind)
            })
            .collect();
        let list = wanted.iter().map(|(path, _, kind)| format!(" {path} : {kind} ")).collect::<Vec<_>>().join(",");
        let projection = Wide::parse(&list).expect("a list");
        let mut out = [0; 1 << 14];
        let projected = projection.view().project(text.as_bytes(), &Limits::default(), &mut out).expect("projected");

        let mut packed = Vec::new();
        for (index, (path, tree, kind)) in wanted.iter().enumerate() {
            let expected = expected(tree, *kind, &text, path);
            let issues = projected.issues;
            prop_assert_eq!(issues.is_mismatched(index), expected == Expected::Mismatched, "{} {}", path, kind);
            prop_assert_eq!(issues.is_too_long(index), expected == Expected::TooLong, "{} {}", path, kind);
            match expected {
                Expected::Packed(bytes) => {
                    packed.push(1);
                    packed.extend(bytes);
                }
                _ => packed.push(0),
            }
        }
        prop_assert_eq!(&projected.bytes[..packed.len()], &packed[..]);
        let trailer: Issues = postcard::from_bytes(&projected.bytes[packed.len()..]).expect("a trailer");
        prop_assert_eq!(trailer, projected.issues);

        let needed = projected.bytes.len();
        let mut short = vec![0; needed - 1];
        prop_assert_eq!(
            projection.project(text.as_bytes(), &Limits::default(), &mut short),
            Err(ProjectError::BufferTooSmall { needed })
        );
    }

    #[test]
    fn canonical_text_is_stable(list in "[ab.\\[\\]0:, \\\\(x)]{0,10}(:(bool|i32|text\\(9\\)|json\\( 1 \\)),? ?[ab.]{0,3}){0,4}") {
        if let Ok(projection) = Projection::<_>::parse(&list) {
            let canonical = projection.to_string();
            let again = Projection::<_>::parse(canonical.as_str()).expect("canonical text parses");
            prop_assert_eq!(&again.to_string(), &canonical);
            prop_assert!(again.fields().eq(projection.fields()));
        }
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..80)) {
        #[derive(serde::Deserialize)]
        struct Wanted<'a> {
            _mode: Option<&'a str>,
            _level: Option<i64>,
            _gain: Option<f32>,
        }
        let _ = projection::read::<Wanted<'_>>(&bytes);
        let projection = Projection::<_>::parse("a:i32").expect("a list");
        let _ = projection.project(&bytes, &Limits::default(), &mut [0; 8]);
        if let Ok((event, rest)) = CompactEvent::decode(&bytes) {
            // Not every number has one spelling, but none has a shorter one than ours.
            prop_assert!(event.len() <= bytes.len() - rest.len());
        }
    }

    #[test]
    fn compact_events_come_back(kind in 0_u8..3, revision: u64, key: String, body: Vec<u8>, rest: Vec<u8>) {
        let kind = match kind {
            0 => EventKind::Added,
            1 => EventKind::Modified,
            _ => EventKind::Deleted,
        };
        let event = CompactEvent { kind, revision: revision.into(), key: &key, body: &body };
        let needed = event.len();
        let mut buffer = vec![0; needed];
        prop_assert_eq!(event.encode(&mut buffer[1..]), Err(EncodeError { needed }));
        let mut bytes = event.encode(&mut buffer).expect("encoded").to_vec();
        bytes.extend(&rest);
        prop_assert_eq!(CompactEvent::decode(&bytes), Ok((event, rest.as_slice())));
    }
}

fn field_type() -> impl Strategy<Value = FieldType> {
    prop_oneof![
        Just(FieldType::Bool),
        Just(FieldType::I32),
        Just(FieldType::I64),
        Just(FieldType::U32),
        Just(FieldType::U64),
        Just(FieldType::F32),
        Just(FieldType::F64),
        (1_u16..40).prop_map(|max| FieldType::Text { max }),
        (1_u16..300).prop_map(|max| FieldType::Json { max }),
    ]
}

fn expected(tree: &Tree, kind: FieldType, text: &str, path: &str) -> Expected {
    fn pack<T: serde::Serialize>(value: Option<T>) -> Expected {
        let Some(value) = value else {
            return Expected::Mismatched;
        };
        let mut buffer = [0; 1 << 12];
        Expected::Packed(
            postcard::to_slice(&value, &mut buffer)
                .expect("room")
                .to_vec(),
        )
    }
    let literal = match tree {
        Tree::Number(literal) => Some(literal),
        _ => None,
    };
    let integer = literal.and_then(|literal| literal.parse::<i128>().ok());
    match (kind, tree) {
        (_, Tree::Null) => Expected::Absent,
        (FieldType::Bool, Tree::Bool(value)) => pack(Some(value)),
        (FieldType::I32, _) => pack(integer.and_then(|number| i32::try_from(number).ok())),
        (FieldType::I64, _) => pack(integer.and_then(|number| i64::try_from(number).ok())),
        (FieldType::U32, _) => pack(integer.and_then(|number| u32::try_from(number).ok())),
        (FieldType::U64, _) => pack(integer.and_then(|number| u64::try_from(number).ok())),
        (FieldType::F32, Tree::Number(literal)) => {
            pack(literal.parse().ok().filter(|n: &f32| n.is_finite()))
        }
        (FieldType::F64, Tree::Number(literal)) => {
            pack(literal.parse().ok().filter(|n: &f64| n.is_finite()))
        }
        (FieldType::Text { max }, Tree::Text(value)) if value.len() > max.into() => {
            Expected::TooLong
        }
        (FieldType::Text { .. }, Tree::Text(value)) => pack(Some(value)),
        (FieldType::Json { max }, _) => {
            // The raw text depends on white space and escapes, so it is looked up.
            let paths = [ringwatch_core::json::Path::parse(path).expect("a path")];
            let mut found = [None];
            ringwatch_core::json::scan(text.as_bytes(), &Limits::default(), &paths, &mut found)
                .expect("valid");
            let raw = found[0].expect("found").raw();
            if raw.len() > max.into() {
                Expected::TooLong
            } else {
                pack(Some(raw))
            }
        }
        _ => Expected::Mismatched,
    }
}
