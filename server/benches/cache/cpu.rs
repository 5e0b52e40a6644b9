//! CPU time of a process.

use std::fs;
use std::time::Duration;

/// User and system time so far of this process.
#[allow(
    dead_code,
    reason = "one bench asks for its own, another for a child's"
)]
pub(crate) fn time() -> Duration {
    time_of("self")
}

/// The same of a process by its number: of all its threads, in nanoseconds where the kernel counts them.
pub(crate) fn time_of(process: &str) -> Duration {
    // The first field of schedstat is nanoseconds on a CPU, per thread.
    let tasks = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}
