//! Firmware in QEMU against the programs as a user starts them: how late a change is at a node on a microcontroller, and how many pass through a relay on
//! one. Run by `cargo xtask bench firmware`, which says where the images are.
//!
//! QEMU runs code as fast as this machine can, and knows nothing of a chip's clock, caches and flash. So these are times of the whole path with an emulated
//! board in it, good to compare one tree with another on one machine; they are not times of a chip. What does not depend on speed is checked: every change comes,
//! once, and in the end everybody has what the API has.

#[path = "../tests/firmware/board.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod board;
#[path = "../../server/benches/cache/cpu.rs"]
mod cpu;
#[path = "../tests/firmware/given.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod given;
#[path = "../tests/relay/http.rs"]
mod http;
#[path = "../tests/relay/programs.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod programs;
#[path = "../../server/benches/shared/report.rs"]
#[allow(dead_code, reason = "the server's benches use more of it")]
mod report;
#[path = "../tests/firmware/said.rs"]
mod said;
#[path = "../tests/firmware/writer.rs"]
mod writer;

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use board::{AN385, Machine, Node, RISCV};
use given::{admitted, boot_node, boot_relay, simulate, simulated};
use programs::{Nodes, Server, until};
use report::{millis, row, so};
use ringwatch_tests::etcd::Folder;
use writer::Writer;

/// For latency: so many changes, one at a time and so many a second.
const CHANGES: u64 = 300;
const PER_SECOND: u32 = 50;
/// For throughput: how long to write, to how many devices, on how many connections.
const WRITING: Duration = Duration::from_secs(8);
const DEVICES: u64 = 16;
const WRITERS: u64 = 4;
/// Changes that may be on their way. Half of what the relay remembers: who is further behind is sent a difference, and would not see each.
const ON_THE_WAY: u64 = 128;

/// A server on this machine that lets in one name.
struct Host {
    folder: Folder,
    server: Server,
}

impl Host {
    fn start(name: &str) -> Self {
        let folder = Folder::new();
        let keys = folder.path().join("nodes.toml");
        fs::write(&keys, admitted(name)).expect("a key file");
        let server = Server::start(folder.path(), &keys, None);
        Self { folder, server }
    }

    fn writer(&self) -> Writer {
        Writer::new(self.server.http)
    }
}

fn main() {
    report::head();
    for machine in [&AN385, &RISCV] {
        let host = Host::start("heater");
        host.writer().create("boiler", 1);
        let mut node = boot_node(host.folder.path(), machine, "heater", host.server.link);
        latency(&host, &format!("node on {}", machine.chip), &mut node);
    }
    let host = Host::start("gateway");
    host.writer().create("boiler", 1);
    let folder = host.folder.path();
    let (_relay, port) = boot_relay(folder, &AN385, "gateway", host.server.link, &["heater"]);
    let mut node = boot_node(folder, &AN385, "heater", port);
    let chip = AN385.chip;
    latency(&host, &format!("relay and node on {chip}"), &mut node);
    drop(node);

    for (machine, nodes) in [(&AN385, 1), (&AN385, 4), (&RISCV, 1), (&RISCV, 4)] {
        throughput(machine, nodes);
    }
    report::end();
}

/// How long after the write was begun, and after it was answered, the node has printed the change.
fn latency(host: &Host, what: &str, node: &mut Node) {
    node.until("set default/boiler 1 auto default");
    let mut writer = host.writer();
    let begin = Instant::now();
    let (mut written, mut answered) = (Vec::new(), Vec::new());
    for setpoint in 2..CHANGES + 2 {
        let due = begin + Duration::from_secs(1) * (setpoint - 1) as u32 / PER_SECOND;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let before = Instant::now();
        writer.set("boiler", setpoint);
        let after = Instant::now();
        let (at, line) = node.next_at("set default/boiler");
        let expected = format!("boiler {setpoint} auto");
        assert!(line.contains(&expected), "{setpoint} is lost: {line}");
        written.push(at - before);
        // It may be there before whoever wrote it is told.
        answered.push(at.saturating_duration_since(after));
    }
    let (objects, digest) = writer.state();
    node.until(&format!(": {objects} devices, digest {digest}"));
    row(
        format!("{what}: from the write to the line on its UART"),
        percentiles(&mut written),
        &[so(&format!("all {CHANGES}, in order"), true)],
    );
    row(
        format!("{what}: from the write's answer"),
        percentiles(&mut answered),
        &[],
    );
}

fn percentiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |percent: usize| millis(times[times.len() * percent / 100]);
    format!("p50 {}, p99 {}", at(50), at(99))
}

/// How many changes pass through a relay to simulated nodes when there is always another one.
fn throughput(machine: &Machine, count: usize) {
    let host = Host::start("gateway");
    let mut writer = host.writer();
    let device = |number: u64| format!("lamp-{}", number % DEVICES);
    (0..DEVICES).for_each(|number| writer.create(&device(number), 1));
    let names = simulated("many", count);
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let folder = host.folder.path();
    let (relay, port) = boot_relay(folder, machine, "gateway", host.server.link, &names);
    let nodes = simulate(folder, "many", count, port);
    in_step(&nodes, count, &mut writer);
    let before: Vec<_> = events(&nodes);

    // Each node has seen so many, at least.
    let seen = || {
        let now = events(&nodes);
        let seen = now.iter().zip(&before).map(|(now, before)| now - before);
        seen.min().unwrap_or_default()
    };
    let process = relay.id().to_string();
    let (begun, cpu) = (Instant::now(), cpu::time_of(&process));
    let number = AtomicU64::new(0);
    let waited = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let mut writer = host.writer();
                while begun.elapsed() < WRITING {
                    let next = number.fetch_add(1, Ordering::Relaxed);
                    let wait = Instant::now();
                    while next >= seen() + ON_THE_WAY {
                        thread::sleep(Duration::from_millis(1));
                    }
                    let wait = wait.elapsed().as_micros() as u64;
                    waited.fetch_add(wait, Ordering::Relaxed);
                    writer.set(&device(next), next + 2);
                }
            });
        }
    });
    let changes = number.into_inner();
    until("every node has seen every change", || {
        (seen() >= changes).then_some(())
    });
    let (took, cpu) = (begun.elapsed(), cpu::time_of(&process) - cpu);
    in_step(&nodes, count, &mut writer);
    let frames: u64 = events(&nodes)
        .iter()
        .zip(&before)
        .map(|(now, before)| now - before)
        .sum();
    let each = |amount: u64| amount as f64 / took.as_secs_f64();
    // If nobody ever had to wait, the server was what was slow.
    let waited = Duration::from_micros(waited.into_inner() / WRITERS);
    row(
        format!("relay on {}, simulated nodes: {count}", machine.chip),
        format!(
            "{:.0} changes/s in, {:.0} frames/s out; {:.2} ms of QEMU's CPU for each change; writers waited for it {:.0} % of the time",
            each(changes),
            each(frames),
            cpu.as_secs_f64() * 1e3 / changes as f64,
            waited.as_secs_f64() / took.as_secs_f64() * 100.0
        ),
        &[so(
            &format!("all {changes}, once at each node"),
            frames == changes * count as u64,
        )],
    );
}

/// Waits until all nodes have what the API has.
fn in_step(nodes: &Nodes, count: usize, writer: &mut Writer) {
    let (objects, digest) = writer.state();
    let expected = format!("objects {objects} digest {digest} ");
    until("the nodes are in step", || {
        let last = nodes.last.lock().expect("not poisoned");
        let all = last.len() == count && last.values().all(|line| line.contains(&expected));
        all.then_some(())
    });
}

/// How many changes each node has seen.
fn events(nodes: &Nodes) -> Vec<u64> {
    nodes.counts("events").into_values().collect()
}
