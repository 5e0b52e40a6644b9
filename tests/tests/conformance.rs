//! The conformance suite against every storage there is.

use std::sync::Arc;

use ringwatch_server::storage::Storage;
use ringwatch_tests::{cached::Cached, conformance_tests, reference::Reference};

conformance_tests!(reference, reference());
conformance_tests!(cache_on_reference, cached(reference()));

async fn reference() -> Arc<dyn Storage> {
    Arc::new(Reference::new())
}

/// The cache on top of a storage.
async fn cached(storage: impl Future<Output = Arc<dyn Storage>>) -> Arc<dyn Storage> {
    Arc::new(Cached::new(storage.await).await)
}
