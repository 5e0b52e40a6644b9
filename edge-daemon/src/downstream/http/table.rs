//! Objects as a table, for kubectl: their names and when they were made. What else a kind has to show, only its server knows.

use ringwatch_core::json::{Limits, Path, Value, scan};
use ringwatch_core::link::serve::Content;
use ringwatch_core::object::Object as _;
use ringwatch_core::revision::Revision;

use super::list::Kept;

const COLUMNS: &str = r#"[{"name":"Name","type":"string","format":"name","description":"The object's name","priority":0},{"name":"Created At","type":"date","format":"","description":"When it was made","priority":0}]"#;

/// A table of some objects. Each row has what `include` asks for of its object: the metadata, unless it is `None` or `Object`.
pub(super) fn of(
    objects: &[Kept],
    revision: Revision,
    columns: bool,
    include: Option<&str>,
) -> Vec<u8> {
    let columns = if columns { COLUMNS } else { "[]" };
    let mut out = format!(
        r#"{{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{{"resourceVersion":"{revision}"}},"columnDefinitions":{columns},"rows":["#
    )
    .into_bytes();
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        row(&mut out, object, include);
    }
    out.extend_from_slice(b"]}");
    out
}

fn row(out: &mut Vec<u8>, object: &Kept, include: Option<&str>) {
    let mut found = [None; 2];
    let paths = [
        Path::parse("metadata"),
        Path::parse("metadata.creationTimestamp"),
    ];
    if let [Ok(metadata), Ok(created)] = paths {
        // An object that is here was read before.
        let _ = scan(
            object.json(),
            &Limits::default(),
            &[metadata, created],
            &mut found,
        );
    }
    let [metadata, created] = found;
    let raw = |value: Option<Value<'_>>, otherwise: &str| {
        value.map_or(otherwise.to_owned(), |value| value.raw().to_owned())
    };
    let head = format!(
        r#"{{"cells":["{}",{}],"object":"#,
        object.key().name(),
        raw(created, "null")
    );
    out.extend_from_slice(head.as_bytes());
    match include {
        Some("None") => out.extend_from_slice(b"null"),
        Some("Object") => out.extend_from_slice(object.json()),
        _ => {
            let metadata = raw(metadata, "{}");
            let partial = format!(
                r#"{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{metadata}}}"#
            );
            out.extend_from_slice(partial.as_bytes());
        }
    }
    out.push(b'}');
}
