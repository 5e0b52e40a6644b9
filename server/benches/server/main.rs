//! What the server costs, seen from outside. Run by `cargo xtask bench server`.
//!
//! The real binary runs as a process of its own; its CPU time and memory are what `/proc` says of it, so what the load
//! costs here is not in the figures. Beside them stands what a bare loop pays that writes the same bytes to as many
//! sockets. Times on the clock (delivery, catching up) suffer from whatever else the machine does and from the load
//! itself; CPU time, and the ratio to the bare loop of the same minute, suffer less.
//!
//! Name parts to run only those: `cargo bench -p ringwatch-server --bench server -- lists memory`.

mod bare;
mod crowd;
mod fan_out;
mod lists;
mod memory;
mod objects;
mod process;
#[path = "../shared/report.rs"]
mod report;
mod wire;

use rustix::process::{Resource, getrlimit, setrlimit};

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(bare::NAME) {
        bare::run(arguments);
        return;
    }
    allow_many_sockets();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        // A task of its own, as the others are.
        tokio::spawn(measure()).await.expect("every part measured");
    });
}

async fn measure() {
    report::head();
    if wanted("fan-out") {
        fan_out::steady().await;
    }
    if wanted("pressure") {
        fan_out::pressure().await;
    }
    if wanted("selectors") {
        fan_out::selectors().await;
    }
    if wanted("lists") {
        lists::lists().await;
    }
    if wanted("watch-lists") {
        lists::watch_lists().await;
    }
    if wanted("cut") {
        fan_out::cut().await;
    }
    if wanted("memory") {
        memory::memory().await;
    }
    if wanted("ready") {
        memory::ready().await;
    }
    report::end();
}

/// Whether a part was named on the command line, or none was.
fn wanted(part: &str) -> bool {
    let mut named = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .peekable();
    named.peek().is_none() || named.any(|argument| argument == part)
}

fn allow_many_sockets() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("a limit up to the maximum");
}
