//! Lists that come as the events of a watch.

use http::Method;
use serde_json::{Value, json};

use super::{create, delete_options, namespace, suites};
use crate::wire::{Event, Wire, revision};

const FLAGS: &[&str] = &[];
const QUERY: &str =
    "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
const SELECTED: &str = "labelSelector=watchlist%3Dtrue";

suites!(secrets);

fn secret(name: &str, value: &str) -> Value {
    json!({
        "kind": "Secret", "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"watchlist": "true"}},
        "stringData": {"user": value},
    })
}

/// The metadata of what an event tells of: of the object, or of the only row of a table.
fn metadata(event: &Event) -> &Value {
    match &event.object["rows"][0]["object"] {
        Value::Null => &event.object["metadata"],
        row => &row["metadata"],
    }
}

async fn secrets(wire: &Wire, name: &str) {
    let secrets = format!("{}/secrets", namespace(wire, name).await);
    let mut last = Value::Null;
    for number in 0..3 {
        let object = secret(&format!("s-{number}"), "admin");
        last = create(wire, &secrets, object).await;
        // Written in clear, stored and shown in base64.
        assert_eq!(last["data"], json!({"user": "YWRtaW4="}));
        assert_eq!(last.get("stringData"), None);
    }
    let mut other = secret("other", "admin");
    other["metadata"]["labels"] = json!({});
    create(wire, &secrets, other).await;
    // A list from the cache that has them all, then one as old as it likes.
    let fresh = format!(
        "{secrets}?{SELECTED}&resourceVersionMatch=NotOlderThan&resourceVersion={}",
        revision(&last)
    );
    for path in [
        fresh,
        format!("{secrets}?{SELECTED}"),
        format!("{secrets}?{SELECTED}&limit=500&resourceVersion=0"),
    ] {
        let list = wire.get(&path).await;
        assert_eq!(list["items"].as_array().map(Vec::len), Some(3), "{path}");
    }

    let as_table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let as_metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    for (round, (kind, wire)) in [
        ("Secret", wire.clone()),
        ("Table", wire.with("accept", as_table)),
        ("PartialObjectMetadata", wire.with("accept", as_metadata)),
    ]
    .iter()
    .enumerate()
    {
        let path = format!("{secrets}?{QUERY}&{SELECTED}&timeoutSeconds=20");
        let mut events = wire.watch(&path).await.expect("a watch");
        for number in 0..3 {
            let event = events.expect().await;
            assert_eq!(
                (event.kind.as_str(), &event.object["kind"]),
                ("ADDED", &json!(kind))
            );
            assert_eq!(metadata(&event)["name"], format!("s-{number}"));
            // The columns come once.
            if *kind == "Table" {
                assert_eq!(event.object["columnDefinitions"].is_array(), number == 0);
            }
        }
        let bookmark = events.expect().await;
        assert_eq!(
            (bookmark.kind.as_str(), &bookmark.object["kind"]),
            ("BOOKMARK", &json!(kind))
        );
        let marked = metadata(&bookmark);
        assert_eq!(marked["annotations"]["k8s.io/initial-events-end"], "true");
        let at: u64 = marked["resourceVersion"]
            .as_str()
            .and_then(|at| at.parse().ok())
            .expect("a revision");
        assert!(at >= revision(&last));
        // And then as any other watch.
        let wire = &wire.speaking(crate::wire::Form::Json);
        create(wire, &secrets, secret("late", "admin")).await;
        let path = format!("{secrets}/late");
        let mut object = wire.get(&path).await;
        object["data"] = json!({"round": "MQ=="});
        wire.ask(Method::PUT, &path, Some(object)).await;
        wire.ask(Method::DELETE, &path, Some(delete_options()))
            .await;
        for expected in ["ADDED", "MODIFIED", "DELETED"] {
            let event = events.expect().await;
            assert_eq!(event.kind, expected, "{round}: {event:?}");
            assert_eq!(metadata(&event)["name"], "late");
        }
    }
}
