//! The wire between cache and storage is cut, delayed, and closed in one direction.

use std::time::Duration;

use ringwatch_tests::etcd::{Server, Version};
use ringwatch_tests::proxy::{Proxy, Wire};
use tokio::task::block_in_place;

use crate::{Load, connect};

const ROUNDS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_survive_a_bad_wire() {
    let server = block_in_place(|| Server::start(Version::V3_5));
    let proxy = Proxy::start(server.address()).await;
    let storage = connect([server.endpoint()]).await;
    let mut load = Load::start(storage, connect([proxy.endpoint()]).await).await;
    for _ in 0..ROUNDS {
        for fault in [
            Wire::Cut,
            Wire::Slow(Duration::from_millis(30)),
            Wire::HalfClosed,
            Wire::Deaf,
        ] {
            load.write(100).await;
            proxy.set(fault);
            load.write(150).await;
            proxy.set(Wire::Whole);
            load.catch_up().await;
        }
    }
    let report = load.end().await;
    // Nothing was forgotten meanwhile, so nothing had to be listed.
    assert_eq!(report.bridges, []);
}
