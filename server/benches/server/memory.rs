//! What there is of memory, and how soon a server with many objects is there.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::crowd::Crowd;
use crate::objects::{PATH, Writer, fill};
use crate::process::Server;
use crate::report::{millis, row};
use crate::wire::{Access, Wire};

const WATCHERS: usize = 2_000;
/// Watchers that do not read, and the changes that they do not read: more than the sockets' buffers hold, and less than
/// the ring does.
const STOPPED: usize = 200;
const UNREAD: usize = 6_000;

/// Resident memory: idle, per watcher, and per watcher that stops reading.
pub(crate) async fn memory() {
    let server = Server::in_memory();
    Wire::connect(&server.plain).await.get("/readyz", "").await;
    let idle = server.process.rss() as f64 / 1024.0;
    row(
        "memory of an idle server",
        format!("{idle:.1} MB"),
        "≤ 20 MB",
    );
    drop(server);
    let server = Server::in_memory();
    per_watcher(&server, &server.plain, "plain", "≤ 8 KB").await;
    drop(server);
    let server = Server::in_memory();
    per_watcher(&server, &server.tls, "TLS", "≤ 25 KB").await;
    drop(server);
    stopped().await;
}

async fn per_watcher(server: &Server, access: &Access, over: &str, target: &str) {
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
        target,
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
        "≤ 64 KB",
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
    row(
        "ready with 10 000 objects stored",
        millis(start.elapsed()),
        "≤ 1 000 ms",
    );
}
