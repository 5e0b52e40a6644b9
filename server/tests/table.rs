//! Tables and bare metadata, as answers and as lines of a watch.

use jiff::Timestamp;
use ringwatch_core::transition::EventKind;
use ringwatch_server::columns::Printer;
use ringwatch_server::table::{Bookmark, Headings, Include, Page, Partial, Table, Version};
use serde_json::{Value, json};

const A: &str = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a", "labels":{"x":"y"},"resourceVersion":"5","creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{"manager":"m"}]},"data":{"k":"v"}}"#;
const B: &str = r#"{"metadata":{"name":"b","resourceVersion":"6"}}"#;

fn now() -> Timestamp {
    "2026-01-01T00:01:00Z".parse().unwrap()
}

fn table(printer: &Printer, include: Include) -> Table<'_> {
    Table {
        printer,
        version: Version::V1,
        include,
        now: now(),
    }
}

fn written<E: std::fmt::Debug>(write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> String {
    let mut out = b"before ".to_vec();
    write(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.strip_prefix("before ").unwrap().to_owned()
}

fn parsed(text: &str) -> Value {
    assert!(
        text.ends_with('\n') && text.matches('\n').count() == 1,
        "{text:?}"
    );
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_list_has_its_page_its_columns_and_a_row_for_each_object() {
    let printer = Printer::of("", "ConfigMap");
    let page = Page {
        resource_version: "9",
        next: "token",
        remaining: Some(4),
    };
    let text = written(|out| table(&printer, Include::Metadata).list(&page, [A, B], out));
    let list = parsed(&text);
    assert_eq!(list["kind"], "Table");
    assert_eq!(list["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(
        list["metadata"],
        json!({"resourceVersion":"9","continue":"token","remainingItemCount":4})
    );
    let columns = list["columnDefinitions"].as_array().unwrap();
    assert_eq!(columns.len(), 3);
    assert_eq!(columns[0]["name"], "Name");
    assert_eq!(columns[0]["type"], "string");
    assert_eq!(columns[0]["format"], "name");
    assert_eq!(columns[0]["priority"], 0);
    assert!(columns[0]["description"].as_str().unwrap().len() > 10);
    let rows = list["rows"].as_array().unwrap();
    assert_eq!(rows[0]["cells"], json!(["a", 1, "60s"]));
    assert_eq!(rows[1]["cells"], json!(["b", 0, "<unknown>"]));
    assert_eq!(rows[1]["object"]["kind"], "PartialObjectMetadata");
    // Byte for byte, odd spaces and managed fields included.
    assert!(text.contains(
        r#""object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a", "labels":{"x":"y"},"resourceVersion":"5","creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{"manager":"m"}]}}"#
    ));
}

#[test]
fn an_empty_list_has_an_empty_array_of_rows() {
    let printer = Printer::of("", "ConfigMap");
    let none: [&[u8]; 0] = [];
    let list = parsed(&written(|out| {
        table(&printer, Include::Metadata).list(&Page::at("1"), none, out)
    }));
    assert_eq!(list["rows"], json!([]));
    assert_eq!(list["columnDefinitions"].as_array().unwrap().len(), 3);
}

#[test]
fn a_row_carries_as_much_of_its_object_as_was_asked_for() {
    let printer = Printer::of("", "ConfigMap");
    let object = |include| {
        let text = written(|out| table(&printer, include).object(A.as_bytes(), out));
        parsed(&text)["rows"][0]["object"].clone()
    };
    assert_eq!(object(Include::None), Value::Null);
    assert_eq!(
        object(Include::Object),
        serde_json::from_str::<Value>(A).unwrap()
    );
    assert_eq!(object(Include::Metadata)["metadata"]["name"], "a");
    assert_eq!(object(Include::Metadata)["data"], Value::Null);
}

#[test]
fn one_object_is_a_table_at_its_own_revision() {
    let printer = Printer::of("", "ConfigMap");
    let one = parsed(&written(|out| {
        Table {
            version: Version::V1Beta1,
            ..table(&printer, Include::Metadata)
        }
        .object(A.as_bytes(), out)
    }));
    assert_eq!(one["metadata"], json!({"resourceVersion":"5"}));
    assert_eq!(one["apiVersion"], "meta.k8s.io/v1beta1");
    assert_eq!(
        one["rows"][0]["object"]["apiVersion"],
        "meta.k8s.io/v1beta1"
    );
}

#[test]
fn only_the_first_event_names_the_columns() {
    let printer = Printer::of("", "ConfigMap");
    let line = |kind, headings| {
        let table = table(&printer, Include::Metadata);
        parsed(&written(|out| {
            table.event(kind, A.as_bytes(), headings, out)
        }))
    };
    let first = line(EventKind::Added, Headings::Shown);
    assert_eq!(first["type"], "ADDED");
    assert_eq!(
        first["object"]["columnDefinitions"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(first["object"]["metadata"], json!({"resourceVersion":"5"}));
    let next = line(EventKind::Deleted, Headings::Known);
    assert_eq!(next["type"], "DELETED");
    assert_eq!(next["object"]["columnDefinitions"], Value::Null);
    assert!(
        next["object"]
            .as_object()
            .unwrap()
            .contains_key("columnDefinitions")
    );
    assert_eq!(next["object"]["rows"].as_array().unwrap().len(), 1);
    assert_eq!(
        line(EventKind::Modified, Headings::Known)["type"],
        "MODIFIED"
    );
}

#[test]
fn a_bookmark_is_one_row_that_shows_the_annotation_whatever_is_included() {
    let printer = Printer::of("", "ConfigMap");
    let row = |include, initial_events_end| {
        let bookmark = Bookmark {
            kind: "ConfigMap",
            api_version: "v1",
            resource_version: "282",
            initial_events_end,
        };
        let table = table(&printer, include);
        let line = parsed(&written(|out| {
            table.bookmark(&bookmark, Headings::Known, out)
        }));
        assert_eq!(line["type"], "BOOKMARK");
        assert_eq!(line["object"]["metadata"]["resourceVersion"], "282");
        let rows = line["object"]["rows"].as_array().unwrap().clone();
        assert_eq!(rows.len(), 1);
        rows[0].clone()
    };
    let end = "k8s.io/initial-events-end";
    for include in [Include::None, Include::Metadata, Include::Object] {
        let object = &row(include, true)["object"];
        assert_eq!(
            object["metadata"]["annotations"][end], "true",
            "{include:?}"
        );
    }
    assert_eq!(row(Include::None, false)["object"], Value::Null);
    let plain = row(Include::Metadata, false);
    assert_eq!(
        plain["object"]["metadata"],
        json!({"resourceVersion":"282"})
    );
    assert_eq!(plain["cells"].as_array().unwrap().len(), 3);
}

#[test]
fn a_finished_pod_has_a_condition() {
    let printer = Printer::of("", "Pod");
    let pod = br#"{"metadata":{"name":"p"},"status":{"phase":"Succeeded"}}"#;
    let row = parsed(&written(|out| {
        table(&printer, Include::None).object(pod, out)
    }));
    assert_eq!(
        row["rows"][0]["conditions"],
        json!([{"type":"Completed","status":"True","reason":"Succeeded","message":"The pod has completed successfully."}])
    );
    let pod = br#"{"metadata":{"name":"p"}}"#;
    let row = parsed(&written(|out| {
        table(&printer, Include::None).object(pod, out)
    }));
    assert_eq!(row["rows"][0].get("conditions"), None);
}

#[test]
fn what_to_include_is_parsed_and_refused_in_upstreams_words() {
    assert_eq!(Include::parse(""), Ok(Include::Metadata));
    assert_eq!(Include::parse("Metadata"), Ok(Include::Metadata));
    assert_eq!(Include::parse("None"), Ok(Include::None));
    assert_eq!(Include::parse("Object"), Ok(Include::Object));
    assert_eq!(
        Include::parse("all").unwrap_err().to_string(),
        "Unable to convert to Table as requested: includeObject: Invalid value: \"all\": must be 'Metadata', 'Object', 'None', or empty"
    );
}

#[test]
fn an_unreadable_object_leaves_nothing_behind() {
    let printer = Printer::of("", "ConfigMap");
    let table = table(&printer, Include::Metadata);
    let partial = Partial {
        version: Version::V1,
    };
    let mut out = b"before".to_vec();
    assert!(table.list(&Page::at("1"), [A, "{"], &mut out).is_err());
    assert!(table.object(b"[]", &mut out).is_err());
    assert!(
        table
            .event(EventKind::Added, b"", Headings::Shown, &mut out)
            .is_err()
    );
    assert!(partial.list(&Page::at("1"), [A, "{"], &mut out).is_err());
    assert!(partial.object(b"[]", &mut out).is_err());
    assert!(partial.event(EventKind::Added, b"{", &mut out).is_err());
    assert_eq!(out, b"before");
}

#[test]
fn bare_metadata_is_cut_out_of_the_bytes() {
    let partial = Partial {
        version: Version::V1,
    };
    let bare = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"b","resourceVersion":"6"}}"#;
    assert_eq!(
        written(|out| partial.object(B.as_bytes(), out)),
        format!("{bare}\n")
    );
    assert_eq!(
        written(|out| partial.list(&Page::at("9"), [B, B], out)),
        format!(
            "{{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{{\"resourceVersion\":\"9\"}},\"items\":[{bare},{bare}]}}\n"
        )
    );
    assert_eq!(
        written(|out| partial.event(EventKind::Modified, B.as_bytes(), out)),
        format!("{{\"type\":\"MODIFIED\",\"object\":{bare}}}\n")
    );
    let bookmark = Bookmark {
        kind: "ConfigMap",
        api_version: "v1",
        resource_version: "7",
        initial_events_end: true,
    };
    assert_eq!(
        written(|out| partial.bookmark(&bookmark, out)),
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"resourceVersion\":\"7\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
    );
    for odd in ["{}", r#"{"metadata":null}"#, r#"{"metadata":[1]}"#] {
        let text = written(|out| partial.object(odd.as_bytes(), out));
        assert_eq!(parsed(&text)["metadata"], json!({}), "{odd}");
    }
}
