//! Servers that die, leaders that change, wires that are cut.

use std::time::Duration;

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::etcd::{Etcd, Options};
use ringwatch_server::storage::{Changes, Outcome, Storage, StorageError, Write};
use ringwatch_tests::etcd::{Cluster, Server, Version};
use ringwatch_tests::proxy::{Proxy, Wire};

use crate::{committed, connect, next, next_changes, on_each_version, options};

on_each_version!(
    a_watch_survives_the_death_of_its_server,
    a_watch_survives_a_cut_wire,
    a_watch_survives_a_wire_that_goes_silent,
    a_watch_that_was_cut_off_for_too_long_ends,
    a_watch_survives_the_death_of_the_leader,
    a_watch_notices_a_store_that_was_put_back,
    a_lost_answer_is_unavailable_and_written_once,
    without_a_server_all_is_unavailable_in_time,
);

/// Writes a new value and returns its revision, whatever it takes: an unknown outcome is looked up.
async fn write(etcd: &Etcd, last: Revision, value: String) -> Revision {
    loop {
        let write = Write::update("/pods/a/x", last, value.clone());
        match etcd.commit(vec![write]).await {
            Ok(Outcome::Committed(revision)) => return revision,
            Ok(Outcome::Conflict { current, .. }) => {
                let current = current[0].as_ref().expect("the key");
                assert_eq!(&current.value[..], value.as_bytes(), "our own write");
                return current.mod_revision;
            }
            Err(StorageError::Unavailable(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// The next item is the change from `last` to `value`: nothing is missing, nothing comes twice.
async fn expect(changes: &mut Changes, last: Revision, now: Revision, value: &str) {
    let (revision, changed) = next_changes(changes).await;
    assert_eq!(revision, now);
    assert_eq!(changed.len(), 1);
    let current = changed[0].current.as_ref().expect("a value");
    assert_eq!(&current.value[..], value.as_bytes());
    let previous = changed[0].previous.as_ref();
    assert_eq!(
        previous.map_or(Revision::ZERO, |key| key.mod_revision),
        last
    );
}

/// A server, the way to it, a watch through a wire that can be cut, and one write that the watch has told.
struct Wired {
    server: Server,
    direct: Etcd,
    proxy: Proxy,
    etcd: Etcd,
    changes: Changes,
    first: Revision,
}

impl Wired {
    async fn new(version: Version) -> Self {
        let server = Server::start(version);
        let direct = connect(&server).await;
        let proxy = Proxy::start(server.address()).await;
        let etcd = Etcd::connect(&options(proxy.endpoint())).await.unwrap();
        let first = write(&direct, Revision::ZERO, "first".to_owned()).await;
        let mut changes = etcd.watch("/pods/", Revision::ZERO).await.unwrap();
        expect(&mut changes, Revision::ZERO, first, "first").await;
        Self {
            server,
            direct,
            proxy,
            etcd,
            changes,
            first,
        }
    }
}

async fn a_watch_survives_the_death_of_its_server(version: Version) {
    let mut server = Server::start(version);
    let etcd = connect(&server).await;
    let start = etcd.revision().await.unwrap();
    let mut changes = etcd.watch("/pods/", start).await.unwrap();
    let mut last = Revision::ZERO;
    let mut written = Vec::new();
    for round in 0..3 {
        for n in 0..20 {
            let value = format!("{round}.{n}");
            let now = write(&etcd, last, value.clone()).await;
            written.push((last, now, value));
            last = now;
        }
        // Some are read before the server dies, some after.
        for (last, now, value) in written.drain(..10) {
            expect(&mut changes, last, now, &value).await;
        }
        server.kill_hard();
        server.restart();
    }
    let now = write(&etcd, last, "end".to_owned()).await;
    written.push((last, now, "end".to_owned()));
    for (last, now, value) in written {
        expect(&mut changes, last, now, &value).await;
    }
}

async fn a_watch_survives_a_cut_wire(version: Version) {
    let Wired {
        server: _server,
        direct,
        proxy,
        mut changes,
        first: mut last,
        ..
    } = Wired::new(version).await;
    for n in 0..5 {
        proxy.set(Wire::Cut);
        let now = write(&direct, last, format!("{n} missed")).await;
        proxy.set(Wire::Whole);
        expect(&mut changes, last, now, &format!("{n} missed")).await;
        last = now;
    }
}

/// As when a machine in between loses power: no connection is ever closed.
async fn a_watch_survives_a_wire_that_goes_silent(version: Version) {
    let Wired {
        server: _server,
        direct,
        proxy,
        mut changes,
        first,
        ..
    } = Wired::new(version).await;
    proxy.set(Wire::Frozen);
    // Connections notice one after the other; this gives them the chance to.
    tokio::task::yield_now().await;
    let second = write(&direct, first, "second".to_owned()).await;
    proxy.set(Wire::Whole);
    expect(&mut changes, first, second, "second").await;
}

async fn a_watch_that_was_cut_off_for_too_long_ends(version: Version) {
    let Wired {
        server,
        direct,
        proxy,
        etcd,
        mut changes,
        first,
    } = Wired::new(version).await;
    proxy.set(Wire::Cut);
    let second = write(&direct, first, "second".to_owned()).await;
    let third = write(&direct, second, "third".to_owned()).await;
    server.gateway().compact(third.get());
    proxy.set(Wire::Whole);
    let end = next(&mut changes).await;
    let floor = Some(third);
    assert_eq!(end, Some(Err(StorageError::Compacted { floor })));
    assert_eq!(next(&mut changes).await, None);
    // From where history begins, a new watch goes on.
    let mut changes = etcd.watch("/pods/", third).await.unwrap();
    let fourth = write(&direct, third, "fourth".to_owned()).await;
    expect(&mut changes, third, fourth, "fourth").await;
}

async fn a_watch_survives_the_death_of_the_leader(version: Version) {
    let mut cluster = Cluster::start(version, 3);
    let etcd = Etcd::connect(&Options::new(cluster.endpoints()))
        .await
        .unwrap();
    let start = etcd.revision().await.unwrap();
    let mut changes = etcd.watch("/pods/", start).await.unwrap();
    let mut last = Revision::ZERO;
    for round in 0..2 {
        let leader = cluster.leader();
        cluster.kill_hard(leader);
        for n in 0..10 {
            let value = format!("{round}.{n}");
            let now = write(&etcd, last, value.clone()).await;
            expect(&mut changes, last, now, &value).await;
            last = now;
        }
        cluster.restart(leader);
    }
}

async fn a_watch_notices_a_store_that_was_put_back(version: Version) {
    let mut server = Server::start(version);
    let etcd = connect(&server).await;
    let mut changes = etcd.watch("/pods/", Revision::ZERO).await.unwrap();
    let first = write(&etcd, Revision::ZERO, "first".to_owned()).await;
    expect(&mut changes, Revision::ZERO, first, "first").await;
    server.destroy();
    server.restart();
    let end = next(&mut changes).await;
    assert!(
        matches!(end, Some(Err(StorageError::Compacted { .. }))),
        "{end:?}"
    );
    assert_eq!(next(&mut changes).await, None);
}

async fn a_lost_answer_is_unavailable_and_written_once(version: Version) {
    let server = Server::start(version);
    let direct = connect(&server).await;
    let proxy = Proxy::start(server.address()).await;
    let impatient = Options {
        request_timeout: Duration::from_secs(2),
        ..options(proxy.endpoint())
    };
    let etcd = Etcd::connect(&impatient).await.unwrap();
    let before = etcd.revision().await.unwrap();
    proxy.set(Wire::Deaf);
    let lost = etcd.commit(vec![Write::create("/pods/a/x", "once")]).await;
    assert!(
        matches!(lost, Err(StorageError::Unavailable(_))),
        "{lost:?}"
    );
    let found = direct.get("/pods/a/x").await.unwrap();
    assert!(found.found.is_some(), "the write arrived");
    assert_eq!(found.revision.get(), before.get() + 1);
}

async fn without_a_server_all_is_unavailable_in_time(version: Version) {
    let mut server = Server::start(version);
    let impatient = Options {
        request_timeout: Duration::from_secs(1),
        ..options(server.endpoint())
    };
    let etcd = Etcd::connect(&impatient).await.unwrap();
    let revision = committed(&etcd, vec![Write::create("/pods/a/x", "x")]).await;
    server.kill_hard();
    let got = etcd.get("/pods/a/x").await;
    assert!(matches!(got, Err(StorageError::Unavailable(_))), "{got:?}");
    let written = etcd
        .commit(vec![Write::delete("/pods/a/x", revision)])
        .await;
    assert!(
        matches!(written, Err(StorageError::Unavailable(_))),
        "{written:?}"
    );
    assert!(!etcd.progress_is_safe().await);
    server.restart();
    assert!(etcd.get("/pods/a/x").await.unwrap().found.is_some());
}
