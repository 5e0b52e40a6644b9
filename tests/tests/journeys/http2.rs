//! List and watch over bare HTTP/2, with TLS as `admin.kubeconfig` has it.

use http::Method;
use ringwatch_tests::etcd::Version;
use serde_json::json;

use crate::store::{Site, Store};
use crate::wire::{Wire, revision};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn on_embedded() {
    list_and_watch(Store::Embedded).await;
}

#[tokio::test]
async fn on_etcd() {
    list_and_watch(Store::Etcd(Version::V3_5)).await;
}

async fn list_and_watch(store: Store) {
    let site = Site::start(store);
    let wire = Wire::connect(&site.program).await;
    let object = |name: &str, value: u32| json!({"metadata": {"name": name}, "data": {"value": value.to_string()}});
    let a = wire
        .ask(Method::POST, CONFIG_MAPS, Some(object("a", 0)))
        .await;
    let list = wire.get(CONFIG_MAPS).await;
    assert_eq!(list["kind"], "ConfigMapList");
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
    let start = revision(&list);
    assert!(start >= revision(&a));

    // Two watches and the writes share the connection.
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={start}");
    let mut from_list = wire.watch(&path).await.expect("a watch");
    let path = format!(
        "{CONFIG_MAPS}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    );
    let mut streamed = wire.watch(&path).await.expect("a watch");
    let first = streamed.expect().await;
    assert_eq!((first.kind.as_str(), first.name()), ("ADDED", "a"));
    let bookmark = streamed.expect().await;
    assert_eq!(bookmark.kind, "BOOKMARK");
    assert_eq!(
        bookmark.object["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );

    let created = wire
        .ask(Method::POST, CONFIG_MAPS, Some(object("b", 1)))
        .await;
    let changed = wire
        .ask(
            Method::PUT,
            &format!("{CONFIG_MAPS}/a"),
            Some(object("a", 2)),
        )
        .await;
    wire.ask(Method::DELETE, &format!("{CONFIG_MAPS}/b"), None)
        .await;
    for events in [&mut from_list, &mut streamed] {
        let event = events.expect().await;
        // Just what the writer got.
        assert_eq!((event.kind.as_str(), &event.object), ("ADDED", &created));
        let event = events.expect().await;
        assert_eq!((event.kind.as_str(), &event.object), ("MODIFIED", &changed));
        let event = events.expect().await;
        assert_eq!((event.kind.as_str(), event.name()), ("DELETED", "b"));
        assert!(
            event.revision() > revision(&changed),
            "an end has a revision of its own"
        );
    }

    // A watch that ends by its time ends as a whole answer does.
    let path = format!("{CONFIG_MAPS}?watch=true&timeoutSeconds=1&resourceVersion={start}");
    let mut short = wire.watch(&path).await.expect("a watch");
    let mut seen = 0;
    while short.next().await.is_some() {
        seen += 1;
    }
    assert_eq!(seen, 3, "the past is replayed");
}
