//! Projections: any field list on any object, and any bytes read as packed fields.

use std::fmt::Debug;

use ringwatch_core::{
    json::{Limits, Path, scan},
    projection::{self, Field, FieldType, Issues, ProjectError, Projection},
};
use serde::de::DeserializeOwned;

type Wide<'a> = Projection<&'a str, heapless::Vec<Field, 32>>;
/// Some struct: postcard does not tell one from a tuple.
type Wanted<'a> = (Option<&'a str>, Option<i64>, Option<f32>, Option<bool>);

/// The first line is a field list, the rest an object. A list prints what parses to the same. Packed fields
/// are what a reader that knows the types expects; other readers get an error or nonsense, no panic.
pub fn run(data: &[u8]) {
    let _ = projection::read::<Wanted<'_>>(data);
    let Some((list, object)) = split(data) else {
        return;
    };
    let projection = match Wide::parse(list) {
        Ok(projection) => projection,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let printed = projection.to_string();
    let again = Wide::parse(&printed)
        .unwrap_or_else(|error| panic!("{list:?} printed as {printed:?}: {error}"));
    assert_eq!(again.to_string(), printed);
    assert!(again.fields().eq(projection.fields()));

    let limits = Limits::default();
    let needed = match projection.project(object, &limits, &mut []) {
        Err(ProjectError::BufferTooSmall { needed }) => needed,
        Err(_) => return,
        Ok(projected) => panic!("{projected:?} in no bytes at all"),
    };
    let mut buffer = vec![0; needed];
    let projected = projection
        .project(object, &limits, &mut buffer)
        .expect("the buffer is as large as was asked for");
    assert_eq!(projected.bytes.len(), needed);
    let _ = projection::read::<Wanted<'_>>(projected.bytes);

    let mut cells = Cells(projected.bytes);
    for (index, (path, kind)) in projection.fields().enumerate() {
        cells.check(index, kind, find(object, path), projected.issues);
    }
    let trailer: (Issues, &[u8]) = postcard::take_from_bytes(cells.0).expect("a trailer");
    assert_eq!(trailer, (projected.issues, &[][..]));
}

fn split(data: &[u8]) -> Option<(&str, &[u8])> {
    let end = data.iter().position(|byte| *byte == b'\n')?;
    Some((str::from_utf8(&data[..end]).ok()?, &data[end + 1..]))
}

/// The JSON text of one value; a null is as good as none.
fn find<'a>(object: &'a [u8], path: &str) -> Option<&'a str> {
    let path = Path::parse(path).expect("it was parsed before");
    let mut found = [None];
    scan(object, &Limits::default(), &[path], &mut found).expect("it was projected before");
    found[0]
        .map(|value| value.raw())
        .filter(|raw| *raw != "null")
}

/// What is left of the packed fields.
struct Cells<'a>(&'a [u8]);

impl Cells<'_> {
    /// The next cell must hold what the JSON text `raw` is as a `kind`.
    fn check(&mut self, index: usize, kind: FieldType, raw: Option<&str>, issues: Issues) {
        let integer = raw.and_then(|raw| raw.parse::<i128>().ok());
        let mut too_long = false;
        let mut fits = |text: &String, max: u16| {
            too_long = text.len() > max.into();
            !too_long
        };
        let filled = match kind {
            FieldType::Bool => self.next(raw.and_then(|raw| raw.parse::<bool>().ok())),
            FieldType::I32 => self.next(integer.and_then(|number| i32::try_from(number).ok())),
            FieldType::I64 => self.next(integer.and_then(|number| i64::try_from(number).ok())),
            FieldType::U32 => self.next(integer.and_then(|number| u32::try_from(number).ok())),
            FieldType::U64 => self.next(integer.and_then(|number| u64::try_from(number).ok())),
            FieldType::F32 => self.next(
                raw.and_then(|raw| raw.parse().ok())
                    .filter(|number: &f32| number.is_finite()),
            ),
            FieldType::F64 => self.next(
                raw.and_then(|raw| raw.parse().ok())
                    .filter(|number: &f64| number.is_finite()),
            ),
            FieldType::Text { max } => self.next(
                raw.and_then(|raw| serde_json::from_str(raw).ok())
                    .filter(|text| fits(text, max)),
            ),
            FieldType::Json { max } => {
                self.next(raw.map(str::to_owned).filter(|text| fits(text, max)))
            }
        };
        assert_eq!(issues.is_too_long(index), too_long, "{raw:?} as {kind}");
        assert_eq!(
            issues.is_mismatched(index),
            raw.is_some() && !filled && !too_long,
            "{raw:?} as {kind}"
        );
    }

    /// Reads one cell, and says whether it has a value.
    fn next<T: DeserializeOwned + PartialEq + Debug>(&mut self, expected: Option<T>) -> bool {
        let (cell, rest) = postcard::take_from_bytes::<Option<T>>(self.0).expect("a cell");
        assert_eq!(cell, expected);
        self.0 = rest;
        cell.is_some()
    }
}
