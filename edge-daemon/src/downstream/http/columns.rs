//! The columns of a kind's tables, and the cells of each object.
//!
//! They come from the settings, or else from the kind's definition as upstream has it, or else from a small table of kinds that every cluster has
//! ([`builtin`]); a kind of which nothing is known has its name and its age. Each object is scanned once for all columns and no tree is built of it, so
//! a table costs no memory beyond its own text.

mod age;
mod builtin;

use std::borrow::Cow;

use ringwatch_core::json::{Limits, MAX_PATHS, Path, Value, scan};
use ringwatch_core::link::serve::Content as _;
use ringwatch_core::object::Object as _;
use ringwatch_core::time::Instant;
use serde_json::{Value as Tree, json};

use super::Kept;
use crate::definition::{Column, ColumnKind, JsonPath};

/// The columns of one kind, in the order of the cells.
pub(super) struct Printer<'d>(Vec<Shown<'d>>);

/// One column.
enum Shown<'d> {
    /// The object's name. Above 0: shown by `-o wide` only.
    Name(i32),
    /// A value of the object.
    Value(&'d Column),
    /// What is made of some values.
    Made(&'static builtin::Made),
}

/// What stands in a cell.
enum Cell<'o> {
    Null,
    /// JSON as it stands in the object.
    Json(&'o str),
    Text(Cow<'o, str>),
    Integer(i64),
}

impl<'d> Printer<'d> {
    /// A printer of these columns, or if there are none of those of a kind that every cluster has.
    pub(super) fn new(columns: Option<&'d [Column]>, group: &str, plural: &str) -> Self {
        let name = Shown::Name(0);
        let (first, others, last): (_, Vec<_>, _) = match columns {
            Some([]) => (
                Some(name),
                builtin::AGE_ONLY.iter().map(Shown::Made).collect(),
                None,
            ),
            Some(columns) => (Some(name), columns.iter().map(Shown::Value).collect(), None),
            None => {
                let made = builtin::columns(group, plural).iter();
                let made = made.map(Shown::Made).collect();
                // Names of events tell nobody anything.
                match plural {
                    "events" => (None, made, Some(Shown::Name(1))),
                    _ => (Some(name), made, None),
                }
            }
        };
        Self(first.into_iter().chain(others).chain(last).collect())
    }

    /// The columns as a Table announces them.
    pub(super) fn headings(&self) -> Tree {
        let headings = self.0.iter().map(|shown| match shown {
            Shown::Name(priority) => json!({
                "name": "Name", "type": "string", "format": "name", "description": "The object's name.", "priority": priority,
            }),
            Shown::Value(column) => json!({
                "name": column.name, "type": column.kind.as_str(), "format": column.format,
                "description": match column.description.as_str() {
                    "" => format!("The value at {}.", column.path.as_str()),
                    given => given.to_owned(),
                },
                "priority": column.priority,
            }),
            Shown::Made(made) => json!({
                "name": made.name, "type": "string", "format": "", "description": "", "priority": made.priority,
            }),
        });
        headings.collect()
    }

    /// Writes the cells of an object as a JSON array.
    pub(super) fn cells(&self, out: &mut Vec<u8>, object: &Kept, now: Instant) {
        let columns = self.0.iter().flat_map(Shown::paths);
        // Every path was parsed before; the bound is that of a scan, and more than columns have.
        let paths = columns.filter_map(|path| Path::parse(path).ok());
        let paths: Vec<Path<'_>> = paths.take(MAX_PATHS).collect();
        let mut found = vec![None; paths.len()];
        // An object that is here was read before.
        let _ = scan(object.json(), &Limits::default(), &paths, &mut found);
        let mut found = found.as_slice();
        let cells = self.0.iter().map(|shown| {
            let (own, rest) = found
                .split_at_checked(shown.paths().count())
                .unwrap_or((&[], &[]));
            found = rest;
            shown.cell(object, own, now)
        });
        write(out, cells);
    }

    /// Writes the cells of an object that has nothing.
    pub(super) fn no_cells(&self, out: &mut Vec<u8>) {
        write(out, self.0.iter().map(|_| Cell::Null));
    }
}

/// Writes cells as a JSON array.
fn write<'o>(out: &mut Vec<u8>, cells: impl Iterator<Item = Cell<'o>>) {
    out.push(b'[');
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        cell.write(out);
    }
    out.push(b']');
}

impl Shown<'_> {
    /// What to look for in an object.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let (value, made): (Option<&str>, &[&str]) = match self {
            Self::Name(_) => (None, &[]),
            Self::Value(column) => (Some(column.path.head()), &[]),
            Self::Made(made) => (None, made.paths),
        };
        value.into_iter().chain(made.iter().copied())
    }

    fn cell<'o>(&self, object: &'o Kept, found: &[Option<Value<'o>>], now: Instant) -> Cell<'o> {
        match self {
            Self::Name(_) => Cell::Text(object.key().name().into()),
            Self::Value(column) => value(found, &column.path, column.kind, now),
            Self::Made(made) => (made.cell)(found, now),
        }
    }
}

/// A value in a column of this kind. One that is not there, or of another kind, is an empty cell.
fn value<'o>(
    found: &[Option<Value<'o>>],
    path: &JsonPath,
    kind: ColumnKind,
    now: Instant,
) -> Cell<'o> {
    let head = found.first().copied().flatten();
    let Some(value) = head.and_then(|head| path.follow(head)) else {
        return Cell::Null;
    };
    match (kind, value.as_text()) {
        (ColumnKind::String, Some(_)) => Cell::Json(value.raw()),
        (ColumnKind::String, None) => Cell::Text(value.raw().into()),
        (ColumnKind::Date, Some(text)) => Cell::Text(age::since(text.plain(), now)),
        (ColumnKind::Integer, None) => match (value.as_i64(), value.as_f64()) {
            (Some(whole), _) => Cell::Integer(whole),
            // Saturates where the number is larger than any whole one.
            (None, Some(number)) => Cell::Integer(number as i64),
            (None, None) => Cell::Null,
        },
        (ColumnKind::Number, None) if value.as_f64().is_some() => Cell::Json(value.raw()),
        (ColumnKind::Boolean, None) if value.as_bool().is_some() => Cell::Json(value.raw()),
        _ => Cell::Null,
    }
}

impl Cell<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Json(json) => out.extend_from_slice(json.as_bytes()),
            Self::Text(text) => {
                out.extend_from_slice(Tree::from(text.as_ref()).to_string().as_bytes())
            }
            Self::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringwatch_core::revision::Revision;

    /// 2026-01-02T00:00:00Z.
    const NOW: Instant = Instant::from_millis(1_767_312_000_000);

    fn row(printer: &Printer<'_>, json: &str) -> String {
        let object = Kept::new("hall/x", Revision::new(1), json.as_bytes()).unwrap();
        let mut out = Vec::new();
        printer.cells(&mut out, &object, NOW);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cells_are_what_their_columns_say() {
        let column = |name: &str, kind, path: &str| Column {
            name: name.to_owned(),
            kind,
            path: JsonPath::parse(path).unwrap(),
            priority: 0,
            format: String::new(),
            description: String::new(),
        };
        let columns = [
            column("Site", ColumnKind::String, ".spec.site"),
            column("Tags", ColumnKind::String, ".spec.tags"),
            column("Setpoint", ColumnKind::Number, ".spec.setpoint"),
            column("Whole", ColumnKind::Integer, ".spec.setpoint"),
            column("On", ColumnKind::Boolean, ".spec.on"),
            column("Seen", ColumnKind::Date, ".status.seen"),
        ];
        let printer = Printer::new(Some(&columns), "example.com", "devices");
        let object = r#"{"spec":{"site":"a \"b\"","tags":["x"],"setpoint":68.5,"on":true},"status":{"seen":"2026-01-01T23:57:55Z"}}"#;
        assert_eq!(
            row(&printer, object),
            r#"["x","a \"b\"","[\"x\"]",68.5,68,true,"2m5s"]"#
        );
        // What is not there, and what is of another kind.
        let object = r#"{"spec":{"setpoint":"hot","on":1},"status":{"seen":"yesterday"}}"#;
        assert_eq!(
            row(&printer, object),
            r#"["x",null,null,null,null,null,"<invalid>"]"#
        );
        let headings = printer.headings();
        assert_eq!(headings.as_array().map(Vec::len), Some(7));
        assert_eq!(headings[6]["type"], "date");
    }

    #[test]
    fn kinds_of_every_cluster_have_their_own() {
        let age = r#""metadata":{"creationTimestamp":"2026-01-01T22:00:00Z"}"#;
        for (group, plural, rest, expected) in [
            (
                "",
                "configmaps",
                r#""data":{"a":"1","b":"2"},"binaryData":{"c":""}"#,
                r#"["x",3,"120m"]"#,
            ),
            (
                "",
                "namespaces",
                r#""status":{}"#,
                r#"["x","Active","120m"]"#,
            ),
            (
                "",
                "nodes",
                r#""spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}],"nodeInfo":{"kubeletVersion":"v1"}}"#,
                r#"["x","Ready,SchedulingDisabled","<none>","120m","v1"]"#,
            ),
            (
                "",
                "pods",
                r#""spec":{"containers":[{},{}]},"status":{"phase":"Running","containerStatuses":[{"ready":true,"restartCount":2,"state":{"running":{}}},{"ready":false,"restartCount":1,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}"#,
                r#"["x","1/2","CrashLoopBackOff",3,"120m"]"#,
            ),
            (
                "",
                "services",
                r#""spec":{"type":"LoadBalancer","clusterIP":"10.0.0.1","ports":[{"port":80,"nodePort":30080,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}"#,
                r#"["x","LoadBalancer","10.0.0.1","1.2.3.4","80:30080/TCP,53/UDP","120m"]"#,
            ),
            (
                "apps",
                "deployments",
                r#""spec":{"replicas":3},"status":{"readyReplicas":1}"#,
                r#"["x","1/3",0,0,"120m"]"#,
            ),
            ("example.com", "lamps", r#""spec":{}"#, r#"["x","120m"]"#),
        ] {
            let printer = Printer::new(None, group, plural);
            assert_eq!(row(&printer, &format!("{{{age},{rest}}}")), expected);
        }
        let event = r#"{"lastTimestamp":"2026-01-01T23:59:55Z","type":"Normal","reason":"Pulled","involvedObject":{"kind":"Pod","name":"p"},"message":"there"}"#;
        assert_eq!(
            row(&Printer::new(None, "", "events"), event),
            r#"["5s","Normal","Pulled","pod/p","there","x"]"#
        );
    }
}
