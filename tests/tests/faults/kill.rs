//! The server dies, as in a power failure, and comes back.

use ringwatch_tests::etcd::{Server, Version};
use tokio::task::block_in_place;

use crate::{Load, connect};

const KILLS: usize = 10;
/// A server that is alone waits as long for others before it leads; by default that is a second.
const ELECTION: [&str; 2] = ["--heartbeat-interval=20", "--election-timeout=200"];

async fn watchers_survive_the_death_of_the_server(version: Version) {
    let mut server = block_in_place(|| Server::start_with(version, &ELECTION, None));
    let storage = connect([server.endpoint()]).await;
    let mut load = Load::start(storage, connect([server.endpoint()]).await).await;
    for _ in 0..KILLS {
        load.write(300).await;
        block_in_place(|| {
            server.kill_hard();
            server.restart();
        });
        load.recover().await;
    }
    load.write(300).await;
    let report = load.end().await;
    // The watch on storage goes on where it was.
    assert_eq!(report.bridges, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_survive_the_death_of_the_server_3_4() {
    watchers_survive_the_death_of_the_server(Version::V3_4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_survive_the_death_of_the_server_3_5() {
    watchers_survive_the_death_of_the_server(Version::V3_5).await;
}
