//! Progress, asked for and unasked, on versions that can be believed and on one that cannot.

use std::time::Duration;

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{Changes, Storage, WatchItem, Write};
use ringwatch_tests::etcd::{Server, Version};

use crate::{committed, connect, next, next_changes, on_each_version};

on_each_version!(
    progress_never_runs_ahead_of_changes,
    progress_waits_for_history,
    a_watch_that_is_up_to_date_says_so,
    only_a_version_to_be_believed_is_asked,
);

async fn next_progress(changes: &mut Changes) -> Revision {
    match next(changes).await {
        Some(Ok(WatchItem::Progress(revision))) => revision,
        other => panic!("{other:?}"),
    }
}

async fn a_watch_that_is_up_to_date_says_so(version: Version) {
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let first = committed(&etcd, vec![Write::create("/pods/a/x", "1")]).await;
    let mut changes = etcd.watch("/pods/", Revision::ZERO).await.unwrap();
    assert_eq!(next_changes(&mut changes).await.0, first);
    changes.request_progress();
    assert_eq!(next_progress(&mut changes).await, first);
    changes.request_progress();
    assert_eq!(next_progress(&mut changes).await, first);
}

/// Every change up to a revision that was reported has been seen before.
async fn progress_never_runs_ahead_of_changes(version: Version) {
    const WRITES: u64 = 300;
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let start = etcd.revision().await.unwrap();
    let mut changes = etcd.watch("/pods/", start).await.unwrap();
    let writer = tokio::spawn({
        let etcd = etcd.clone();
        async move {
            for n in 0..WRITES {
                committed(&etcd, vec![Write::create(format!("/pods/a/{n}"), "x")]).await;
            }
        }
    });
    let mut seen = start;
    while seen.get() < start.get() + WRITES {
        changes.request_progress();
        match next(&mut changes).await {
            Some(Ok(WatchItem::Changes { revision, .. })) => {
                assert_eq!(revision.get(), seen.get() + 1);
                seen = revision;
            }
            Some(Ok(WatchItem::Progress(revision))) => assert_eq!(revision, seen),
            other => panic!("{other:?}"),
        }
    }
    writer.await.unwrap();
}

/// etcd 3.4.23 itself answers a request at once, while all of the history is yet to come.
async fn progress_waits_for_history(version: Version) {
    const WRITES: u64 = 200;
    let server = Server::start(version);
    let etcd = connect(&server).await;
    let start = etcd.revision().await.unwrap();
    for n in 0..WRITES {
        committed(&etcd, vec![Write::create(format!("/pods/a/{n}"), "x")]).await;
    }
    let mut changes = etcd.watch("/pods/", start).await.unwrap();
    changes.request_progress();
    for n in 1..=WRITES {
        match next(&mut changes).await {
            Some(Ok(WatchItem::Changes { revision, .. })) => {
                assert_eq!(revision.get(), start.get() + n);
            }
            other => panic!("{other:?} before revision {}", start.get() + n),
        }
    }
    assert_eq!(
        next_progress(&mut changes).await.get(),
        start.get() + WRITES
    );
}

async fn only_a_version_to_be_believed_is_asked(version: Version) {
    let server = Server::start(version);
    let believed = match server.gateway().server_version() {
        [3, 4, patch] => patch >= 31,
        [3, 5, patch] => patch >= 13,
        _ => true,
    };
    let etcd = connect(&server).await;
    assert_eq!(etcd.progress_is_safe().await, believed);
    let start = etcd.revision().await.unwrap();
    let mut changes = etcd.watch("/pods/", start).await.unwrap();
    let elsewhere = committed(&etcd, vec![Write::create("/services/a/x", "1")]).await;
    changes.request_progress();
    if believed {
        assert_eq!(next_progress(&mut changes).await, elsewhere);
        return;
    }
    // That nothing comes can only be seen by waiting for it.
    let silence = tokio::time::timeout(Duration::from_millis(500), changes.next()).await;
    assert!(silence.is_err(), "{silence:?}");
    let own = committed(&etcd, vec![Write::create("/pods/a/x", "1")]).await;
    assert_eq!(next_changes(&mut changes).await.0, own);
    assert_eq!(next_progress(&mut changes).await, own);
}

#[tokio::test]
async fn etcd_reports_progress_by_itself() {
    let often = ["--experimental-watch-progress-notify-interval", "200ms"];
    let server = Server::start_with(Version::V3_5, &often, None);
    let etcd = connect(&server).await;
    let start = etcd.revision().await.unwrap();
    let mut changes = etcd.watch("/pods/", start).await.unwrap();
    let elsewhere = committed(&etcd, vec![Write::create("/services/a/x", "1")]).await;
    while next_progress(&mut changes).await < elsewhere {}
}
