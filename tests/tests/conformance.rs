//! The conformance suite against every storage there is.

use std::{path::Path, sync::Arc};

use ringwatch_server::storage::{
    Storage,
    embedded::{Embedded, Options},
    transform::{Transformed, Transformer},
};
use ringwatch_tests::{
    cached::Cached, conformance::run_all, conformance_tests, etcd::Folder, reference::Reference,
};

conformance_tests!(reference, reference());
conformance_tests!(encrypted, encrypted());
conformance_tests!(cache_on_reference, cached(reference()));
conformance_tests!(in_memory, in_memory());
conformance_tests!(cache_in_memory, cached(in_memory()));
conformance_tests!(reader_without_cache, without_cache(in_memory()));

async fn reference() -> Arc<dyn Storage> {
    Arc::new(Reference::new())
}

async fn in_memory() -> Arc<dyn Storage> {
    Arc::new(Embedded::in_memory())
}

/// A store on disk, once for all cases and once more under the cache.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded() {
    let folder = Folder::new();
    let store: Arc<dyn Storage> = Arc::new(open(&folder));
    run_all("embedded", async || store.clone()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cache_on_embedded() {
    let folder = Folder::new();
    let store: Arc<dyn Storage> = Arc::new(Cached::new(Arc::new(open(&folder))).await);
    run_all("the cache on embedded", async || store.clone()).await;
}

fn open(folder: &Folder) -> Embedded {
    Embedded::open(folder.path(), Options::default()).expect("a new store")
}

/// The cache on top of a storage.
async fn cached(storage: impl Future<Output = Arc<dyn Storage>>) -> Arc<dyn Storage> {
    Arc::new(Cached::new(storage.await).await)
}

/// A reader without a cache on top of a storage.
async fn without_cache(storage: impl Future<Output = Arc<dyn Storage>>) -> Arc<dyn Storage> {
    Arc::new(Cached::without_cache(storage.await).await)
}

async fn encrypted() -> Arc<dyn Storage> {
    let keys = b"a AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let keys = Transformer::parse(Path::new("keys"), keys).expect("a sound key file");
    Arc::new(Transformed::new(Reference::new(), keys))
}

/// As a backend is tested whose store is too dear to be made for each case: all cases share one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_cases_on_one_store() {
    let store: Arc<dyn Storage> =
        Arc::new(Transformed::new(Reference::new(), Transformer::plain()));
    run_all("one plain store", async || store.clone()).await;
}
