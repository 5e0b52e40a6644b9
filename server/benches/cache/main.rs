//! What the watch cache costs, and how that grows. Run by `cargo xtask bench cache`.
//!
//! A storage that does nothing but hand out changes as fast as they are taken feeds a real cache; time
//! is CPU time of the whole process, since with two cores and a loaded machine the clock on the wall says little.

mod cpu;
mod feed;

use std::alloc::System;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cap::Cap;
use feed::Feed;
use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::{Revision, StartFrom};
use ringwatch_core::selector::{FieldSelector, LabelSelector, Requirement};
use ringwatch_server::cache::{
    Cache, Capacity, Format, ListRequest, Options, Predicate, Resource, Watch, WatchRequest,
    WatchStart, everything,
};

/// Counts what is allocated; memory is measured, not estimated.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        println!("| what | result | target |\n|---|---:|---:|");
        changes_without_watchers().await;
        changes_with_watchers().await;
        lists().await;
    });
}

async fn changes_without_watchers() {
    for objects in [1_000, 10_000, 150_000] {
        let (cache, feed) = filled(objects).await;
        let changes = 500_000;
        let (wall, cpu) = (Instant::now(), cpu::time());
        run_changes(&cache, &feed, changes).await;
        let rate = changes as f64 / wall.elapsed().as_secs_f64();
        let each = (cpu::time() - cpu).as_nanos() as f64 / changes as f64;
        let target = if objects == 150_000 {
            ">= 300000/s"
        } else {
            ""
        };
        println!(
            "| changes, {objects} objects, no watcher | {rate:.0}/s, {each:.0} ns CPU each | {target} |"
        );
    }
}

async fn changes_with_watchers() {
    for watchers in [1_usize, 100, 10_000, 100_000] {
        let (cache, feed) = filled(10_000).await;
        let before = MEMORY.allocated();
        let mut watches = Vec::with_capacity(watchers);
        for number in 0..watchers {
            watches.push(watch(&cache, by_node(number)).await);
        }
        let each = (MEMORY.allocated().saturating_sub(before)) as f64 / watchers as f64;
        let readers: Vec<_> = watches
            .into_iter()
            .map(|watch| tokio::spawn(read(watch)))
            .collect();
        let changes = 200_000;
        let (wall, cpu) = (Instant::now(), cpu::time());
        run_changes(&cache, &feed, changes).await;
        let rate = changes as f64 / wall.elapsed().as_secs_f64();
        let cost = (cpu::time() - cpu).as_nanos() as f64 / changes as f64;
        println!(
            "| changes, {watchers} watchers on nodes | {cost:.0} ns CPU each, {rate:.0}/s | <= 3000 ns, <= 2 x that of 100 |"
        );
        println!("| memory of an idle watcher, {watchers} | {each:.0} B | <= 300 B |");
        readers.iter().for_each(|reader| reader.abort());
    }
}

async fn lists() {
    for objects in [1_000, 10_000, 150_000] {
        let before = MEMORY.allocated();
        let (cache, _feed) = filled(objects).await;
        let held = (MEMORY.allocated().saturating_sub(before)) as f64 / objects as f64;
        let request = ListRequest {
            predicate: everything(),
            start: StartFrom::Any,
            limit: 0,
            after: None,
        };
        let mut best = f64::MAX;
        let mut bytes = Vec::new();
        for _ in 0..5 {
            bytes.clear();
            let start = Instant::now();
            let listing = cache.list(&request).await.expect("a list");
            for object in &listing.items {
                bytes.extend_from_slice(object.bytes());
                bytes.push(b',');
            }
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
        }
        let json = bytes.len() as f64 / objects as f64;
        println!(
            "| list of {objects} objects, {:.0} MB of bytes joined | {best:.1} ms | {} |",
            bytes.len() as f64 / 1e6,
            if objects == 150_000 { "<= 60 ms" } else { "" }
        );
        println!(
            "| memory of an object, {objects} | {held:.0} B for {json:.0} B of JSON | <= {:.0} B |",
            json * 1.3 + 400.0
        );
    }
}

async fn filled(objects: usize) -> (Cache, Arc<Feed>) {
    let feed = Arc::new(Feed::new(objects));
    let resource = Resource {
        prefix: "/pods/".to_owned(),
        format: Format::Json {
            fields: vec!["spec.nodeName".to_owned()],
        },
        capacity: Capacity::fixed(16_384),
    };
    let cache = Cache::start(feed.clone(), &resource, Options::default()).expect("good paths");
    cache.ready().await;
    // One change: the feed has made its values and is watched.
    run_changes(&cache, &feed, 1).await;
    (cache, feed)
}

/// Lets the feed go and waits until the cache has everything.
async fn run_changes(cache: &Cache, feed: &Feed, changes: u64) {
    let until = Revision::new(feed.go(changes));
    while cache.revision() < until {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn watch(cache: &Cache, predicate: Predicate) -> Watch {
    let request = WatchRequest {
        predicate,
        start: WatchStart::Now,
        bookmarks: true,
        timeout: None,
    };
    cache.watch(request).await.expect("a watch")
}

async fn read(mut watch: Watch) {
    while watch.next().await.is_ok() {}
}

fn by_node(number: usize) -> Predicate {
    let text = format!("spec.nodeName={}", feed::node(number)).into_boxed_str();
    let fields =
        FieldSelector::<_, heapless::Vec<Requirement, 1>>::parse(text).expect("a selector");
    Predicate {
        scope: Scope::Resource,
        labels: LabelSelector::default(),
        fields: fields.map_table(|rows| rows.iter().copied().collect()),
    }
}
