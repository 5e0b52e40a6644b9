//! What the watch cache takes of memory, counted by the allocator. Run by `cargo xtask bench cache`.

mod feed;
mod fill;
#[path = "../shared/report.rs"]
#[expect(dead_code, reason = "shared with other benchmarks")]
mod report;

use std::alloc::System;
use std::sync::Arc;
use std::task::Poll;

use cap::Cap;
use feed::Feed;
use fill::{by_node, fed, filled, list, watch};
use report::{at_most, row};

/// Counts what is allocated; memory is measured, not estimated.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

fn main() {
    report::head();
    for count in [1, 100, 10_000, 100_000] {
        alone(watchers(count));
    }
    for count in [1_000, 10_000, 150_000] {
        alone(objects(count));
    }
    report::end();
}

/// Runs something in a runtime of its own, at whose end nothing is left to be freed later.
fn alone(measure: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().expect("a runtime");
    runtime.block_on(measure);
}

async fn watchers(watchers: usize) {
    let (cache, _feed) = filled(1_000).await;
    let mut watches = Vec::with_capacity(watchers);
    let before = MEMORY.allocated();
    for number in 0..watchers {
        let mut watch = watch(&cache, by_node(number)).await;
        // Waiting, with everything that this takes.
        let look = std::future::poll_fn(|c| Poll::Ready(watch.poll_next(c).is_pending()));
        assert!(look.await, "nothing has happened");
        watches.push(watch);
    }
    // The watches themselves lie in the row that was made before the count.
    let held = MEMORY.allocated().saturating_sub(before) + size_of_val(watches.as_slice());
    let each = held as f64 / watchers as f64;
    // What one alone takes is mostly tables that are made for many.
    let targets = [at_most("", each, 300.0, "B")];
    let judged = if watchers > 1 { &targets[..] } else { &[] };
    row(
        format!("an idle watcher, of {watchers}"),
        format!("{each:.0} B"),
        judged,
    );
}

async fn objects(objects: usize) {
    let feed = Arc::new(Feed::new(objects));
    let before = MEMORY.allocated();
    let cache = fed(&feed).await;
    let held = MEMORY.allocated() - before;
    let mut bytes = Vec::new();
    list(&cache, &mut bytes).await;
    let json = bytes.len() as f64 / objects as f64;
    let each = held as f64 / objects as f64;
    // The places of the ring, 16 384 whatever there is to remember, are divided by the objects too.
    let targets = [at_most("", each, (json * 1.3 + 400.0).round(), "B")];
    let judged = if objects > 1_000 { &targets[..] } else { &[] };
    row(
        format!("an object, of {objects}"),
        format!("{each:.0} B for {json:.0} B of JSON"),
        judged,
    );
}
