//! Reading objects of the built-in kinds.

use std::fmt::Write as _;

use ringwatch_server::resources::{Catalog, Resource};
use ringwatch_server::schema::decode::{remarks, strict_message};
use ringwatch_server::schema::quantity::canonical;
use ringwatch_server::schema::time::{self, Precision};
use ringwatch_server::schema::{Definition, decode, parse};

fn definition(kind: &str) -> &'static Definition {
    let catalog = Catalog::builtin();
    let named = |row: &&std::sync::Arc<Resource>| row.kind == kind;
    let row = catalog.resources().iter().find(named).unwrap();
    Definition::find(row.schema_name().unwrap()).unwrap()
}

#[test]
fn objects_are_decoded_as_the_golden_file_says() {
    let mut wrong = String::new();
    let lines = include_str!("golden/decode.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut cases: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines {
        match cases.last_mut() {
            Some((_, expected)) if line.starts_with(['=', '?', '!']) => expected.push(line),
            _ => cases.push((line, Vec::new())),
        }
    }
    for (case, expected) in cases {
        let (kind, text) = case.split_once(' ').unwrap();
        let found = outcome(kind, text);
        if found != expected {
            writeln!(wrong, "{case}\n  {}", found.join("\n  ")).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn outcome(kind: &str, text: &str) -> Vec<String> {
    let parsed = parse(text.as_bytes()).unwrap();
    let mut value = parsed.value.clone();
    match decode(&mut value, definition(kind)) {
        Err(error) => vec![format!("! {error}")],
        Ok(unknown) => {
            let unchanged = value == parsed.value && parsed.duplicates.is_empty();
            let kept = if unchanged {
                "-".to_owned()
            } else {
                value.to_string()
            };
            let mut lines = vec![format!("= {kept}")];
            let remarks = remarks(&unknown, &parsed.duplicates);
            lines.extend(remarks.iter().map(|remark| format!("? {remark}")));
            lines
        }
    }
}

#[test]
fn the_messages_to_clients_name_the_kind() {
    let mut value = serde_json::json!({"spec": {"replicas": "3"}});
    let error = decode(&mut value, definition("Deployment")).unwrap_err();
    assert_eq!(
        error.message("Deployment", "v1"),
        "Deployment in version \"v1\" cannot be handled as a Deployment: \
         json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    );
    let remarks = remarks(&["spec.foo".into()], &["data.a".into()]);
    assert_eq!(
        strict_message("ConfigMap", "v1", &remarks).unwrap(),
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: \
         strict decoding error: unknown field \"spec.foo\", duplicate field \"data.a\""
    );
    assert_eq!(strict_message("ConfigMap", "v1", &[]), None);
}

#[test]
fn bytes_that_are_not_one_value_are_refused() {
    for text in [
        "",
        "{",
        "{} {}",
        "{}x",
        "{\"a\":}",
        "nul",
        "[1,]",
        "{\"a\":1e999}",
        "'x'",
    ] {
        assert!(parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(nested(100).as_bytes()).is_ok());
    assert!(parse(nested(1_000_000).as_bytes()).is_err());
    let objects = "{\"a\":".repeat(100_000);
    assert!(parse(objects.as_bytes()).is_err());
}

#[test]
fn bad_utf8_in_a_text_is_replaced() {
    let parsed = parse(b"{\"data\":{\"a\":\"x\xffy\"}}").unwrap();
    assert_eq!(parsed.value["data"]["a"], "x\u{fffd}y");
}

#[test]
fn remarks_are_bounded() {
    let fields: Vec<String> = (0..1000)
        .map(|n| format!("\"f{n}\":1,\"f{n}\":2"))
        .collect();
    let parsed = parse(format!("{{{}}}", fields.join(",")).as_bytes()).unwrap();
    assert_eq!(parsed.duplicates.len(), 100);
    let mut value = parsed.value;
    let unknown = decode(&mut value, definition("ConfigMap")).unwrap();
    assert_eq!(unknown.len(), 100);
    assert_eq!(value, serde_json::json!({}));
    assert_eq!(remarks(&unknown, &parsed.duplicates).len(), 100);
}

#[test]
fn every_built_in_kind_has_a_type_with_metadata() {
    for row in Catalog::builtin().resources() {
        let definition = Definition::find(row.schema_name().unwrap()).unwrap();
        assert_eq!(definition.short_name(), row.kind);
        for field in ["apiVersion", "kind", "metadata"] {
            assert!(definition.field(field).is_some(), "{} {field}", row.kind);
        }
        let has_status = definition.field("status").is_some();
        assert!(!row.has_status() || has_status, "{}", row.kind);
    }
}

#[test]
fn amounts_have_one_form() {
    let cases = [
        ("0", "0"),
        ("0Gi", "0"),
        ("-0", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("01", "1"),
        ("1.", "1"),
        (".5", "500m"),
        ("0.5", "500m"),
        ("0.25", "250m"),
        ("1.5", "1500m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("-0.1", "-100m"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("12000000", "12M"),
        ("100k", "100k"),
        ("0.1k", "100"),
        ("1000E", "1000E"),
        ("1024Ki", "1Mi"),
        ("1Gi", "1Gi"),
        ("2048Mi", "2Gi"),
        ("1536Mi", "1536Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1023Ki", "1023Ki"),
        ("1.0001Ki", "1024102400u"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("12e2", "1200"),
        ("100e-3", "100e-3"),
        ("1e0", "1"),
        ("5n", "5n"),
        ("1u", "1u"),
        ("0.001u", "1n"),
        // Beyond what is computed with: left alone.
        ("0.1n", "0.1n"),
        ("1e99999999999", "1e99999999999"),
        ("1e40", "1e40"),
    ];
    for (text, expected) in cases {
        assert_eq!(canonical(text).as_deref(), Ok(expected), "{text}");
        assert_eq!(
            canonical(expected).as_deref(),
            Ok(expected),
            "{expected}, again"
        );
    }
    for text in [
        "", "-", ".", "m", "1.2.3", "1 Gi", "1gi", "1mm", "1e", "1e+", "1e1.5", "0x10", "--1",
        "1Ki2",
    ] {
        assert!(canonical(text).is_err(), "{text}");
    }
    let long = "9".repeat(1000);
    assert_eq!(canonical(&long), Ok(long));
}

#[test]
fn moments_have_one_form() {
    let cases = [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"),
        (
            "2026-01-02T03:04:05.1234567Z",
            "2026-01-02T03:04:05.123456Z",
        ),
        ("2026-01-02T03:04:05.1-00:30", "2026-01-02T03:34:05.100000Z"),
        ("2024-03-01T00:00:00+00:01", "2024-02-29T23:59:00.000000Z"),
        ("2100-03-01T00:00:00+00:01", "2100-02-28T23:59:00.000000Z"),
        ("2000-02-29T23:59:59-00:01", "2000-03-01T00:00:59.000000Z"),
        ("1969-12-31T23:00:00-02:00", "1970-01-01T01:00:00.000000Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000000Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            time::canonical(text, Precision::Micros).as_deref(),
            Some(expected),
            "{text}"
        );
        assert_eq!(
            time::canonical(expected, Precision::Micros).as_deref(),
            Some(expected)
        );
    }
    let wrong = [
        "",
        "2026",
        "2026-01-02",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04:05",
        "2026-01-02T03:04:05z",
        "2026-02-29T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T00:60:00Z",
        "2026-01-02T00:00:60Z",
        "2026-01-02T00:00:00.Z",
        "2026-01-02T00:00:00+1:00",
        "2026-01-02T00:00:00+24:00",
        "2026-01-02T00:00:00Z ",
        "+026-01-02T00:00:00Z",
        "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-01-02T00:00:00é",
    ];
    for text in wrong {
        assert_eq!(time::canonical(text, Precision::Seconds), None, "{text}");
    }
}

#[test]
fn every_day_of_four_centuries_is_itself() {
    // Noon in a place twelve hours behind is the next midnight here, whichever month and year that is in.
    let mut day = "1900-01-01T12:00:00Z".to_owned();
    let mut count = 0;
    while *day < *"2300-01-01" {
        let noon_there = day.replace('Z', "-12:00");
        let midnight = time::canonical(&noon_there, Precision::Seconds).unwrap();
        let next = midnight.replace("T00:", "T12:");
        assert!(next > day, "{day}, then {next}");
        day = next;
        count += 1;
    }
    assert_eq!(count, 146_097, "days in 400 years");
}
