//! The columns of custom resources: paths, types, bounds.

use jiff::Timestamp;
use ringwatch_server::columns::custom::{
    Columns, JsonPath, MAX_BYTES, MAX_COLUMNS, MAX_STEPS, Wanted,
};
use ringwatch_server::columns::{ColumnKind, Object, Printer};

const OBJECT: &str = r#"{"metadata":{"name":"w","creationTimestamp":"2026-11-16T11:00:00Z",
"annotations":{"example.com/size":"big","a":"b"}},
"spec":{"text":"t","whole":3,"part":2.5,"yes":true,"nothing":null,"when":"2026-11-16T11:58:00Z","odd":"soon","empty":"",
"list":[1,2,3],"map":{"b":1,"a":{"x":"<&>"}},"$ref":"r"},
"status":{"conditions":[{"type":"Ready","status":"True","n":1},{"type":"Synced","status":"False","n":2}],
"deep":{"er":{"goal":"found"}}}}"#;

fn cell(kind: ColumnKind, path: &str) -> String {
    let wanted = Wanted {
        name: "X",
        kind,
        format: "",
        description: "",
        priority: 0,
        json_path: path,
    };
    let printer = Printer::custom(Columns::new(&[wanted]).unwrap());
    let object = Object::read(OBJECT.as_bytes(), &printer).unwrap();
    let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
    let row = printer.row(&object, now).to_json();
    let cell = row
        .strip_prefix(r#"["w","#)
        .unwrap()
        .strip_suffix(']')
        .unwrap();
    cell.to_owned()
}

#[test]
fn paths_lead_to_values() {
    for (path, expected) in [
        (".spec.text", r#""t""#),
        ("spec.text", r#""t""#),
        ("$.spec.text", r#""t""#),
        ("{.spec.text}", r#""t""#),
        (".metadata.name", r#""w""#),
        (".spec['text']", r#""t""#),
        (r#".spec["text"]"#, r#""t""#),
        (".metadata.annotations['example.com/size']", r#""big""#),
        (r".metadata.annotations.example\.com/size", r#""big""#),
        (r".spec.\$ref", r#""r""#),
        (".spec.list[0]", r#""1""#),
        (".spec.list[-1]", r#""3""#),
        (".spec.list[3]", "null"),
        (".spec.list[-4]", "null"),
        (".spec.list[*]", r#""1""#),
        (".spec.list[1:]", r#""2""#),
        (".spec.list[:1]", r#""1""#),
        (".spec.list[-2:]", r#""2""#),
        (".spec.list[1:3:2]", r#""2""#),
        (".spec.list[2:1]", "null"),
        (".spec.list", r#""[1,2,3]""#),
        (".spec.map", r#""{\"a\":{\"x\":\"<&>\"},\"b\":1}""#),
        (".spec.map.*", r#""1""#),
        (".spec['missing','text']", r#""t""#),
        (".spec.whole", r#""3""#),
        (".spec.part", r#""2.5""#),
        (".spec.yes", r#""true""#),
        (".spec.nothing", r#""null""#),
        (".spec.missing", "null"),
        (".missing.a.b", "null"),
        (".spec.text.deeper", "null"),
        (
            r#".status.conditions[?(@.type=="Ready")].status"#,
            r#""True""#,
        ),
        (
            ".status.conditions[?(@.type=='Synced')].status",
            r#""False""#,
        ),
        (
            r#".status.conditions[?( @.type == "None" )].status"#,
            "null",
        ),
        (
            r#".status.conditions[?(@.type!="Ready")].status"#,
            r#""False""#,
        ),
        (".status.conditions[?(@.n>1)].type", r#""Synced""#),
        (".status.conditions[?(@.n>=1)].type", r#""Ready""#),
        (".status.conditions[?(@.n<2)].type", r#""Ready""#),
        (".status.conditions[?(@.n<=0)].type", "null"),
        (".status.conditions[?(@.missing)].type", "null"),
        (".status.conditions[?(@.n)].type", r#""Ready""#),
        ("..goal", r#""found""#),
        (".status..goal", r#""found""#),
        (".status..missing", "null"),
    ] {
        assert_eq!(cell(ColumnKind::String, path), expected, "{path}");
    }
}

#[test]
fn a_value_of_another_type_leaves_the_cell_empty() {
    use ColumnKind::{Boolean, Date, Integer, Number};
    for (kind, path, expected) in [
        (Integer, ".spec.whole", "3"),
        (Integer, ".spec.part", "2"),
        (Integer, ".spec.text", "null"),
        (Integer, ".spec.nothing", "null"),
        (Number, ".spec.part", "2.5"),
        (Number, ".spec.whole", "3.0"),
        (Number, ".spec.yes", "null"),
        (Boolean, ".spec.yes", "true"),
        (Boolean, ".spec.text", "null"),
        (Date, ".metadata.creationTimestamp", r#""60m""#),
        (Date, ".spec.when", r#""2m""#),
        (Date, ".spec.odd", r#""<invalid>""#),
        (Date, ".spec.empty", r#""<unknown>""#),
        (Date, ".spec.whole", "null"),
        (Date, ".spec.missing", "null"),
    ] {
        assert_eq!(cell(kind, path), expected, "{kind:?} {path}");
    }
}

#[test]
fn the_name_comes_first_and_the_age_is_the_default() {
    let printer = Printer::custom(Columns::plain());
    let names: Vec<_> = printer
        .columns()
        .iter()
        .map(|column| &*column.name)
        .collect();
    assert_eq!(names, ["Name", "Age"]);
    assert_eq!(printer.columns()[1].kind, ColumnKind::Date);
    let object = Object::read(OBJECT.as_bytes(), &printer).unwrap();
    let row = printer.row(&object, "2026-11-16T11:00:30Z".parse().unwrap());
    assert_eq!(row.to_json(), r#"["w","30s"]"#);
}

#[test]
fn a_wrong_path_is_refused_with_its_place() {
    for (path, expected) in [
        ("", "the path is empty at byte 0"),
        (".a[", "unexpected character or end at byte 3"),
        (".a[0", "expected `]` at byte 4"),
        (".a[x]", "unexpected character or end at byte 3"),
        (".a['b]", "the text does not end at byte 3"),
        (".a..", "expected a name at byte 4"),
        (".a b", "unexpected character or end at byte 2"),
        (".a[?@.b]", "expected `(` at byte 4"),
        (".a[?(b)]", "expected `@` at byte 5"),
        (".a[?(@.b==)]", "expected a number at byte 10"),
        (".a[?(@.b==1]", "expected `)` at byte 11"),
        (".a[99999999999999999999]", "expected a number at byte 3"),
        (".a[::0]", "expected a number at byte 6"),
        (r".a\", "the text does not end at byte 3"),
        (".a]", "unexpected character or end at byte 2"),
    ] {
        let error = JsonPath::parse(path).unwrap_err();
        assert_eq!(error.to_string(), expected, "{path}");
    }
}

#[test]
fn everything_has_a_bound() {
    let steps = ".a".repeat(MAX_STEPS);
    assert!(JsonPath::parse(&steps).is_ok());
    assert!(JsonPath::parse(&format!("{steps}.a")).is_err());
    assert!(JsonPath::parse(&format!(".{}", "a".repeat(MAX_BYTES - 1))).is_ok());
    assert!(JsonPath::parse(&format!(".{}", "a".repeat(MAX_BYTES))).is_err());
    let nested = ".a[?(@".repeat(5) + &")]".repeat(5);
    assert!(JsonPath::parse(&nested).is_err());
    let wanted = Wanted {
        name: "X",
        kind: ColumnKind::String,
        format: "",
        description: "",
        priority: 0,
        json_path: ".a",
    };
    assert!(Columns::new(&vec![wanted; MAX_COLUMNS]).is_ok());
    assert!(Columns::new(&vec![wanted; MAX_COLUMNS + 1]).is_err());
}

/// Each search below doubles the work of the one before it; the walk gives up instead.
#[test]
fn a_costly_path_ends() {
    let path = JsonPath::parse(&format!("{}.goal", "..a".repeat(15))).unwrap();
    let printer = Printer::custom(Columns::plain());
    let bytes = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
    let object = Object::read(bytes.as_bytes(), &printer).unwrap();
    assert_eq!(path.first(&object), None);
}
