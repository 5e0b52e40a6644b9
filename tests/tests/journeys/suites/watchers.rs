//! Watches of config maps.

use futures_util::future::join_all;
use http::{Method, StatusCode};
use serde_json::Value;

use super::{config_map, create, delete_options, namespace, suites};
use crate::wire::{Event, Events, Wire, revision};

const FLAGS: &[&str] = &[];

suites!(observe, begin_and_begin_again, leave_and_enter, same_order);

async fn watch(wire: &Wire, collection: &str, query: &str) -> Events {
    let path = format!("{collection}?watch=true&{query}");
    wire.watch(&path).await.expect("a watch")
}

/// Just what the writer was told, and nothing else.
#[track_caller]
fn assert_is(event: &Event, kind: &str, object: &Value) {
    assert_eq!((event.kind.as_str(), &event.object), (kind, object));
}

/// Three watches by label; each sees its own, in the words of who wrote it.
async fn observe(wire: &Wire, name: &str) {
    let plain = wire.with("accept", "application/json");
    assert_eq!(plain.get("/version").await["major"], "1");
    let both = wire.with(
        "accept",
        "application/vnd.kubernetes.protobuf,application/json",
    );
    let service = both
        .get("/api/v1/namespaces/default/services/kubernetes")
        .await;
    assert_eq!(service["metadata"]["name"], "kubernetes");

    let home = namespace(wire, name).await;
    let maps = format!("{home}/configmaps");
    let list = wire.get(&maps).await;
    assert_eq!(list["items"].as_array().map_or(0, Vec::len), 0);
    let mut a = watch(wire, &maps, "labelSelector=watched+in+%28A%29").await;
    let mut b = watch(wire, &maps, "labelSelector=watched+in+%28B%29").await;
    let mut ab = watch(wire, &maps, "labelSelector=watched+in+%28A%2CB%29").await;
    for (label, own) in [("A", &mut a), ("B", &mut b)] {
        let name = label.to_lowercase();
        let path = format!("{maps}/{name}");
        let created = create(wire, &maps, config_map(&name, label, 0)).await;
        // With the revision, and without: whatever it is by then.
        let mut object = config_map(&name, label, 1);
        object["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"].clone();
        let changed = wire.ask(Method::PUT, &path, Some(object)).await;
        let object = config_map(&name, label, 2);
        let again = wire.ask(Method::PUT, &path, Some(object)).await;
        assert_eq!(wire.get(&path).await, again);
        let answer = wire
            .answer(Method::DELETE, &path, Some(delete_options()))
            .await;
        assert_eq!(answer.status, StatusCode::OK);
        for events in [own, &mut ab] {
            assert_is(&events.expect().await, "ADDED", &created);
            assert_is(&events.expect().await, "MODIFIED", &changed);
            assert_is(&events.expect().await, "MODIFIED", &again);
            let end = events.expect().await;
            assert_eq!((end.kind.as_str(), end.name()), ("DELETED", &*name));
            assert!(end.revision() > revision(&again));
        }
    }
    let answer = wire
        .answer(Method::DELETE, &home, Some(delete_options()))
        .await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
}

/// From a revision in the past, and from the last one that a watch has told of.
async fn begin_and_begin_again(wire: &Wire, name: &str) {
    let maps = format!("{}/configmaps", namespace(wire, name).await);
    let path = format!("{maps}/a");
    create(wire, &maps, config_map("a", "A", 0)).await;
    let first = wire
        .ask(Method::PUT, &path, Some(config_map("a", "A", 1)))
        .await;
    let mut cut_off = watch(
        wire,
        &maps,
        &format!("resourceVersion={}", revision(&first)),
    )
    .await;
    let second = wire
        .ask(Method::PUT, &path, Some(config_map("a", "A", 2)))
        .await;
    assert_is(&cut_off.expect().await, "MODIFIED", &second);
    drop(cut_off);
    wire.ask(Method::DELETE, &path, Some(delete_options()))
        .await;
    let mut from_first = watch(
        wire,
        &maps,
        &format!("resourceVersion={}", revision(&first)),
    )
    .await;
    assert_is(&from_first.expect().await, "MODIFIED", &second);
    let deleted = from_first.expect().await;
    assert_eq!(deleted.kind, "DELETED");
    let mut from_second = watch(
        wire,
        &maps,
        &format!("resourceVersion={}", revision(&second)),
    )
    .await;
    assert_is(&from_second.expect().await, "DELETED", &deleted.object);
    // Nothing is repeated to who has seen the end.
    let created = create(wire, &maps, config_map("a", "A", 3)).await;
    let mut from_end = watch(
        wire,
        &maps,
        &format!("resourceVersion={}", deleted.revision()),
    )
    .await;
    assert_is(&from_end.expect().await, "ADDED", &created);
}

/// A label that changes takes the object out of the selection and brings it back.
async fn leave_and_enter(wire: &Wire, name: &str) {
    let maps = format!("{}/configmaps", namespace(wire, name).await);
    let path = format!("{maps}/a");
    let put =
        |label: &str, value: u32| wire.ask(Method::PUT, &path, Some(config_map("a", label, value)));
    let mut events = watch(wire, &maps, "labelSelector=watched%3DA").await;
    let created = create(wire, &maps, config_map("a", "A", 0)).await;
    let changed = put("A", 1).await;
    let left = put("B", 1).await;
    put("B", 2).await;
    let back = put("A", 3).await;
    assert_is(&events.expect().await, "ADDED", &created);
    assert_is(&events.expect().await, "MODIFIED", &changed);
    let gone = events.expect().await;
    assert_eq!((gone.kind.as_str(), gone.name()), ("DELETED", "a"));
    assert_eq!(gone.revision(), revision(&left));
    assert_eq!(
        gone.object["metadata"]["labels"]["watched"], "A",
        "as it was"
    );
    assert_is(&events.expect().await, "ADDED", &back);
}

/// A hundred watches, each from one more event on, see one order.
async fn same_order(wire: &Wire, name: &str) {
    const WATCHES: usize = 100;
    const CHANGES: usize = 110;
    let maps = format!("{}/configmaps", namespace(wire, name).await);
    let start = revision(&wire.get(&maps).await);
    let mut first = watch(wire, &maps, &format!("resourceVersion={start}")).await;
    let writing = async {
        let mut present = [false; 5];
        for number in 0..CHANGES {
            let which = number * 7 % present.len();
            let name = format!("n-{which}");
            let path = format!("{maps}/{name}");
            let object = config_map(&name, "A", number as u32);
            match (present[which], number % 3) {
                (false, _) => {
                    create(wire, &maps, object).await;
                }
                (true, 0) => {
                    wire.ask(Method::DELETE, &path, Some(delete_options()))
                        .await;
                }
                (true, _) => {
                    wire.ask(Method::PUT, &path, Some(object)).await;
                }
            }
            present[which] = !present[which] || number % 3 != 0;
        }
    };
    let watching = async {
        let mut order = Vec::new();
        let mut watches = Vec::new();
        while order.len() < CHANGES {
            let at = first.expect().await.revision();
            order.push(at);
            if watches.len() < WATCHES {
                let query = format!("allowWatchBookmarks=true&resourceVersion={at}");
                watches.push((order.len(), watch(wire, &maps, &query).await));
            }
        }
        (order, watches)
    };
    let ((), (order, watches)) = tokio::join!(writing, watching);
    assert!(order.is_sorted());
    assert_eq!(watches.len(), WATCHES);
    join_all(watches.into_iter().map(|(begun, mut events)| {
        let order = &order;
        async move {
            for expected in &order[begun..] {
                let event = events.expect().await;
                if event.kind != "BOOKMARK" {
                    assert_eq!(event.revision(), *expected);
                }
            }
        }
    }))
    .await;
}
