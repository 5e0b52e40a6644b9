//! Compaction by several servers that know nothing of each other but a key.

use std::time::Duration;

use ringwatch_server::storage::etcd::Compactor;
use ringwatch_server::storage::{List, Storage, StorageError, Write};
use ringwatch_tests::etcd::{Server, Version};
use tokio::sync::oneshot;

use crate::{PATIENCE, committed, connect, on_each_version};

on_each_version!(servers_take_turns, the_loop_runs_until_told_to_stop);

async fn servers_take_turns(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    // Each with a connection of its own, so that none learns from another what it does not learn from the key.
    let connections = [
        connect(&server).await,
        connect(&server).await,
        connect(&server).await,
    ];
    let mut servers = connections.clone().map(Compactor::new);
    let first = committed(&etcd, vec![Write::create("/pods/a/x", "1")]).await;
    for server in &mut servers {
        assert_eq!(server.turn().await, Ok(None), "nothing was noted before");
    }
    assert_eq!(
        server.gateway().version("compact_rev_key"),
        1,
        "as Kubernetes calls it"
    );
    committed(&etcd, vec![Write::update("/pods/a/x", first, "2")]).await;
    let mut done = Vec::new();
    for server in servers.iter_mut().rev() {
        done.extend(server.turn().await.unwrap());
    }
    let [floor] = done[..] else {
        panic!("{done:?}");
    };
    assert!(floor > first);
    let past = |at| List {
        at: Some(at),
        ..List::default()
    };
    let gone = etcd.list(&past(first)).await;
    assert!(
        matches!(gone, Err(StorageError::Compacted { .. })),
        "{gone:?}"
    );
    assert_eq!(
        &etcd.list(&past(floor)).await.unwrap().items[0].value[..],
        b"1"
    );
    for connection in &connections {
        assert_eq!(connection.compacted(), floor, "all know");
    }
}

async fn the_loop_runs_until_told_to_stop(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let compactor = Compactor::new(etcd.clone());
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async {
        let _ = stopped.await;
    };
    let running = tokio::spawn(compactor.run(Duration::from_millis(50), shutdown));
    let first = committed(&etcd, vec![Write::create("/pods/a/x", "1")]).await;
    let passed = async {
        while etcd.compacted() <= first {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, passed).await.unwrap();
    stop.send(()).unwrap();
    running.await.unwrap();
}
