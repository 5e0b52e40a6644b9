//! What a watch yields.

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{List, Storage, Write};
use ringwatch_tests::etcd::{Server, Version};

use crate::{committed, connect, next_changes, on_each_version};

on_each_version!(
    a_transaction_is_one_item,
    history_comes_before_the_present,
    a_transaction_in_fragments_is_one_item,
    a_long_history_in_fragments_keeps_its_order,
    slow_readers_hold_up_nobody_else,
);

async fn a_transaction_is_one_item(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let start = etcd.revision().await.unwrap();
    let mut changes = etcd.watch("/pods/", start).await.unwrap();
    let gateway = server.gateway();
    let revision = gateway.put_all(&[
        ("/registry/pods/a/1", "1"),
        ("/registry/services/a/1", "elsewhere"),
        ("/registry/pods/a/2", "2"),
        ("/registry/pods/a/3", "3"),
    ]);
    let (seen, created) = next_changes(&mut changes).await;
    assert_eq!(seen.get(), revision);
    let keys: Vec<_> = created.iter().map(|change| &*change.key).collect();
    assert_eq!(keys, ["/pods/a/1", "/pods/a/2", "/pods/a/3"]);
    assert!(created.iter().all(|change| change.previous.is_none()));
    let deleted = gateway.delete("/registry/pods/a/2");
    let (seen, changed) = next_changes(&mut changes).await;
    assert_eq!((seen.get(), changed.len()), (deleted, 1));
    assert_eq!(changed[0].current, None);
    assert_eq!(changed[0].previous, created[1].current);
}

async fn history_comes_before_the_present(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let first = committed(&etcd, vec![Write::create("/pods/a/x", "1")]).await;
    let second = committed(&etcd, vec![Write::update("/pods/a/x", first, "2")]).await;
    let mut changes = etcd.watch("/pods/", Revision::ZERO).await.unwrap();
    assert_eq!(next_changes(&mut changes).await.0, first);
    let (revision, changed) = next_changes(&mut changes).await;
    assert_eq!(revision, second);
    let previous = changed[0].previous.as_ref().expect("the first value");
    assert_eq!(
        (&previous.value[..], previous.mod_revision),
        (&b"1"[..], first)
    );
    let third = committed(&etcd, vec![Write::delete("/pods/a/x", second)]).await;
    assert_eq!(next_changes(&mut changes).await.0, third);
}

/// New and old values together are twice what etcd sends in one message.
async fn a_transaction_in_fragments_is_one_item(version: Version) {
    const KEYS: usize = 100;
    const SIZE: usize = 100 << 10;
    let server = Server::start_with(version, &["--max-request-bytes", "11534336"], None);
    let etcd = connect(&server).await;
    let values =
        |fill: u8| -> Vec<Bytes> { (0..KEYS).map(|_| Bytes::from(vec![fill; SIZE])).collect() };
    let key = |n: usize| format!("/pods/a/{n:03}");
    let create = values(b'a')
        .into_iter()
        .enumerate()
        .map(|(n, value)| Write::create(key(n), value));
    let created = committed(&etcd, create.collect()).await;
    let mut changes = etcd.watch("/pods/", created).await.unwrap();
    let update = values(b'b')
        .into_iter()
        .enumerate()
        .map(|(n, value)| Write::update(key(n), created, value));
    let updated = committed(&etcd, update.collect()).await;
    let after = committed(&etcd, vec![Write::create("/pods/a/after", "x")]).await;
    let (revision, changed) = next_changes(&mut changes).await;
    assert_eq!((revision, changed.len()), (updated, KEYS));
    for (n, change) in changed.iter().enumerate() {
        let (now, before) = (
            change.current.as_ref().unwrap(),
            change.previous.as_ref().unwrap(),
        );
        assert_eq!(*now.key, key(n));
        assert_eq!((now.value.len(), now.value[0]), (SIZE, b'b'));
        assert_eq!((before.value.len(), before.value[0]), (SIZE, b'a'));
    }
    assert_eq!(next_changes(&mut changes).await.0, after);
}

/// Many revisions in one batch, cut wherever a message is full.
async fn a_long_history_in_fragments_keeps_its_order(version: Version) {
    const REVISIONS: u64 = 60;
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let start = etcd.revision().await.unwrap();
    let (mut first, mut second) = (Revision::ZERO, Revision::ZERO);
    for n in 0..REVISIONS {
        let value = Bytes::from(vec![n as u8; 90 << 10]);
        let writes = vec![
            Write::update("/pods/a/1", first, value.clone()),
            Write::update("/pods/a/2", second, value),
        ];
        first = committed(&etcd, writes).await;
        second = first;
    }
    let mut changes = etcd.watch("/pods/", start).await.unwrap();
    for n in 0..REVISIONS {
        let (revision, changed) = next_changes(&mut changes).await;
        assert_eq!(revision.get(), start.get() + 1 + n);
        assert_eq!(changed.len(), 2, "revision {revision}");
    }
}

/// More than watches, connections and sockets hold together waits for readers that do not read.
async fn slow_readers_hold_up_nobody_else(version: Version) {
    const KEYS: usize = 400;
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let start = etcd.revision().await.unwrap();
    for n in 0..KEYS {
        let value = Bytes::from(vec![b'x'; 50 << 10]);
        committed(&etcd, vec![Write::create(format!("/pods/a/{n:03}"), value)]).await;
    }
    let mut slow = Vec::new();
    for _ in 0..6 {
        let mut changes = etcd.watch("/pods/", start).await.unwrap();
        next_changes(&mut changes).await;
        slow.push(changes);
    }
    let list = List {
        prefix: "/pods/".to_owned(),
        ..List::default()
    };
    for _ in 0..5 {
        assert_eq!(etcd.list(&list).await.unwrap().items.len(), KEYS);
    }
    // They lost nothing by it.
    for changes in &mut slow {
        for n in 1..KEYS as u64 {
            let (revision, _) = next_changes(changes).await;
            assert_eq!(revision.get(), start.get() + 1 + n);
        }
    }
}
