//! What the program has counted, in the words of Prometheus.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;

use ringwatch_core::predicate::Scope;

use crate::engine::Begun;
use crate::hub::{Hub, Track};

/// Counters, one for each thing that can happen.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Nodes that are connected.
    pub nodes: Cell<u64>,
    /// Sessions with nodes that have begun.
    pub sessions: Cell<u64>,
    /// Bytes sent to nodes.
    pub bytes_down: Cell<u64>,
    /// Bytes received from upstream.
    pub bytes_up: Cell<u64>,
    /// Connections to upstream that have begun.
    pub connects: Cell<u64>,
    /// Lists that were asked for upstream.
    pub lists: Cell<u64>,
    /// Bytes written to disk.
    pub disk_bytes: Cell<u64>,
    /// Writes to disk that have failed.
    pub disk_errors: Cell<u64>,
    /// HTTP requests.
    pub requests: Cell<u64>,
    /// Packets sent to nodes.
    pub packets: Cell<u64>,
    /// HTTP watches that are open, by track.
    pub watches: Box<[Cell<u64>]>,
    /// Connections that have ended, by listener and reason.
    closed: RefCell<BTreeMap<(&'static str, &'static str), u64>>,
}

impl Metrics {
    /// All at zero, for so many tracks.
    pub fn new(tracks: usize) -> Self {
        Self {
            watches: vec![Cell::new(0); tracks].into(),
            ..Self::default()
        }
    }

    /// A connection of a listener has ended, for one of a few reasons.
    pub fn closed(&self, listener: &'static str, reason: &'static str) {
        *self
            .closed
            .borrow_mut()
            .entry((listener, reason))
            .or_default() += 1;
    }
}

/// Adds to a counter.
pub fn add(counter: &Cell<u64>, amount: u64) {
    counter.set(counter.get().wrapping_add(amount));
}

/// Takes from a gauge.
pub fn take(counter: &Cell<u64>, amount: u64) {
    counter.set(counter.get().saturating_sub(amount));
}

/// What is read of a track now.
type Gauge = fn(&Track, ringwatch_core::time::Instant) -> f64;

/// All of them as text.
pub fn render(hub: &Hub) -> String {
    let m = &hub.metrics;
    let rows = [
        (
            "nodes_connected",
            "gauge",
            "Nodes that are connected.",
            &m.nodes,
        ),
        (
            "sessions_total",
            "counter",
            "Sessions with nodes that have begun.",
            &m.sessions,
        ),
        (
            "sent_bytes_total",
            "counter",
            "Bytes sent to nodes.",
            &m.bytes_down,
        ),
        (
            "sent_packets_total",
            "counter",
            "Packets sent to nodes.",
            &m.packets,
        ),
        (
            "received_bytes_total",
            "counter",
            "Bytes received from upstream.",
            &m.bytes_up,
        ),
        (
            "upstream_connects_total",
            "counter",
            "Connections to upstream.",
            &m.connects,
        ),
        (
            "upstream_lists_total",
            "counter",
            "Lists asked for upstream.",
            &m.lists,
        ),
        (
            "disk_written_bytes_total",
            "counter",
            "Bytes written to disk.",
            &m.disk_bytes,
        ),
        (
            "disk_errors_total",
            "counter",
            "Writes to disk that failed.",
            &m.disk_errors,
        ),
        (
            "http_requests_total",
            "counter",
            "HTTP requests.",
            &m.requests,
        ),
    ];
    let mut out = String::new();
    for (name, kind, help, value) in rows {
        let value = value.get();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "# HELP ringwatch_edge_{name} {help}\n# TYPE ringwatch_edge_{name} {kind}\nringwatch_edge_{name} {value}"
        );
    }
    let _ = writeln!(
        out,
        "# HELP ringwatch_edge_closed_total Connections that have ended, and why.\n# TYPE ringwatch_edge_closed_total counter"
    );
    for ((listener, reason), value) in &*m.closed.borrow() {
        let _ = writeln!(
            out,
            "ringwatch_edge_closed_total{{listener=\"{listener}\",reason=\"{reason}\"}} {value}"
        );
    }
    let _ = writeln!(
        out,
        "# HELP ringwatch_edge_node_restarts_total Restarts that nodes have reported, and why.\n# TYPE ringwatch_edge_node_restarts_total counter"
    );
    for (cause, count) in hub.relay.borrow().restarts().by_cause() {
        let _ = writeln!(
            out,
            "ringwatch_edge_node_restarts_total{{listener=\"link\",cause=\"{cause}\"}} {count}"
        );
    }
    {
        let relay = hub.relay.borrow();
        begun(
            &mut out,
            "node_watches_total",
            "Watches of nodes, by how they have begun.",
            [relay.begun()].into_iter(),
        );
        begun(
            &mut out,
            "upstream_watches_total",
            "Watches over the node link upstream, by how they have begun.",
            relay.tracks().iter().map(Track::begun),
        );
    }
    let online = u64::from(hub.online.get() > 0);
    let _ = writeln!(
        out,
        "# HELP ringwatch_edge_upstream_online Whether the upstream is there.\n# TYPE ringwatch_edge_upstream_online gauge\nringwatch_edge_upstream_online {online}"
    );
    let relay = hub.relay.borrow();
    let now = hub.clock.now();
    let gauges: [(&str, &str, Gauge); 4] = [
        ("objects", "Objects held.", |track, _| track.len() as f64),
        (
            "revision",
            "The revision up to which everything is known.",
            |track, _| track.revision().get() as f64,
        ),
        (
            "age_seconds",
            "How long ago it was in step with the origin.",
            |track, now| track.age(now).as_secs_f64(),
        ),
        (
            "incomplete",
            "Whether objects are missing that were too large or too many.",
            |track, _| f64::from(u8::from(!track.has_all())),
        ),
    ];
    let _ = writeln!(
        out,
        "# HELP ringwatch_edge_watches HTTP watches that are open.\n# TYPE ringwatch_edge_watches gauge"
    );
    for (track, open) in relay.tracks().iter().zip(&m.watches) {
        let _ = writeln!(
            out,
            "ringwatch_edge_watches{{{}}} {}",
            labels(track),
            open.get()
        );
    }
    for (name, help, value) in gauges {
        let _ = writeln!(
            out,
            "# HELP ringwatch_edge_{name} {help}\n# TYPE ringwatch_edge_{name} gauge"
        );
        for track in relay.tracks() {
            let value = value(track, now);
            let _ = writeln!(out, "ringwatch_edge_{name}{{{}}} {value}", labels(track));
        }
    }
    out
}

/// What a track is about.
fn labels(track: &Track) -> String {
    let subject = track.subject();
    let namespace = match &subject.scope {
        Scope::Namespace(namespace) => namespace,
        _ => "",
    };
    format!(
        "resource=\"{}\",namespace=\"{namespace}\"",
        subject.resource
    )
}

/// How watches have begun.
fn begun(out: &mut String, name: &str, help: &str, counts: impl Iterator<Item = Begun>) {
    let (mut snapshots, mut resumed, mut differences) = (0, 0, 0);
    for begun in counts {
        snapshots += u64::from(begun.snapshots);
        resumed += u64::from(begun.resumed);
        differences += u64::from(begun.differences);
    }
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "# HELP ringwatch_edge_{name} {help}\n# TYPE ringwatch_edge_{name} counter"
    );
    for (how, count) in [
        ("snapshot", snapshots),
        ("resumed", resumed),
        ("difference", differences),
    ] {
        let _ = writeln!(out, "ringwatch_edge_{name}{{how=\"{how}\"}} {count}");
    }
}
