//! The cache is cut off for longer than the storage remembers.

use std::collections::BTreeMap;

use ringwatch_tests::etcd::{Server, Version};
use ringwatch_tests::proxy::{Proxy, Wire};
use ringwatch_tests::workload::{Habit, Pace};
use tokio::task::block_in_place;

use crate::{Load, WATCHERS, connect, until};

const CUTS: usize = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_get_the_exact_difference_of_a_relist_and_stay() {
    let server = block_in_place(|| Server::start(Version::V3_5));
    let proxy = Proxy::start(server.address()).await;
    let storage = connect([server.endpoint()]).await;
    let mut load = Load::start(storage, connect([proxy.endpoint()]).await).await;
    for cut in 0..CUTS {
        load.write(400).await;
        load.catch_up().await;
        proxy.set(Wire::Cut);
        load.write(400).await;
        // Not what the recorder has yet to see.
        let newest = load.site.follower.newest();
        load.storage.compact(newest).await.expect("a compaction");
        proxy.set(Wire::Whole);
        let tap = load.site.tap.clone();
        until("relist", || tap.bridges().len() > cut).await;
    }
    load.write(400).await;
    let report = load.end().await;
    assert_eq!(report.bridges.len(), CUTS, "{:?}", report.bridges);

    // Who reads and does not leave has one watch from beginning to end.
    let mut sessions = BTreeMap::<_, usize>::new();
    for session in &report.sessions {
        *sessions.entry(session.watcher).or_default() += 1;
    }
    let steady = (0..WATCHERS).filter(|number| {
        let habit = Habit::of(*number);
        habit.leaves.is_none() && habit.pace == Pace::Eager
    });
    for number in steady {
        assert_eq!(sessions.get(&number), Some(&1), "watcher {number}");
    }
}
