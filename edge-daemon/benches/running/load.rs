//! As many frames as one core gives out: the relay has a core of its own, whoever loads it has the others.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::nodes::Nodes;
use crate::support::{Running, Site};
use crate::upstream::Upstream;

/// Frames for each row, about.
const FRAMES: u64 = 2_000_000;
/// Changes for each row, at least and at most: no more than the relay's ring has places for, so that no node falls off it.
const CHANGES: (u64, u64) = (200, 9_000);

/// What it took to give changes out to some nodes.
pub(crate) struct Load {
    pub(crate) nodes: usize,
    pub(crate) changes: u64,
    /// From the first change to the last node.
    pub(crate) took: Duration,
    /// Of the relay's process.
    pub(crate) cpu: Duration,
    pub(crate) packets: u64,
    pub(crate) resident_kb: usize,
}

impl Load {
    pub(crate) fn frames(&self) -> u64 {
        self.changes * self.nodes as u64
    }

    /// Frames in a second of the relay's CPU.
    pub(crate) fn per_cpu_second(&self) -> f64 {
        self.frames() as f64 / self.cpu.as_secs_f64()
    }

    /// Frames in a second of time.
    pub(crate) fn per_second(&self) -> f64 {
        self.frames() as f64 / self.took.as_secs_f64()
    }
}

/// On which cores a process may run.
pub(crate) enum Cores {
    First,
    /// All but the first.
    Others,
    All,
}

pub(crate) fn pin(process: &Running, cores: Cores) {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let mut set = CpuSet::new();
    let wanted = match cores {
        Cores::First => 0..1,
        Cores::Others if count > 1 => 1..count,
        Cores::Others | Cores::All => 0..count,
    };
    wanted.for_each(|core| set.set(core));
    let id = Pid::from_raw(process.0.id().cast_signed());
    sched_setaffinity(id, &set).expect("a core");
}

/// The time that a process has run: that of its first thread, which does everything but write to disk.
fn cpu(process: &Running) -> Duration {
    let text = fs::read_to_string(format!("/proc/{}/schedstat", process.0.id()));
    let text = text.expect("it runs");
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

/// Measures one row: nodes in step, then changes as fast as they are taken, until all have all.
pub(crate) fn measure(
    site: &Site,
    relay: &Running,
    upstream: &Upstream,
    key: &Path,
    count: usize,
    revision: u64,
) -> (Load, u64) {
    let nodes = Nodes::start(site.link, key, count);
    pin(&nodes.running, Cores::Others);
    nodes.all_at(revision);
    let changes = (FRAMES / count as u64).clamp(CHANGES.0, CHANGES.1);
    let packets = site.metric("ringwatch_edge_sent_packets_total");
    let (before, began) = (cpu(relay), Instant::now());
    let revision = upstream.change(changes);
    let took = nodes.all_at(revision) - began;
    let load = Load {
        nodes: count,
        changes,
        took,
        cpu: cpu(relay) - before,
        packets: site.metric("ringwatch_edge_sent_packets_total") - packets,
        resident_kb: relay.resident(),
    };
    (load, revision)
}
