//! Changes on their way to many watchers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::bare;
use crate::crowd::{Crowd, Verdict};
use crate::objects::{PATH, Writer, fill};
use crate::process::Server;
use crate::report::{Target, at_least, at_most, micros, millis, row, so};
use crate::wire::Access;

/// Objects that are changed in turn.
const OBJECTS: usize = 50;
const PER_SECOND: u32 = 50;
const SECONDS: u32 = 6;
/// Under pressure: writes that may be on their way to some watcher.
const WINDOW: u64 = 32;
const WRITERS: usize = 4;

/// 50 changes a second, to more and more watchers, beside the bare loop.
pub(crate) async fn steady() {
    for watchers in [1, 100, 1_000] {
        let server = Server::in_memory();
        let plain = server.plain.clone();
        let (cpu, bytes) = run(&server, &plain, watchers, "HTTP/1.1").await;
        let bare = bare::measure(bare::Work {
            sockets: watchers,
            bytes: bytes as usize,
            writes: PER_SECOND * SECONDS,
            per_second: PER_SECOND,
        })
        .await;
        let ratio = cpu.as_secs_f64() / bare.as_secs_f64();
        // With fewer watchers the write itself, not its delivery, is most of the cost.
        let targets = [at_most("", ratio, 1.4, "×")];
        let judged = if watchers == 1_000 { &targets[..] } else { &[] };
        row(
            format!("  bare loop, {watchers} sockets, {bytes} bytes each"),
            format!("{}; the server takes {ratio:.2} ×", micros(bare)),
            judged,
        );
        if watchers == 1_000 {
            let server = Server::in_memory();
            let tls = server.tls.clone();
            let (cpu, _) = run(&server, &tls, watchers, "TLS").await;
            let ratio = cpu.as_secs_f64() / bare.as_secs_f64();
            row(
                "  TLS to the bare plain loop",
                format!("{ratio:.2} ×"),
                &[at_most("", ratio, 2.0, "×")],
            );
        }
    }
}

/// CPU per event, and bytes of an event.
async fn run(server: &Server, access: &Access, watchers: usize, over: &str) -> (Duration, u64) {
    fill(&server.plain, OBJECTS, 1).await;
    let began = Instant::now();
    let mut writer = Writer::new(&server.plain, began).await;
    let revision = writer.revision().await;
    let path = format!("{PATH}?watch=1&resourceVersion={revision}");
    let crowd = Crowd::watch(access, vec![path; watchers], began).await;
    let before = server.process.cpu();
    let start = Instant::now();
    let writes = PER_SECOND * SECONDS;
    for number in 0..writes {
        let due = start + Duration::from_secs(1) * number / PER_SECOND;
        tokio::time::sleep_until(due.into()).await;
        let name = format!("o{}", number as usize % OBJECTS);
        writer.change(&name, 0).await;
    }
    let events = u64::from(writes) * watchers as u64;
    crowd.reach(events).await;
    let cpu = (server.process.cpu() - before) / events as u32;
    let verdict = crowd.verdict(writes.into());
    row(
        format!("fan-out, {watchers} watchers, {over}, {PER_SECOND} writes/s"),
        format!("{} CPU per event, {}", micros(cpu), delivery(&verdict)),
        &[
            delivered_within("p50", verdict.p50, 15.0),
            delivered_within("p99", verdict.p99, 60.0),
            whole(&verdict),
        ],
    );
    (cpu, verdict.bytes_per_event)
}

fn delivered_within(name: &str, time: Duration, millis: f64) -> Target {
    at_most(name, time.as_secs_f64() * 1e3, millis, "ms")
}

fn whole(verdict: &Verdict) -> Target {
    let whole = verdict.lost == 0 && verdict.faults == 0;
    so("nothing lost, repeated or out of order", whole)
}

fn delivery(verdict: &Verdict) -> String {
    let (p50, p99) = (millis(verdict.p50), millis(verdict.p99));
    let (lost, faults) = (verdict.lost, verdict.faults);
    let together = verdict.events_per_chunk;
    format!(
        "{together:.2} events per write, p50 {p50}, p99 {p99}, {lost} lost, {faults} repeated or out of order"
    )
}

/// As many changes as 1 000 watchers take.
pub(crate) async fn pressure() {
    let watchers = 1_000;
    let server = Server::in_memory();
    fill(&server.plain, OBJECTS * WRITERS, 1).await;
    let began = Instant::now();
    let revision = Writer::new(&server.plain, began).await.revision().await;
    let path = format!("{PATH}?watch=1&resourceVersion={revision}");
    let crowd = Arc::new(Crowd::watch(&server.plain, vec![path; watchers], began).await);
    let written = Arc::new(AtomicU64::new(0));
    let before = server.process.cpu();
    let start = Instant::now();
    let mut writers = JoinSet::new();
    for id in 0..WRITERS {
        let (crowd, written) = (crowd.clone(), written.clone());
        let mut writer = Writer::new(&server.plain, began).await;
        writers.spawn(async move {
            for number in 0.. {
                if start.elapsed() > Duration::from_secs(5) {
                    return;
                }
                let place = written.fetch_add(1, Ordering::Relaxed);
                // All but a window of them must have reached everybody.
                crowd
                    .reach(place.saturating_sub(WINDOW) * watchers as u64)
                    .await;
                let name = format!("o{}", id * OBJECTS + number % OBJECTS);
                writer.change(&name, 0).await;
            }
        });
    }
    while writers.join_next().await.is_some() {}
    let writes = written.load(Ordering::Relaxed);
    let events = writes * watchers as u64;
    crowd.reach(events).await;
    let wall = start.elapsed();
    let cpu = (server.process.cpu() - before) / events as u32;
    let verdict = crowd.verdict(writes);
    let rate = events as f64 / wall.as_secs_f64();
    row(
        "fan-out under pressure, 1 000 watchers, HTTP/1.1",
        format!(
            "{rate:.0} events/s, {} CPU per event, {}",
            micros(cpu),
            delivery(&verdict)
        ),
        &[
            at_least("", rate, 250_000.0, "events/s"),
            at_most("", cpu.as_secs_f64() * 1e6, 4.0, "µs"),
            delivered_within("p99", verdict.p99, 150.0),
            whole(&verdict),
        ],
    );
    let bare = bare::measure(bare::Work {
        sockets: watchers,
        bytes: verdict.bytes_per_event as usize * 8,
        writes: 100,
        per_second: 1_000,
    })
    .await;
    row(
        "  bare loop, 8 events at a time",
        format!("{} per event", micros(bare / 8)),
        &[],
    );
}

/// Watchers of one node each: a change is for one of them.
pub(crate) async fn selectors() {
    let mut few = None;
    for watchers in [10, 1_000] {
        let server = Server::in_memory();
        fill(&server.plain, 1_000, watchers).await;
        let began = Instant::now();
        let mut writer = Writer::new(&server.plain, began).await;
        let revision = writer.revision().await;
        let path = |node| {
            format!("{PATH}?watch=1&resourceVersion={revision}&labelSelector=node%3Dn{node}")
        };
        let crowd = Crowd::watch(&server.plain, (0..watchers).map(path).collect(), began).await;
        let writes = 3_000;
        let before = server.process.cpu();
        for number in 0..writes {
            let object = number % 1_000;
            writer
                .change(&format!("o{object}"), object % watchers)
                .await;
        }
        crowd.reach(writes as u64).await;
        let cpu = (server.process.cpu() - before) / writes as u32;
        let verdict = crowd.verdict((writes / watchers) as u64);
        let base = *few.get_or_insert(cpu);
        let ratio = cpu.as_secs_f64() / base.as_secs_f64();
        row(
            format!("{watchers} watchers, each its own labelSelector"),
            format!(
                "{} CPU per write ({ratio:.2} ×), {}",
                micros(cpu),
                delivery(&verdict)
            ),
            &[
                at_most("", cpu.as_secs_f64() * 1e6, 500.0, "µs"),
                at_most("", ratio, 1.5, "× that of 10"),
                whole(&verdict),
            ],
        );
    }
}

/// Watchers whose connections are cut, and who come back for what they missed.
pub(crate) async fn cut() {
    let (watchers, missed) = (500, 150);
    let server = Server::in_memory();
    fill(&server.plain, OBJECTS, 1).await;
    let began = Instant::now();
    let mut writer = Writer::new(&server.plain, began).await;
    let revision = writer.revision().await;
    let path = format!("{PATH}?watch=1&resourceVersion={revision}");
    let paths = vec![path; watchers];
    drop(Crowd::watch(&server.plain, paths.clone(), began).await);
    for number in 0..missed {
        writer.change(&format!("o{}", number % OBJECTS), 0).await;
    }
    let start = Instant::now();
    let crowd = Crowd::watch(&server.plain, paths, began).await;
    crowd.reach((watchers * missed) as u64).await;
    let wall = start.elapsed();
    let verdict = crowd.verdict(missed as u64);
    let (lost, faults) = (verdict.lost, verdict.faults);
    row(
        "500 watchers cut at once, 150 events missed",
        format!(
            "all caught up after {}, {lost} lost, {faults} faults or 410",
            millis(wall)
        ),
        &[
            delivered_within("", wall, 500.0),
            so("no 410, nothing lost", lost == 0 && faults == 0),
        ],
    );
}
