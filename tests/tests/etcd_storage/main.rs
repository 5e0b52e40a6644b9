//! What [`Etcd`] promises beyond what every storage does, on each version of etcd: how it shares a store with others, what
//! it makes of etcd's responses, and how it gets through failures.

mod access;
mod commits;
mod compaction;
mod failures;
mod progress;
mod reads;
mod watches;

use std::time::Duration;

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::etcd::{Etcd, Options};
use ringwatch_server::storage::{
    Changes, KeyChange, Outcome, Storage, StorageError, WatchItem, Write,
};
use ringwatch_tests::etcd::Server;

/// Makes a test of each function, for each version of etcd.
macro_rules! on_each_version {
    ($($name:ident),* $(,)?) => {
        mod v3_4 {
            $(#[tokio::test] async fn $name() {
                super::$name(ringwatch_tests::etcd::Version::V3_4).await;
            })*
        }
        mod v3_5 {
            $(#[tokio::test] async fn $name() {
                super::$name(ringwatch_tests::etcd::Version::V3_5).await;
            })*
        }
    };
}
pub(crate) use on_each_version;

/// How long to wait for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

fn options(endpoint: impl Into<String>) -> Options {
    Options::new([endpoint.into()])
}

async fn connect(server: &Server) -> Etcd {
    Etcd::connect(&options(server.endpoint())).await.unwrap()
}

async fn committed(etcd: &Etcd, writes: Vec<Write>) -> Revision {
    match etcd.commit(writes).await {
        Ok(Outcome::Committed(revision)) => revision,
        other => panic!("{other:?}"),
    }
}

async fn next(changes: &mut Changes) -> Option<Result<WatchItem, StorageError>> {
    let next = tokio::time::timeout(PATIENCE, changes.next()).await;
    next.expect("an item in time")
}

/// The next changes; progress in between is passed over.
async fn next_changes(changes: &mut Changes) -> (Revision, Vec<KeyChange>) {
    loop {
        match next(changes).await {
            Some(Ok(WatchItem::Changes { revision, changes })) => return (revision, changes),
            Some(Ok(WatchItem::Progress(_))) => {}
            other => panic!("{other:?}"),
        }
    }
}
