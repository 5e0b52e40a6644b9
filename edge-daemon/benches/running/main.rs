//! The relay as a program on real sockets: how many frames it gives out and how that grows with its nodes, how late changes come, how soon nodes are in step
//! after a cut, what goes over the wire and to disk, how soon it serves after `kill -9`. Run by `cargo xtask bench edge`.
//!
//! Upstream is a server in this program that speaks as a kube-apiserver does; nodes are those of `ringwatch-edge node`, in a process of their own. Times
//! end with the line that a node prints, so they are upper bounds.

mod load;
mod nodes;
#[path = "../../../server/benches/shared/report.rs"]
#[expect(dead_code, reason = "the server's benches use more of it")]
mod report;
#[path = "../../tests/program/support.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod support;
mod upstream;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use load::{Cores, Load};
use nodes::{Cable, Nodes};
use report::{at_least, at_most, millis, row, so};
use support::{Running, Site, until};
use upstream::{OBJECTS, Upstream};

const KEY: &str = "5555555555555555555555555555555555555555555555555555555555555555";
/// For latency: changes in a second, for how many, at how many nodes that say when they have them, and beside how many that do not.
const RATE: u64 = 1_000;
const CHANGES: u64 = 5_000;
const WATCHING: usize = 10;
const BESIDE: [usize; 2] = [0, 90];
const MANY: usize = 1_000;
const MOST: usize = 10_000;
/// Changes that are missed during a cut.
const MISSED: u64 = 10;

/// A relay, its upstream, and the key of its nodes.
struct Bench {
    upstream: Upstream,
    site: Site,
    relay: Running,
    key: PathBuf,
    revision: u64,
}

impl Bench {
    fn start(folder: &Path) -> Self {
        let upstream = Upstream::default();
        let url = format!("url = \"http://127.0.0.1:{}\"", upstream.start());
        let watch = "resource = \"pods\"\nobjects = 1000\nchanges = 10000";
        let site = Site::new(folder, &url, watch);
        site.set(
            "[listen]\n",
            &format!("[listen]\nconnections = {}\n", MOST + 100),
        );
        let key = folder.join("key");
        fs::write(&key, KEY).expect("a file");
        know(folder, MOST);
        let relay = site.run();
        upstream.until_watched();
        Self {
            upstream,
            site,
            relay,
            key,
            revision: OBJECTS,
        }
    }

    fn nodes(&self, count: usize) -> Nodes {
        let nodes = Nodes::start(self.site.link, &self.key, count);
        nodes.all_at(self.revision);
        nodes
    }

    fn metric(&self, name: &str) -> u64 {
        self.site.metric(&format!("ringwatch_edge_{name}"))
    }

    /// Waits until what there is is on disk; how many bytes were written for it.
    fn settled(&self) -> u64 {
        until("state on disk", || {
            let written = self.metric("disk_written_bytes_total");
            std::thread::sleep(Duration::from_millis(200));
            (written == self.metric("disk_written_bytes_total")).then_some(written)
        })
    }
}

/// Enters so many nodes.
fn know(folder: &Path, count: usize) {
    let names = (0..count).map(|index| format!("node-{index}"));
    let quiet = (0..100).map(|index| format!("quiet-{index}"));
    let known: String = names
        .chain(quiet)
        .map(|name| format!("[{name}]\nkey = \"{KEY}\"\nallow = [\"pods\"]\n"))
        .collect();
    fs::write(folder.join("nodes.toml"), known).expect("a file");
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut bench = Bench::start(folder.path());
    let load = saturate(&mut bench);
    println!();
    report::head();
    let frames = load.per_cpu_second();
    row(
        format!("frames to {MANY} nodes, sealed, in a second of one core"),
        format!("{frames:.0}"),
        &[at_least("frames", frames, 300_000.0, "/s")],
    );
    for beside in BESIDE {
        latency(&mut bench, beside);
    }
    cuts(&mut bench);
    start(bench);
    report::end();
}

/// As many frames as there can be, and what that costs by the number of nodes; that of many.
fn saturate(bench: &mut Bench) -> Load {
    load::pin(&bench.relay, Cores::First);
    let mut many = None;
    println!(
        "| nodes | changes | frames/s of the relay's CPU | frames/s | frames in a packet | CPU per frame | RSS |\n|---:|---:|---:|---:|---:|---:|---:|"
    );
    for nodes in [10, 100, MANY, MOST] {
        let (load, revision) = load::measure(
            &bench.site,
            &bench.relay,
            &bench.upstream,
            &bench.key,
            nodes,
            bench.revision,
        );
        bench.revision = revision;
        println!(
            "| {nodes} | {} | {:.0} | {:.0} | {:.1} | {:.2} µs | {:.1} MB |",
            load.changes,
            load.per_cpu_second(),
            load.per_second(),
            load.frames() as f64 / load.packets as f64,
            load.cpu.as_secs_f64() * 1e6 / load.frames() as f64,
            load.resident_kb as f64 / 1e3,
        );
        if nodes == MANY {
            many = Some(load);
        }
    }
    load::pin(&bench.relay, Cores::All);
    many.expect("it was measured")
}

/// How late changes come.
fn latency(bench: &mut Bench, beside: usize) {
    let watching = WATCHING + beside;
    let others = (beside > 0).then(|| nodes::quiet(bench.site.link, &bench.key, beside));
    let nodes = bench.nodes(WATCHING);
    until("all are there", || {
        (bench.metric("nodes_connected") == watching as u64).then_some(())
    });
    let counted = [
        "received_bytes_total",
        "sent_bytes_total",
        "disk_written_bytes_total",
    ];
    bench.settled();
    let before = counted.map(|name| bench.metric(name));
    let (begin, first) = (Instant::now(), bench.revision);
    let mut sent = Vec::new();
    for index in 0..CHANGES {
        let due = begin + Duration::from_secs(1) * index as u32 / RATE as u32;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        sent.push(Instant::now());
        bench.revision = bench.upstream.change(1);
    }
    let mut late: Vec<Duration> = Vec::new();
    let mut there = 0;
    while there < WATCHING {
        let report = nodes.reports.recv_timeout(support::PATIENCE);
        let (at, _, reported) = report.expect("nodes come into step in time");
        // A bookmark may say again where it was.
        let Some(index) = reported.checked_sub(first + 1) else {
            continue;
        };
        late.push(at.saturating_duration_since(sent[index as usize]));
        there += usize::from(reported == bench.revision);
    }
    late.sort_unstable();
    let p99 = late[late.len() * 99 / 100];
    row(
        format!("a change to the line a node prints, {RATE} changes/s, {watching} nodes"),
        format!("p50 {}, p99 {}", millis(late[late.len() / 2]), millis(p99)),
        &[at_most("p99", p99.as_secs_f64() * 1e3, 5.0, "ms")],
    );
    bench.settled();
    let [up, down, disk] = [0, 1, 2].map(|at| bench.metric(counted[at]) - before[at]);
    row(
        format!("bytes for each change, {watching} nodes"),
        format!(
            "{} upstream, {} to each node, {} to disk (flush-ms 50)",
            up / CHANGES,
            down / CHANGES / watching as u64,
            disk / CHANGES
        ),
        &[],
    );
    drop(others);
}

/// How soon nodes have what they have missed.
fn cuts(bench: &mut Bench) {
    let cable = Cable::to(bench.site.link);
    let nodes = Nodes::start(cable.port, &bench.key, MANY);
    nodes.all_at(bench.revision);
    let lists = bench.upstream.lists();

    // Nodes are cut off from the relay.
    cable.set(false);
    bench.revision = bench.upstream.change(MISSED);
    let missed = bench.revision;
    until("the relay has what they miss", || {
        let name = "revision{resource=\"pods\",namespace=\"\"}";
        (bench.metric(name) == missed).then_some(())
    });
    let began = Instant::now();
    cable.set(true);
    let took = nodes.all_at(missed) - began;
    row(
        format!("{MANY} nodes cut off, {MISSED} changes missed meanwhile: all in step after"),
        millis(took),
        &[at_most("time", took.as_secs_f64(), 2.0, "s")],
    );
    drop(nodes);

    // The relay is cut off from its upstream.
    let nodes = bench.nodes(MANY);
    bench.upstream.cut();
    bench.revision = bench.upstream.change(MISSED);
    bench.upstream.heal();
    bench.upstream.until_watched();
    let began = Instant::now();
    let took = nodes.all_at(bench.revision) - began;
    let asked = bench.upstream.lists() - lists;
    row(
        format!(
            "the uplink cut, {MISSED} changes missed meanwhile: once it is back, {MANY} nodes in step after"
        ),
        millis(took),
        &[
            at_most("time", took.as_secs_f64(), 2.0, "s"),
            so("no LIST upstream", asked == 0),
        ],
    );
    drop(nodes);

    bench.upstream.cut();
    let began = Instant::now();
    let nodes = Nodes::start(bench.site.link, &bench.key, MANY);
    row(
        format!("{MANY} nodes from nothing, upstream away"),
        millis(nodes.all_at(bench.revision) - began),
        &[],
    );
}

/// How soon it serves after `kill -9`, its upstream away.
fn start(bench: Bench) {
    know(&bench.site.folder, MANY);
    bench.relay.kill();
    let began = Instant::now();
    let relay = bench.site.run();
    let path = "/api/v1/pods";
    while bench
        .site
        .get(path)
        .is_none_or(|answer| answer.status != 200)
    {
        std::thread::yield_now();
    }
    let took = began.elapsed();
    row(
        "after kill -9, upstream away: a list is served after",
        millis(took),
        &[at_most("time", took.as_secs_f64() * 1e3, 100.0, "ms")],
    );
    drop(relay);
}
