//! The conformance suite on real etcd servers, on the cache over each, and on the reader without a cache.

use std::sync::Arc;

use ringwatch_server::storage::{
    Storage,
    etcd::{Etcd, Options},
};
use ringwatch_tests::{
    cached::Cached,
    conformance::run_all,
    etcd::{Server, Version},
};

async fn etcd(server: &Server) -> Arc<dyn Storage> {
    let etcd = Etcd::connect(&Options::new([server.endpoint()])).await;
    Arc::new(etcd.expect("a connection"))
}

/// One server for all cases: a server for each would take longer to start than the case to run.
async fn conforms(name: &str, version: Version) {
    let server = Server::start(version);
    let storage = etcd(&server).await;
    run_all(name, async || storage.clone()).await;
}

async fn cache_conforms(name: &str, version: Version) {
    let server = Server::start(version);
    let storage = etcd(&server).await;
    let cached: Arc<dyn Storage> = Arc::new(Cached::new(storage).await);
    run_all(name, async || cached.clone()).await;
}

async fn reader_conforms(name: &str, version: Version) {
    let server = Server::start(version);
    let storage = etcd(&server).await;
    let reader: Arc<dyn Storage> = Arc::new(Cached::without_cache(storage).await);
    run_all(name, async || reader.clone()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reader_without_cache_on_etcd_3_4() {
    reader_conforms("the reader on etcd 3.4", Version::V3_4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reader_without_cache_on_etcd_3_5() {
    reader_conforms("the reader on etcd 3.5", Version::V3_5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_3_4() {
    conforms("etcd 3.4", Version::V3_4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_3_5() {
    conforms("etcd 3.5", Version::V3_5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cache_on_etcd_3_4() {
    cache_conforms("the cache on etcd 3.4", Version::V3_4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cache_on_etcd_3_5() {
    cache_conforms("the cache on etcd 3.5", Version::V3_5).await;
}
