//! Every kind's table, from text files: `tests/columns/*.txt`.
//!
//! ```text
//! kind apps/Deployment             the kind that is printed
//! now 2026-11-16T12:00:00Z         the time of all cases
//! columns Name:name, Ready, Age*   the headings: a format after a colon, a star for `-o wide`
//! types string, string, string
//!
//! case what it shows
//! {"metadata":{}}                  the object
//! -> ["","0/1","<unknown>"]        its cells
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ringwatch_server::columns::{Object, Printer};

/// Every kind that is served with a table, and one that has none.
const FILES: usize = 29;

#[test]
fn every_kind_is_printed_as_its_file_says() {
    let files = files();
    assert_eq!(files.len(), FILES, "{files:?}");
    let mut cases = 0;
    let mut faults = Vec::new();
    for file in &files {
        let table = Table::read(file);
        assert!(!table.cases.is_empty(), "{} has no case", file.display());
        cases += table.cases.len();
        table.check(&mut faults);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(cases >= 120, "only {cases} cases were found");
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/columns");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

struct Table {
    file: String,
    group: String,
    kind: String,
    now: Timestamp,
    columns: String,
    types: String,
    cases: Vec<Case>,
}

#[derive(Default)]
struct Case {
    title: String,
    object: String,
    cells: String,
}

impl Table {
    fn read(file: &Path) -> Self {
        let mut table = Self {
            file: file.file_name().unwrap().to_string_lossy().into_owned(),
            group: String::new(),
            kind: String::new(),
            now: Timestamp::UNIX_EPOCH,
            columns: String::new(),
            types: String::new(),
            cases: Vec::new(),
        };
        for line in fs::read_to_string(file).unwrap().lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "" | "#" => {}
                "kind" => {
                    let (group, kind) = rest.split_once('/').unwrap_or(("", rest));
                    table.group = group.to_owned();
                    table.kind = kind.to_owned();
                }
                "now" => table.now = rest.parse().unwrap(),
                "columns" => table.columns = rest.to_owned(),
                "types" => table.types = rest.to_owned(),
                "case" => table.cases.push(Case {
                    title: rest.to_owned(),
                    ..Case::default()
                }),
                "->" => table.cases.last_mut().unwrap().cells = rest.to_owned(),
                _ => table.cases.last_mut().unwrap().object.push_str(line),
            }
        }
        table
    }

    fn check(&self, faults: &mut Vec<String>) {
        let printer = Printer::of(&self.group, &self.kind);
        let columns = printer.columns();
        let names: Vec<_> = columns
            .iter()
            .map(|column| {
                let format = match column.format.as_ref() {
                    "" => String::new(),
                    format => format!(":{format}"),
                };
                let wide = if column.priority > 0 { "*" } else { "" };
                format!("{}{format}{wide}", column.name)
            })
            .collect();
        let types: Vec<_> = columns.iter().map(|column| column.kind.as_str()).collect();
        let mut compare = |what: &str, expected: &str, found: &str| {
            if expected != found {
                let file = &self.file;
                faults.push(format!(
                    "{file}: {what}\n  expected {expected}\n  found    {found}"
                ));
            }
        };
        compare("columns", &self.columns, &names.join(", "));
        compare("types", &self.types, &types.join(", "));
        for case in &self.cases {
            let object = match Object::read(case.object.as_bytes(), &printer) {
                Ok(object) => object,
                Err(error) => {
                    compare(&case.title, "an object", &error.to_string());
                    continue;
                }
            };
            let row = printer.row(&object, self.now);
            compare(&case.title, &case.cells, &row.to_json());
            let counts = format!("{} cells", columns.len());
            compare(&case.title, &counts, &format!("{} cells", row.cells.len()));
        }
    }
}

#[test]
fn a_finished_pod_says_so_to_clients_that_hide_it() {
    let printer = Printer::of("", "Pod");
    let reason = |phase: &str| {
        let bytes = format!(r#"{{"status":{{"phase":"{phase}"}}}}"#);
        let object = Object::read(bytes.as_bytes(), &printer).unwrap();
        let row = printer.row(&object, Timestamp::UNIX_EPOCH);
        row.conditions
            .first()
            .map(|condition| (condition.kind, condition.reason))
    };
    assert_eq!(reason("Succeeded"), Some(("Completed", "Succeeded")));
    assert_eq!(reason("Failed"), Some(("Completed", "Failed")));
    assert_eq!(reason("Running"), None);
}

#[test]
fn what_is_no_object_is_refused() {
    let printer = Printer::of("", "Pod");
    for text in [
        "",
        "[]",
        "null",
        "{",
        "{} x",
        r#"{"spec":"#,
        "{\"a\":\"\u{1}\"}",
    ] {
        assert!(Object::read(text.as_bytes(), &printer).is_err(), "{text:?}");
    }
    let deep = format!("{{\"spec\":{}{}}}", "[".repeat(200), "]".repeat(200));
    assert!(Object::read(deep.as_bytes(), &printer).is_err());
}

/// Wrong types can be stored by nobody, but a table must not depend on it.
#[test]
fn members_of_other_types_read_as_missing() {
    let odd = [
        "null",
        "1",
        "\"x\"",
        "[]",
        "{}",
        "[null]",
        "[[1]]",
        r#"{"a":1}"#,
        "[{}]",
        "true",
    ];
    for file in files() {
        let table = Table::read(&file);
        let printer = Printer::of(&table.group, &table.kind);
        for member in [
            "metadata", "spec", "status", "data", "subsets", "ports", "series", "type",
        ] {
            for value in odd {
                let bytes = format!("{{\"{member}\":{value}}}");
                let object = Object::read(bytes.as_bytes(), &printer).unwrap();
                let row = printer.row(&object, table.now);
                assert_eq!(row.cells.len(), printer.columns().len(), "{bytes}");
            }
        }
    }
}
