//! What a process has of the machine's memory.

use std::fs;
use std::time::{Duration, Instant};

use crate::server::Server;

/// What the server may keep that it did not have before: buffers for the next request, pages that the allocator has not given
/// back. Much less than what it was sent.
const SLACK: u64 = 16 << 20;
/// What it may have at once, besides: a body of the largest size, with the tree that is made of it.
const PEAK: u64 = 64 << 20;
/// How long the allocator may take to give pages back.
const SETTLING: Duration = Duration::from_secs(30);

/// Does something to a server, after which its memory has to return to where it was.
pub(crate) fn returns(server: &Server, work: impl FnOnce()) {
    let before = resident(server, "VmRSS");
    work();
    let peak = resident(server, "VmHWM");
    assert!(
        peak <= before + PEAK,
        "from {before} to {peak} bytes in between"
    );
    let begun = Instant::now();
    loop {
        // An allocator looks after its pages when it is asked for some.
        assert_eq!(server.get("/livez").status, 200);
        let now = resident(server, "VmRSS");
        if now <= before + SLACK {
            return;
        }
        assert!(
            begun.elapsed() < SETTLING,
            "{now} bytes, and {before} before"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A number of bytes that the system has about the process.
pub(crate) fn resident(server: &Server, name: &str) -> u64 {
    let status = format!("/proc/{}/status", server.id());
    let status = fs::read_to_string(status).expect("what the system knows");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim_matches([':', '\t', ' ']).split(' ').next());
    let kilobytes: u64 = number
        .and_then(|number| number.parse().ok())
        .expect("a number");
    kilobytes * 1024
}
