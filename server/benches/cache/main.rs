//! What the watch cache costs, and how that grows. Run by `cargo xtask bench cache`.
//!
//! A storage that does nothing but hand out changes as fast as they are taken feeds a real cache; time
//! is CPU time of the whole process, since with two cores and a loaded machine the clock on the wall says little. Memory
//! is measured by another program, `memory`, since counting allocations takes time too.

mod cpu;
mod feed;
mod fill;
#[path = "../shared/report.rs"]
#[expect(dead_code, reason = "shared with other benchmarks")]
mod report;

use std::time::Instant;

use fill::{by_node, filled, list, run_changes, watch};
use mimalloc::MiMalloc;
use report::{at_least, at_most, row};
use ringwatch_core::revision::Revision;
use ringwatch_server::cache::Watch;
use ringwatch_server::storage::Storage as _;

/// The allocator of the server.
#[global_allocator]
static MEMORY: MiMalloc = MiMalloc;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        report::head();
        if wanted("changes") || wanted("watchers") {
            feed_alone().await;
        }
        if wanted("changes") {
            changes_without_watchers().await;
        }
        if wanted("watchers") {
            changes_with_watchers().await;
        }
        if wanted("lists") {
            lists().await;
        }
        report::end();
    });
}

/// Whether a part was named on the command line, or none was.
fn wanted(part: &str) -> bool {
    let mut named = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .peekable();
    named.peek().is_none() || named.any(|arg| arg == part)
}

/// What the feed costs by itself, so that it can be told from the cache: every figure of changes has it inside.
async fn feed_alone() {
    let feed = feed::Feed::new(10_000);
    let changes = 500_000;
    let mut watch = feed
        .watch("/pods/", Revision::new(10_000))
        .await
        .expect("a watch");
    let cpu = cpu::time();
    feed.go(changes);
    let mut items = Vec::with_capacity(64);
    let mut taken = 0;
    while taken < changes as usize {
        taken += watch.next_many(&mut items, 64).await;
        items.clear();
    }
    let each = (cpu::time() - cpu).as_nanos() as f64 / changes as f64;
    row(
        "the feed alone, no cache",
        format!("{each:.0} ns CPU each"),
        &[],
    );
}

async fn changes_without_watchers() {
    for objects in [1_000, 10_000, 150_000] {
        let (cache, feed) = filled(objects).await;
        let changes = 500_000;
        let (wall, cpu) = (Instant::now(), cpu::time());
        run_changes(&cache, &feed, changes).await;
        let rate = changes as f64 / wall.elapsed().as_secs_f64();
        let each = (cpu::time() - cpu).as_nanos() as f64 / changes as f64;
        let target = at_least("", rate, 300_000.0, "/s");
        row(
            format!("changes, {objects} objects, no watcher"),
            format!("{rate:.0}/s, {each:.0} ns CPU each"),
            &[target],
        );
    }
}

async fn changes_with_watchers() {
    let mut few = None;
    for watchers in [1_usize, 100, 10_000, 100_000] {
        let (cache, feed) = filled(10_000).await;
        let mut readers = Vec::with_capacity(watchers);
        for number in 0..watchers {
            readers.push(tokio::spawn(read(watch(&cache, by_node(number)).await)));
        }
        // Every reader has begun to wait.
        run_changes(&cache, &feed, 1).await;
        let changes = 200_000;
        let (wall, cpu) = (Instant::now(), cpu::time());
        run_changes(&cache, &feed, changes).await;
        let rate = changes as f64 / wall.elapsed().as_secs_f64();
        let cost = (cpu::time() - cpu).as_nanos() as f64 / changes as f64;
        if watchers == 100 {
            few = Some(cost);
        }
        let mut targets = vec![at_most("", cost, 3_000.0, "ns")];
        let mut result = format!("{cost:.0} ns CPU each, {rate:.0}/s");
        if let Some(few) = few.filter(|_| watchers > 100) {
            let ratio = cost / few;
            result += &format!(", {ratio:.2} × that of 100");
            targets.push(at_most("", ratio, 2.0, "× that of 100"));
        }
        row(
            format!("changes, {watchers} watchers on nodes"),
            result,
            &targets,
        );
        readers.iter().for_each(|reader| reader.abort());
    }
}

async fn lists() {
    for objects in [1_000, 10_000, 150_000] {
        let (cache, _feed) = filled(objects).await;
        let mut best = f64::MAX;
        let mut bytes = Vec::new();
        for _ in 0..5 {
            bytes.clear();
            let start = Instant::now();
            list(&cache, &mut bytes).await;
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
        }
        let size = bytes.len() as f64 / 1e6;
        row(
            format!("list of {objects} objects, {size:.0} MB of bytes joined"),
            format!("{best:.1} ms"),
            &[at_most("", best, 60.0, "ms")],
        );
    }
}

async fn read(mut watch: Watch) {
    while watch.next().await.is_ok() {}
}
