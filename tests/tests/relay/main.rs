//! Server, relay, relay and a hundred nodes as real programs: whatever is killed, cut off, asleep, full or set to another time in between, each
//! node has in the end what the server has, selected and projected, by digest and by value.
//!
//! ```text
//!   (etcd) ── server ──/── first ──/── second ── nodes        the server's own store: by the node link
//!                            └──────────/─────── nodes        etcd: by the Kubernetes API
//! ```
//!
//! `RINGWATCH_WRITES` says how many writes. The clock is libfaketime's, named by `RINGWATCH_FAKETIME` or where Debian puts it.

mod groups;
mod http;
mod programs;
mod writes;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use groups::{GROUPS, admitted};
use http::Http;
use programs::{Nodes, Relay, Server, until};
use ringwatch_tests::etcd::{self, Version};
use ringwatch_tests::proxy::{Proxy, Wire};
use tokio::runtime::Runtime;
use writes::Writer;

const GATEWAY: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const NODES: &str = "2222222222222222222222222222222222222222222222222222222222222222";

/// Parts of the story, with writes in each.
const PARTS: usize = 17;

#[test]
fn on_the_servers_own_store_by_the_node_link() {
    tell(Story::begin(None));
}

#[test]
fn on_etcd_by_the_kubernetes_api() {
    tell(Story::begin(Some(etcd::Server::start(Version::V3_5))));
}

/// A wire to a port of this machine.
fn wire(runtime: &Runtime, port: u16) -> (Proxy, String) {
    let proxy = runtime.block_on(Proxy::start(format!("127.0.0.1:{port}")));
    let address = proxy.endpoint().trim_start_matches("http://").to_owned();
    (proxy, address)
}

/// The clock of a relay: a file that says how far it is off.
struct Skew(PathBuf);

impl Skew {
    fn new(folder: &Path) -> Self {
        let skew = Self(folder.join("skew"));
        skew.set("+0");
        skew
    }

    fn set(&self, offset: &str) {
        // As a whole, since it is read at any time.
        let beside = self.0.with_extension("new");
        fs::write(&beside, offset).expect("a file");
        fs::rename(beside, &self.0).expect("a file");
    }

    /// What a program is started with. Timers go on as they are: only what the time of day is jumps.
    fn environment(&self) -> Vec<(&'static str, String)> {
        let triplet = format!("{}-linux-gnu", env::consts::ARCH);
        let library = env::var("RINGWATCH_FAKETIME")
            .unwrap_or_else(|_| format!("/usr/lib/{triplet}/faketime/libfaketime.so.1"));
        assert!(
            Path::new(&library).exists(),
            "this test needs libfaketime, which is not at {library}: run `cargo xtask test`, which fetches it"
        );
        vec![
            ("LD_PRELOAD", library),
            ("FAKETIME_TIMESTAMP_FILE", self.0.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }
}

struct Story {
    // Dropped in this order: nodes, relays, server, etcd.
    nodes: [Nodes; GROUPS.len()],
    second: Relay,
    first: Relay,
    server: Server,
    etcd: Option<etcd::Server>,
    /// From the first relay to the server, from the second to the first, from nodes to the second.
    wires: [Proxy; 3],
    _slow: Proxy,
    skew: Skew,
    part: usize,
    began: Instant,
    writers: Vec<Writer>,
    _runtime: Runtime,
    _folder: tempfile::TempDir,
}

impl Story {
    fn begin(etcd: Option<etcd::Server>) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let keys = path.join("keys.toml");
        let node_key = path.join("node.key");
        let nodes = admitted(GATEWAY, NODES, None);
        fs::write(&keys, &nodes).expect("a file");
        fs::write(&node_key, NODES).expect("a file");
        let endpoint = etcd.as_ref().map(etcd::Server::endpoint);
        let server = Server::start(path, &keys, endpoint.as_deref());
        let yard = r#"{"metadata":{"name":"yard"}}"#;
        let made = Http::new(server.http).ask("POST", "/api/v1/namespaces", yard);
        assert_eq!(made.expect("an answer").0, 201);

        let by_link = |to: &str| format!("link = \"{to}\"\nname = \"gateway\"\nkey-file = \"key\"");
        let (to_server, upstream) = match &etcd {
            None => {
                let (proxy, address) = wire(&runtime, server.link);
                (proxy, by_link(&address))
            }
            Some(_) => {
                let (proxy, address) = wire(&runtime, server.http);
                (proxy, format!("url = \"http://{address}\""))
            }
        };
        let skew = Skew::new(path);
        let clock = skew.environment();
        let watch = "resource = \"configmaps\"";
        let first = Relay::start(
            &path.join("first"),
            (&upstream, watch),
            GATEWAY,
            &nodes,
            &clock,
        );
        let (to_first, address) = wire(&runtime, first.link);
        let upstream = by_link(&address);
        let second = Relay::start(
            &path.join("second"),
            (&upstream, watch),
            GATEWAY,
            &nodes,
            &[],
        );
        let (to_second, address) = wire(&runtime, second.link);
        let (slow, crawling) = wire(&runtime, first.link);
        slow.set(Wire::Slow(Duration::from_millis(100)));
        // When one relay is gone they go to the other, with what they have.
        let both = [address, format!("127.0.0.1:{}", first.link)];
        let nodes = GROUPS.each_ref().map(|group| match group.name {
            "slow" => group.start(&node_key, std::slice::from_ref(&crawling)),
            _ => group.start(&node_key, &both),
        });
        Self {
            nodes,
            second,
            first,
            server,
            etcd,
            wires: [to_server, to_first, to_second],
            _slow: slow,
            skew,
            part: 0,
            began: Instant::now(),
            writers: writes::all(),
            _runtime: runtime,
            _folder: folder,
        }
    }

    /// A part of the writes.
    fn write(&mut self) {
        self.write_while(|_| {});
    }

    /// A part of the writes, in the middle of which something happens.
    fn write_while(&mut self, fault: impl FnOnce(&mut Self)) {
        self.write_to(writes::Server::Stays, fault);
    }

    fn write_to(&mut self, server: writes::Server, fault: impl FnOnce(&mut Self)) {
        let writes = env::var("RINGWATCH_WRITES");
        let writes: usize = writes.map_or(20_000, |text| text.parse().expect("a number"));
        self.part += 1;
        // For whoever looks at a failure, or at what takes the time.
        eprintln!(
            "{:6.1} s: part {}",
            self.began.elapsed().as_secs_f64(),
            self.part
        );
        let (port, writes) = (self.server.http, writes.div_ceil(PARTS));
        let mut writers = std::mem::take(&mut self.writers);
        std::thread::scope(|scope| {
            for writer in &mut writers {
                scope.spawn(move || writer.write(port, server, writes));
            }
            fault(self);
        });
        self.writers = writers;
    }

    fn nodes(&mut self, name: &str) -> &mut Nodes {
        &mut self.nodes[groups::position(name)]
    }

    /// How many nodes sleep when those named `some` do.
    fn sleepers() -> f64 {
        GROUPS[groups::position("some")].count as f64
    }

    /// Each has what it should; the nodes named `rest` by what they may have.
    fn until_right(&self, allowed: &str) {
        for (group, nodes) in GROUPS.iter().zip(&self.nodes) {
            let allowed = if group.name == "rest" { allowed } else { "" };
            group.until_right(nodes, self.server.http, allowed);
        }
        self.until_relayed();
    }

    /// Both relays have what the server has.
    fn until_relayed(&self) {
        let expected = groups::objects(self.server.http);
        for relay in [&self.first, &self.second] {
            until("a relay with what the server has", || {
                (groups::objects(relay.http) == expected).then_some(())
            });
        }
    }
}

/// A metric of a relay, now.
fn metric(relay: &Relay, name: &str) -> f64 {
    until(name, || relay.metric(name))
}

/// Waits until a metric of a relay is more than it was.
#[track_caller]
fn until_more(relay: &Relay, name: &str, before: f64) {
    until(&format!("{name} is more than {before}"), || {
        (relay.metric(name)? > before).then_some(())
    });
}

/// The second relay is a node of the first.
const GATEWAYS: f64 = 1.0;
const UPSTREAM_DIFFERENCES: &str = "upstream_watches_total{how=\"difference\"}";

fn tell(mut story: Story) {
    story.write();
    story.until_right("");

    // A hop that is dead and says nothing, which takes its time to be found out.
    story.wires[1].set(Wire::Frozen);
    let connects = metric(&story.second, "upstream_connects_total");
    // Meanwhile: nodes that sleep, longer than any ring remembers.
    story.nodes("some").signal("STOP");
    let asleep = story.nodes("some").counts("differences");
    assert_eq!(asleep.len() as f64, Story::sleepers(), "each has reported");
    story.write();
    story.wires[1].set(Wire::Whole);
    story.write_while(|story| story.first.program.start());
    story.write_to(writes::Server::Falls, |story| {
        story.server.program.kill();
        if let Some(etcd) = &mut story.etcd {
            etcd.kill_hard();
            etcd.restart();
        }
        story.server.program.start();
        story.server.until_ready();
    });
    until_more(&story.second, "upstream_connects_total", connects);
    // What is sent to a sleeper before it is given up may wait for it in its socket: only what comes later is missed for certain.
    let awake = 100.0 - Story::sleepers() + GATEWAYS;
    until("sleepers are given up", || {
        let first = story.first.metric("nodes_connected")?;
        (first + story.second.metric("nodes_connected")? == awake).then_some(())
    });
    // Twice: what the second relay misses comes to it as what differs, which its ring may have room for.
    for _ in 0..2 {
        story.write();
        story.until_relayed();
    }
    story.nodes("some").signal("CONT");
    until("each node that slept is told what differs", || {
        let awake = story.nodes("some").counts("differences");
        let told = |(name, before)| awake.get(name) > Some(before);
        asleep.iter().all(told).then_some(())
    });

    // One relay is gone, and its nodes move to the other, with what they have.
    story.write_while(|story| {
        story.second.program.kill();
        until("nodes that have moved", || {
            let nodes = story.first.metric("nodes_connected")?;
            (nodes == 100.0).then_some(())
        });
    });
    story.second.program.start();
    story.write_while(|story| story.wires[1].set(Wire::Cut));
    story.wires[1].set(Wire::Whole);
    // Before anything else happens that would make good what went wrong here; so after each of the rest.
    story.until_right("");

    // A cut between nodes and relay, and one that lasts until the server has forgotten: 410.
    story.wires[2].set(Wire::Cut);
    story.wires[0].set(Wire::Cut);
    let forgotten = match story.etcd {
        Some(_) => "upstream_lists_total",
        None => UPSTREAM_DIFFERENCES,
    };
    let before = metric(&story.first, forgotten);
    story.write();
    if let Some(etcd) = &story.etcd {
        let now = etcd.gateway().put("/elsewhere", "");
        etcd.gateway().compact(now);
    }
    story.server.program.start();
    story.server.until_ready();
    // Who starts with nothing at a relay that is cut off has what the relay has.
    story.write_while(|story| {
        story.nodes("red").restart();
        let port = story.first.http;
        GROUPS[groups::position("red")].until_right(story.nodes("red"), port, "");
    });
    story.wires[0].set(Wire::Whole);
    story.wires[2].set(Wire::Whole);
    until_more(&story.first, forgotten, before);
    story.until_right("");

    // A disk that is full, and then not: what is on it afterwards is good for a start without upstream.
    story.second.program.limit_files("1000");
    story.write();
    until_more(&story.second, "disk_errors_total", 0.0);
    let full = metric(&story.second, "disk_written_bytes_total");
    story.second.program.limit_files("unlimited");
    story.write();
    until_more(&story.second, "disk_written_bytes_total", full);
    story.second.program.start();
    story.until_right("");

    // The time of day jumps while it runs, and between two starts, to the past and to the future.
    story.write_while(|story| story.skew.set("-1000d"));
    for offset in ["+4000d", "+0"] {
        story.skew.set(offset);
        story.first.program.start();
        // It was started at that time, and knows its age by it: what was restored from another time does not stay.
        let written = until("a relay that knows its age", || {
            let age = story.first.metric("age_seconds")?;
            (age < 60.0).then_some(story.first.metric("disk_written_bytes_total")?)
        });
        story.write();
        until_more(&story.first, "disk_written_bytes_total", written);
    }
    story.until_right("");

    // Who may have what changes.
    let narrow = admitted(GATEWAY, NODES, Some(("rest", "color=blue")));
    story.write_while(|story| {
        story.first.reload(&narrow);
        story.second.reload(&narrow);
    });
    story.until_right("color=blue");

    // Both relays at once.
    story.write_while(|story| {
        story.second.program.kill();
        story.first.program.start();
        story.second.program.start();
    });
    assert_eq!(story.part, PARTS, "each part has writes");
    story.until_right("color=blue");
    let Story {
        first,
        second,
        server,
        ..
    } = &mut story;
    for program in [&mut first.program, &mut second.program, &mut server.program] {
        program.assert_runs();
    }
}
