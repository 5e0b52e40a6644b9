//! How many files, and so connections, the system lets us have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For storage, listeners and what else is open.
const OTHERS: u64 = 256;

/// Asks for as many as may be had, and says how many connections that allows of those wanted.
pub(super) fn allow(connections: u32) -> u32 {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let current = match setrlimit(Resource::Nofile, most) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    // `None` is for no limit.
    let Some(current) = current else {
        return connections;
    };
    let room = u32::try_from(current.saturating_sub(OTHERS)).unwrap_or(u32::MAX);
    if room < connections {
        let allowed = room.max(1);
        tracing::warn!(
            open_files = current,
            connections = allowed,
            "fewer connections than max-connections, since the system allows no more open files; raise `ulimit -n`"
        );
        return allowed;
    }
    connections
}
