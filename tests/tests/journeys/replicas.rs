//! Two servers on one etcd: a revision of one is a revision of the other, so clients may move between them as they like.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use ringwatch_tests::etcd::{Server, Version};
use serde_json::{Value, json};
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
    const WATCHERS: usize = 200;
    const CONNECTIONS: usize = 4;
    const CHANGES: u64 = 150;
    const KILL_AFTER: u64 = 60;
    let etcd = Server::start(Version::V3_5);
    let flags = ["--etcd", &etcd.endpoint()];
    let mut killed = Program::start(&flags);
    let left = Program::start(&flags);
    let other = Wire::connect(&left).await;
    other
        .ask(Method::POST, CONFIG_MAPS, Some(object("a", 0)))
        .await;
    let start = revision(&other.get(CONFIG_MAPS).await);

    let mut watchers = JoinSet::new();
    let other = Arc::new(other);
    for _ in 0..CONNECTIONS {
        let wire = Wire::connect(&killed).await;
        for _ in 0..WATCHERS / CONNECTIONS {
            let events = wire.watch(&watch_from(start)).await.expect("a watch");
            let other = other.clone();
            watchers.spawn(async move {
                let mut events = events;
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
        other
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
