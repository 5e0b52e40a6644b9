//! A cluster loses its leader.

use ringwatch_tests::etcd::{Cluster, Version};
use tokio::task::block_in_place;

use crate::{Load, connect};

const KILLS: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_survive_the_death_of_leaders() {
    let mut cluster = block_in_place(|| Cluster::start(Version::V3_5, 3));
    let storage = connect(cluster.endpoints()).await;
    let mut load = Load::start(storage, connect(cluster.endpoints()).await).await;
    for _ in 0..KILLS {
        load.write(400).await;
        let leader = block_in_place(|| {
            let leader = cluster.leader();
            cluster.kill_hard(leader);
            leader
        });
        load.recover().await;
        load.write(200).await;
        block_in_place(|| cluster.restart(leader));
    }
    load.write(400).await;
    load.end().await;
}
