//! Ports that nobody else uses.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::TcpListener;

/// Below the range from which systems take the ports of outgoing connections: one that is free stays free
/// while its server is down for a moment.
const FIRST: u16 = 15_000;
const COUNT: u16 = 15_000;

/// Where one server listens.
#[derive(Debug, Clone)]
pub(super) struct Ports {
    pub(super) client: u16,
    peer: u16,
    metrics: u16,
}

impl Ports {
    pub(super) fn free() -> Self {
        // Held until all three are found, or the first would be found thrice.
        let found = [(); 3].map(|()| listener());
        let [client, peer, metrics] =
            found.map(|listener| listener.local_addr().expect("a bound listener").port());
        Self {
            client,
            peer,
            metrics,
        }
    }

    pub(super) fn peer_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.peer)
    }

    pub(super) fn metrics_url(&self) -> String {
        format!("http://{}", self.metrics_address())
    }

    pub(super) fn metrics_address(&self) -> String {
        format!("127.0.0.1:{}", self.metrics)
    }
}

fn listener() -> TcpListener {
    // Random, so that tests which run at the same time rarely try the same.
    let random = || RandomState::new().build_hasher().finish();
    (0..1000)
        .map(|_| FIRST + (random() % u64::from(COUNT)) as u16)
        .find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok())
        .expect("a free port")
}
