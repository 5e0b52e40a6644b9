//! Where the relay reads from: the node link of a server or another relay, or a Kubernetes API.

pub mod kubernetes;
pub mod link;

use std::time::Duration;

use crate::engine::Backoff;
use crate::hub::Hub;

/// Waits before another attempt, or until it is time to stop. Anything up to a limit that doubles, so that relays that were cut off
/// at once do not come back at once.
pub(crate) async fn wait(backoff: &mut Backoff, least: Duration, hub: &Hub) {
    let mut random = [0; 4];
    // Without random bytes all wait alike; that is all.
    let _ = getrandom::fill(&mut random);
    let wait = least + backoff.wait(u32::from_le_bytes(random));
    tokio::select! {
        () = tokio::time::sleep(wait) => {}
        () = hub.stopped() => {}
    }
}

/// The waits of a relay: from a fifth of a second to half a minute.
pub(crate) const fn backoff() -> Backoff {
    Backoff::new(Duration::from_millis(200), Duration::from_secs(30))
}
