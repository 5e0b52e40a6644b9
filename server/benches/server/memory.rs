//! What there is of memory, and how soon a server with many objects is there.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::crowd::Crowd;
use crate::objects::{PATH, Writer, fill};
use crate::process::Server;
use crate::report::{at_most, millis, row, so};
use crate::wire::{Access, Wire};

const WATCHERS: usize = 2_000;
/// Watchers that do not read, and the changes that they do not read: more than the sockets' buffers hold, and less than
/// the ring does.
const STOPPED: usize = 200;
/// Watchers that are to be held at once.
const CROWD: usize = 10_000;
/// Objects of about 1 KB whose memory is looked at.
const OBJECTS: [usize; 3] = [1_000, 10_000, 50_000];
const UNREAD: usize = 6_000;

/// Resident memory: idle, per watcher, and per watcher that stops reading.
pub(crate) async fn memory() {
    let server = Server::in_memory();
    Wire::connect(&server.plain).await.get("/readyz", "").await;
    let idle = server.process.rss() as f64 / 1024.0;
    row(
        "memory of an idle server",
        format!("{idle:.1} MB"),
        &[at_most("", idle, 20.0, "MB")],
    );
    drop(server);
    let server = Server::in_memory();
    per_watcher(&server, &server.plain, "plain", 8.0).await;
    drop(server);
    let server = Server::in_memory();
    per_watcher(&server, &server.tls, "TLS", 25.0).await;
    drop(server);
    stopped().await;
    held().await;
    objects().await;
}

/// Ten thousand watchers at once: every one of them hears of a change.
async fn held() {
    let server = Server::in_memory();
    fill(&server.plain, 10, 1).await;
    let began = Instant::now();
    let mut writer = Writer::new(&server.plain, began).await;
    let revision = writer.revision().await;
    let path = format!("{PATH}?watch=1&resourceVersion={revision}");
    let crowd = Crowd::watch(&server.plain, vec![path; CROWD], began).await;
    let start = Instant::now();
    writer.change("o1", 0).await;
    let all = crowd.reach(CROWD as u64).await;
    let heard = if all { "all" } else { "not all" };
    let rss = server.process.rss() as f64 / 1024.0;
    row(
        format!("{CROWD} watchers held, one change"),
        format!(
            "{heard} told after {}, {rss:.1} MB in all",
            millis(start.elapsed())
        ),
        &[so("all told", all)],
    );
}

/// What objects take besides their bytes: stored in memory here, and in the cache.
async fn objects() {
    for count in OBJECTS {
        let server = Server::in_memory();
        Wire::connect(&server.plain).await.get("/readyz", "").await;
        let before = settled(&server).await;
        fill(&server.plain, count, 100).await;
        let mut wire = Wire::connect(&server.plain).await;
        let bytes = wire.get(&format!("{PATH}?resourceVersion=0"), "").await;
        let after = settled(&server).await;
        let each = (after as f64 - before as f64) / count as f64;
        let json = bytes.body.len() as f64 / 1024.0 / count as f64;
        row(
            format!("memory per object, {count} of {json:.2} KB"),
            format!("{each:.2} KB, storage in memory and its history included"),
            &[],
        );
    }
}

async fn per_watcher(server: &Server, access: &Access, over: &str, limit: f64) {
    let began = Instant::now();
    fill(&server.plain, 10, 1).await;
    let path = format!(
        "{PATH}?watch=1&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    );
    // Buffers and tables that are made once.
    let first = Crowd::watch(access, vec![path.clone(); 100], began).await;
    let before = settled(server).await;
    let crowd = Crowd::watch(access, vec![path; WATCHERS], began).await;
    let after = settled(server).await;
    let each = (after as f64 - before as f64) / WATCHERS as f64;
    row(
        format!("memory per idle watcher, {over}, {WATCHERS} of them"),
        format!("{each:.1} KB"),
        &[at_most("", each, limit, "KB")],
    );
    drop((first, crowd));
}

/// Watchers that do not read what concerns them, against as many whom nothing concerns, on servers that had the same work.
async fn stopped() {
    let concerned = with_unread("").await;
    let unconcerned = with_unread("&labelSelector=node%3Dnone").await;
    // Signed: noise that is larger than the difference has to show.
    let each = (concerned as f64 - unconcerned as f64) / STOPPED as f64;
    row(
        format!("memory per watcher that stopped reading, {UNREAD} events unread"),
        format!("{each:+.1} KB (servers of {concerned} and {unconcerned} KB)"),
        &[at_most("", each, 64.0, "KB")],
    );
}

/// Memory of a server whose watchers do not read.
async fn with_unread(selector: &str) -> u64 {
    let server = Server::in_memory();
    fill(&server.plain, 10, 1).await;
    let mut writer = Writer::new(&server.plain, Instant::now()).await;
    let revision = writer.revision().await;
    let path = format!("{PATH}?watch=1&resourceVersion={revision}{selector}");
    let mut wires = Vec::new();
    for _ in 0..STOPPED {
        let mut wire = Wire::connect(&server.plain).await;
        wire.watch(&path).await;
        wires.push(wire);
    }
    for number in 0..UNREAD {
        writer.change(&format!("o{}", number % 10), 0).await;
    }
    settled(&server).await
}

/// Memory once the allocator has given back what it is going to: the least in a while.
async fn settled(server: &Server) -> u64 {
    let mut least = server.process.rss();
    for _ in 0..30 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        least = least.min(server.process.rss());
    }
    least
}

/// From the start of the process to the first success of `/readyz`, with 10 000 objects on disk.
pub(crate) async fn ready() {
    let folder = TempDir::new().expect("a temporary folder");
    let server = Server::start(folder.path(), &[]);
    fill(&server.plain, 10_000, 100).await;
    server.process.stop();
    let start = Instant::now();
    let server = Server::start(folder.path(), &[]);
    let mut wire = Wire::connect(&server.plain).await;
    while wire.exchange("GET", "/readyz", "", "").await.status != 200 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let taken = start.elapsed();
    row(
        "ready with 10 000 objects stored",
        millis(taken),
        &[at_most("", taken.as_secs_f64() * 1e3, 1_000.0, "ms")],
    );
}
