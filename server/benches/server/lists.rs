//! States: lists, and lists in the form of a watch.

use std::time::{Duration, Instant};

use memchr::memmem;
use tokio::task::JoinSet;

use crate::objects::{PATH, fill};
use crate::process::Server;
use crate::report::{Target, at_most, millis, row};
use crate::wire::{Access, Wire};

const OBJECTS: usize = 5_000;
const WATCH_LIST: &str = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=60";

/// What a list of 5 000 costs, asked in different ways.
pub(crate) async fn lists() {
    let server = Server::in_memory();
    fill(&server.plain, OBJECTS, 100).await;
    let gzip = "Accept-Encoding: gzip\r\n";
    for (what, query, headers, times, target) in [
        ("from cache", "?resourceVersion=0", "", 60, 8.0),
        ("consistent", "", "", 60, 8.0),
        ("1 % by label", "?labelSelector=node%3Dn7", "", 2_000, 0.4),
        (
            "gzip, the same state again",
            "?resourceVersion=0",
            gzip,
            60,
            40.0,
        ),
    ] {
        let mut wire = Wire::connect(&server.plain).await;
        let path = format!("{PATH}{query}");
        wire.get(&path, headers).await;
        let before = server.process.cpu();
        let mut bytes = 0;
        for _ in 0..times {
            bytes = wire.get(&path, headers).await.body.len();
        }
        let cpu = (server.process.cpu() - before) / times;
        let size = bytes as f64 / 1e6;
        row(
            format!("LIST of 5 000 × 1 KB, {what}"),
            format!("{} CPU, {size:.2} MB", millis(cpu)),
            &[cpu_at_most(cpu, target)],
        );
    }
    let mut wire = Wire::connect(&server.plain).await;
    let before = server.process.cpu();
    let times = 60;
    for _ in 0..times {
        assert_eq!(paged(&mut wire).await, OBJECTS);
    }
    let cpu = (server.process.cpu() - before) / times;
    row(
        "LIST of 5 000 × 1 KB, paged by 500",
        format!("{} CPU", millis(cpu)),
        &[cpu_at_most(cpu, 10.0)],
    );
    gzip_of_changing(&server).await;
}

fn cpu_at_most(cpu: Duration, millis: f64) -> Target {
    at_most("", cpu.as_secs_f64() * 1e3, millis, "ms")
}

/// Lists, compressed, of a state that is never the same.
async fn gzip_of_changing(server: &Server) {
    let mut writer = crate::objects::Writer::new(&server.plain, Instant::now()).await;
    let mut wire = Wire::connect(&server.plain).await;
    let path = format!("{PATH}?resourceVersion=0");
    let mut cpu = Duration::ZERO;
    let times = 20;
    for number in 0..times {
        writer.change(&format!("o{number}"), number % 100).await;
        let before = server.process.cpu();
        wire.get(&path, "Accept-Encoding: gzip\r\n").await;
        cpu += server.process.cpu() - before;
    }
    row(
        "LIST of 5 000 × 1 KB, gzip, after each change",
        format!("{} CPU", millis(cpu / times as u32)),
        &[cpu_at_most(cpu / times as u32, 40.0)],
    );
}

/// How many objects there are on all pages.
async fn paged(wire: &mut Wire) -> usize {
    let mut token = String::new();
    let mut objects = 0;
    loop {
        let path = format!("{PATH}?limit=500&continue={token}");
        let answer = wire.get(&path, "").await;
        objects += memmem::find_iter(&answer.body, br#""uid":"#).count();
        match answer.text("continue") {
            None | Some("") => return objects,
            Some(next) => token = next.replace('+', "%2B").replace('=', "%3D"),
        }
    }
}

/// What a list in the form of a watch costs, and how long a crowd of those takes.
pub(crate) async fn watch_lists() {
    let server = Server::in_memory();
    fill(&server.plain, OBJECTS, 100).await;
    sync(&server.plain).await;
    let before = server.process.cpu();
    let times = 30;
    for _ in 0..times {
        sync(&server.plain).await;
    }
    let cpu = (server.process.cpu() - before) / times;
    row(
        "WatchList of 5 000 × 1 KB, one client",
        format!("{} CPU", millis(cpu)),
        &[cpu_at_most(cpu, 15.0)],
    );
    let before = server.process.cpu();
    let start = Instant::now();
    let mut clients = JoinSet::new();
    for _ in 0..50 {
        let access = server.plain.clone();
        clients.spawn(async move { sync(&access).await });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("a client that was synced");
    }
    let (wall, cpu) = (start.elapsed(), (server.process.cpu() - before) / 50);
    row(
        "WatchList of 5 000 × 1 KB, 50 clients at once",
        format!(
            "all synced after {}, {} CPU each",
            millis(wall),
            millis(cpu)
        ),
        &[at_most("", wall.as_secs_f64() * 1e3, 1_000.0, "ms")],
    );
}

/// Reads the state to its end.
async fn sync(access: &Access) {
    let mut wire = Wire::connect(access).await;
    wire.watch(&format!("{PATH}{WATCH_LIST}")).await;
    let (mut objects, mut synced) = (0, false);
    while !synced {
        let open = wire
            .events(|line| {
                if line.starts_with(br#"{"type":"ADDED""#) {
                    objects += 1;
                } else {
                    synced = true;
                }
            })
            .await;
        assert!(open, "ended after {objects} objects");
    }
    assert_eq!(objects, OBJECTS);
}
