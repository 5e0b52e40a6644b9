//! The conformance suite against every storage there is.

use std::sync::Arc;

use ringwatch_server::storage::Storage;
use ringwatch_tests::{conformance_tests, reference::Reference};

conformance_tests!(reference, reference());

async fn reference() -> Arc<dyn Storage> {
    Arc::new(Reference::new())
}
