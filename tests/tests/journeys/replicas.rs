//! Two servers on one etcd: a revision of one is a revision of the other, so clients may move between them as they like.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use ringwatch_tests::etcd::{Server, Version};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use crate::program::Program;
use crate::wire::{Event, Wire, revision};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn object(name: &str, value: u64) -> Value {
    json!({"metadata": {"name": name}, "data": {"value": value.to_string()}})
}

fn value(event: &Event) -> u64 {
    let value = event.object["data"]["value"].as_str();
    value.and_then(|value| value.parse().ok()).expect("a value")
}

fn watch_from(revision: u64) -> String {
    format!("{CONFIG_MAPS}?watch=true&resourceVersion={revision}")
}

/// One watch per event, each at the other server.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_moves_at_every_event_loses_and_repeats_nothing() {
    const CHANGES: u64 = 150;
    let etcd = Server::start(Version::V3_5);
    let flags = ["--etcd", &etcd.endpoint()];
    let programs = [Program::start(&flags), Program::start(&flags)];
    let wires = [
        Wire::connect(&programs[0]).await,
        Wire::connect(&programs[1]).await,
    ];
    let start = revision(&wires[0].get(CONFIG_MAPS).await);

    let writer = tokio::spawn({
        let wires = wires.clone();
        async move {
            let mut written = Vec::new();
            let mut present = BTreeMap::new();
            for number in 0..CHANGES {
                // The writer moves, too.
                let wire = &wires[usize::from(number % 3 == 0)];
                let name = format!("object-{}", number % 7);
                let path = format!("{CONFIG_MAPS}/{name}");
                let kind = match present.contains_key(&name) {
                    false => {
                        wire.ask(Method::POST, CONFIG_MAPS, Some(object(&name, number)))
                            .await;
                        present.insert(name.clone(), number);
                        "ADDED"
                    }
                    true if number % 5 == 0 => {
                        wire.ask(Method::DELETE, &path, None).await;
                        "DELETED"
                    }
                    true => {
                        wire.ask(Method::PUT, &path, Some(object(&name, number)))
                            .await;
                        present.insert(name.clone(), number);
                        "MODIFIED"
                    }
                };
                let value = present[&name];
                if kind == "DELETED" {
                    present.remove(&name);
                }
                written.push((kind.to_owned(), name, value));
            }
            written
        }
    });

    let mut seen = Vec::new();
    let mut last = start;
    for number in 0..CHANGES {
        let wire = &wires[usize::from(number % 2 == 0)];
        let mut events = wire.watch(&watch_from(last)).await.expect("a watch");
        let event = events.next().await.expect("an event");
        assert!(event.revision() > last, "{event:?} after {last}");
        last = event.revision();
        seen.push((event.kind.clone(), event.name().to_owned(), value(&event)));
    }
    assert_eq!(seen, writer.await.expect("the writer"));
}

/// Every watcher goes on where it was, on the server that is left: no list, no gap, nothing twice.
#[tokio::test(flavor = "multi_thread")]
async fn watchers_of_a_killed_server_resume_on_the_other() {
    const WATCHERS: usize = 500;
    /// They share connections, as the watches of one process do. All connect anew at the same moment.
    const CONNECTIONS: usize = 20;
    const CHANGES: u64 = 150;
    const KILL_AFTER: u64 = 60;
    let etcd = Server::start(Version::V3_5);
    let flags = ["--etcd", &etcd.endpoint()];
    let mut killed = Program::start(&flags);
    let left = Arc::new(Program::start(&flags));
    let writer = Wire::connect(&left).await;
    writer
        .ask(Method::POST, CONFIG_MAPS, Some(object("a", 0)))
        .await;
    let start = revision(&writer.get(CONFIG_MAPS).await);

    let mut watchers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let wire = Wire::connect(&killed).await;
        let other = Arc::new(OnceCell::new());
        for _ in 0..WATCHERS / CONNECTIONS {
            let mut events = wire.watch(&watch_from(start)).await.expect("a watch");
            let (left, other) = (left.clone(), other.clone());
            watchers.spawn(async move {
                let mut moves = 0;
                let mut last = start;
                let mut seen = Vec::new();
                while seen.len() < CHANGES as usize {
                    match events.next().await {
                        Some(event) => {
                            assert_eq!(event.kind, "MODIFIED", "{event:?}");
                            last = event.revision();
                            seen.push(value(&event));
                        }
                        None => {
                            moves += 1;
                            let other = other.get_or_init(|| Wire::connect(&left)).await;
                            events = other.watch(&watch_from(last)).await.expect("a watch");
                        }
                    }
                }
                (moves, seen)
            });
        }
    }

    let path = format!("{CONFIG_MAPS}/a");
    for number in 1..=CHANGES {
        writer
            .ask(Method::PUT, &path, Some(object("a", number)))
            .await;
        if number == KILL_AFTER {
            killed.kill_hard();
        }
    }
    let expected: Vec<_> = (1..=CHANGES).collect();
    let mut done = 0;
    while let Some(watcher) = watchers.join_next().await {
        let (moves, seen) = watcher.expect("a watcher");
        assert_eq!(moves, 1);
        assert_eq!(seen, expected);
        done += 1;
    }
    assert_eq!(done, WATCHERS);
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition(number: usize) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things{number}.example.com")},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": format!("things{number}"), "kind": format!("Thing{number}")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    })
}

/// Whoever hears from one server that a kind is there finds it at the other, at once; and whoever hears that it is gone, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_one_server_lets_in_is_served_by_the_other() {
    const KINDS: usize = 12;
    let etcd = Server::start(Version::V3_5);
    let flags = ["--etcd", &etcd.endpoint()];
    let programs = [Program::start(&flags), Program::start(&flags)];
    let wires = [
        Wire::connect(&programs[0]).await,
        Wire::connect(&programs[1]).await,
    ];
    for number in 0..KINDS {
        let [here, there] = if number % 2 == 0 {
            [&wires[0], &wires[1]]
        } else {
            [&wires[1], &wires[0]]
        };
        let name = format!("things{number}.example.com");
        here.ask(Method::POST, DEFINITIONS, Some(definition(number)))
            .await;
        let path = format!("{DEFINITIONS}/{name}");
        let watch = format!("{DEFINITIONS}?watch=true&fieldSelector=metadata.name%3D{name}");
        let mut events = here.watch(&watch).await.expect("a watch");
        loop {
            let event = events.next().await.expect("an event");
            if event.object.to_string().contains("InitialNamesAccepted") {
                break;
            }
        }
        let kind = format!("/apis/example.com/v1/namespaces/default/things{number}");
        let object = json!({
            "apiVersion": "example.com/v1", "kind": format!("Thing{number}"), "metadata": {"name": "a"},
        });
        there.ask(Method::POST, &kind, Some(object)).await;
        let listed = here.get(&kind).await;
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
        // Deleted at the other, with its instance.
        let mut instances = here
            .watch(&format!(
                "{kind}?watch=true&resourceVersion={}",
                revision(&listed)
            ))
            .await
            .expect("a watch");
        there.ask(Method::DELETE, &path, None).await;
        let event = instances.next().await.expect("the end of the instance");
        assert_eq!(event.kind, "DELETED");
        assert_eq!(instances.next().await.map(|event| event.kind), None);
        loop {
            let event = events.next().await.expect("an event");
            if event.kind == "DELETED" {
                break;
            }
        }
    }
    for wire in &wires {
        let left = wire.get(DEFINITIONS).await;
        assert_eq!(left["items"], json!([]));
    }
}
