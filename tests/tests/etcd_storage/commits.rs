//! Writing on a condition, and for a limited time.

use std::time::Duration;

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{MAX_WRITES, Outcome, Storage, StorageError, Write};
use ringwatch_tests::etcd::{Server, Version};

use crate::{committed, connect, next_changes, on_each_version};

on_each_version!(
    a_conflict_shows_every_key,
    as_many_writes_as_promised,
    what_etcd_refuses_is_refused,
    leases_end_as_deletions,
);

async fn a_conflict_shows_every_key(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let first = committed(&etcd, vec![Write::create("/a/1", "one")]).await;
    let writes = vec![
        Write::create("/a/0", "zero"),
        Write::update("/a/1", Revision::new(999), "uno"),
        Write::delete("/a/2", first),
    ];
    let Ok(Outcome::Conflict { current, revision }) = etcd.commit(writes).await else {
        panic!("no conflict");
    };
    assert_eq!(revision, first);
    assert_eq!(current.len(), 3);
    assert_eq!((&current[0], &current[2]), (&None, &None));
    let found = current[1].as_ref().expect("the key that exists");
    assert_eq!((&*found.key, &found.value[..]), ("/a/1", &b"one"[..]));
    assert_eq!(found.mod_revision, first);
    assert_eq!(etcd.get("/a/0").await.unwrap().found, None);
}

async fn as_many_writes_as_promised(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let writes = |count| -> Vec<_> {
        (0..count)
            .map(|n| Write::create(format!("/a/{n}"), "x"))
            .collect()
    };
    committed(&etcd, writes(MAX_WRITES)).await;
    let again = etcd.commit(writes(MAX_WRITES)).await;
    assert!(matches!(again, Ok(Outcome::Conflict { current, .. }) if current.len() == MAX_WRITES));
    let more = etcd.commit(writes(MAX_WRITES + 1)).await;
    assert!(matches!(more, Err(StorageError::Refused(_))), "{more:?}");
}

async fn what_etcd_refuses_is_refused(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let before = etcd.revision().await.unwrap();
    for writes in [
        vec![Write::create("/a", "x"), Write::create("/a", "y")],
        vec![Write::create("/a", vec![b'x'; 3 << 20])],
        vec![Write::create("no-path", "x")],
    ] {
        let refused = etcd.commit(writes).await;
        assert!(
            matches!(refused, Err(StorageError::Refused(_))),
            "{refused:?}"
        );
    }
    assert_eq!(etcd.revision().await.unwrap(), before);
}

async fn leases_end_as_deletions(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let start = etcd.revision().await.unwrap();
    let mut changes = etcd.watch("/events/", start).await.unwrap();
    // etcd's shortest life is two seconds; a tenth of one more and both share a lease.
    let life = Duration::from_millis(1950);
    let first = Write::create("/events/a/1", "x").with_ttl(life);
    let second = Write::create("/events/a/2", "y").with_ttl(life);
    committed(
        &etcd,
        vec![first, second, Write::create("/events/a/3", "z")],
    )
    .await;
    let (_, created) = next_changes(&mut changes).await;
    assert_eq!(created.len(), 3);
    let (_, mut ended) = next_changes(&mut changes).await;
    ended.sort_by(|a, b| a.key.cmp(&b.key));
    let keys: Vec<_> = ended.iter().map(|change| &*change.key).collect();
    assert_eq!(keys, ["/events/a/1", "/events/a/2"], "in one transaction");
    assert!(ended.iter().all(|change| change.current.is_none()));
    let before = ended[1].previous.as_ref().expect("what it was");
    assert_eq!(&before.value[..], b"y");
    assert!(etcd.get("/events/a/3").await.unwrap().found.is_some());
}
