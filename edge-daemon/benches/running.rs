//! The relay as a program on real sockets: how late changes come, how soon nodes are in step after a cut, what goes over the wire and to disk, how soon it
//! serves after `kill -9`. Run by `cargo xtask bench edge`.
//!
//! Upstream is a server in this program that speaks as a kube-apiserver does; nodes are those of `ringwatch-edge node`, in a process of their own. Times
//! end with the line that a node prints, so they are upper bounds.

#[path = "../../server/benches/shared/report.rs"]
#[expect(dead_code, reason = "the server's benches use more of it")]
mod report;
#[path = "../tests/program/support.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use report::{at_most, millis, row, so};
use support::{Running, Site, until};

const KEY: &str = "5555555555555555555555555555555555555555555555555555555555555555";
const OBJECTS: u64 = 20;
/// For latency: changes in a second, and for how many.
const RATE: u64 = 1_000;
const CHANGES: u64 = 5_000;
const WATCHING: usize = 10;
const MANY: usize = 1_000;

/// A server with one watch.
#[derive(Clone, Default)]
struct Upstream {
    watch: Arc<Mutex<Option<TcpStream>>>,
    lists: Arc<Mutex<usize>>,
    /// Whether watches are refused, as by a server that is away.
    away: Arc<Mutex<bool>>,
}

fn pod(revision: u64) -> String {
    let name = revision % OBJECTS;
    let mut text = format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"pod-{name}","namespace":"default","uid":"u-{name}","resourceVersion":"{revision}","labels":{{"app":"a"}}}},"spec":{{"what":"{revision:030}","note":""#
    );
    while text.len() < 1021 {
        text.push('x');
    }
    text + "\"}}"
}

impl Upstream {
    fn start(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let own = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let own = own.clone();
                std::thread::spawn(move || own.answer(stream));
            }
        });
        port
    }

    fn answer(&self, mut stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
        let Some(Ok(first)) = lines.next() else {
            return;
        };
        let rest = lines.map_while(Result::ok);
        rest.take_while(|line| !line.is_empty()).for_each(drop);
        let whole = |body: &str| {
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        if first.contains("kube-system") {
            let namespace = r#"{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"0b6b6c2c-54c6-4d5d-8f6d-0c2d9c0c7e11","resourceVersion":"4"}}"#;
            let _ = stream.write_all(whole(namespace).as_bytes());
        } else if *self.away.lock().expect("not poisoned") || first.contains("sendInitialEvents") {
            // Away, or it does not know the newer way to list.
            let status = if first.contains("sendInitialEvents") {
                422
            } else {
                503
            };
            let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes());
        } else if first.contains("watch=") {
            let _ = stream.set_nodelay(true);
            let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
            let _ = stream.write_all(head);
            *self.watch.lock().expect("not poisoned") = Some(stream);
        } else {
            *self.lists.lock().expect("not poisoned") += 1;
            let items: Vec<_> = (1..=OBJECTS).map(pod).collect();
            let list = format!(
                r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{OBJECTS}"}},"items":[{}]}}"#,
                items.join(",")
            );
            let _ = stream.write_all(whole(&list).as_bytes());
        }
    }

    /// Sends a change; its bytes.
    fn change(&self, revision: u64) -> usize {
        let line = format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", pod(revision));
        let chunk = format!("{:x}\r\n{line}\r\n", line.len());
        let mut watch = self.watch.lock().expect("not poisoned");
        let stream = watch.as_mut().expect("a watch");
        stream.write_all(chunk.as_bytes()).expect("it is read");
        chunk.len()
    }

    fn until_watched(&self) {
        until("a watch", || {
            self.watch.lock().ok()?.is_some().then_some(())
        });
    }

    fn cut(&self) {
        *self.away.lock().expect("not poisoned") = true;
        if let Some(stream) = self.watch.lock().expect("not poisoned").take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Nodes in a process of their own; what they report, and when.
fn nodes(site: &Site, key: &Path, count: usize) -> (Running, Receiver<(Instant, String, u64)>) {
    let mut command = support::program();
    command
        .args(["node", "--name", "node", "--count", &count.to_string()])
        .args(["--report", "--quiet", "--resource", "pods"])
        .args(["--show", "spec.what:text(60)", "--objects", "32"])
        .args(["--connect", &format!("127.0.0.1:{}", site.link)])
        .arg("--key-file")
        .arg(key)
        .stdout(Stdio::piped());
    let mut running = Running(command.spawn().expect("the nodes start"));
    let output = BufReader::new(running.0.stdout.take().expect("their words"));
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let mut words = line.split(' ');
            let (name, revision) = (words.next(), words.nth(1));
            if let (Some(name), Some(Ok(revision))) = (name, revision.map(str::parse)) {
                let _ = sender.send((Instant::now(), name.to_owned(), revision));
            }
        }
    });
    (running, receiver)
}

/// Waits until so many nodes have come to a revision; when the last one had.
fn all_at(reports: &Receiver<(Instant, String, u64)>, count: usize, revision: u64) -> Instant {
    let mut there = BTreeSet::new();
    loop {
        let report = reports.recv_timeout(support::PATIENCE);
        let (at, name, reported) = report.expect("nodes come into step in time");
        if reported >= revision {
            there.insert(name);
        }
        if there.len() == count {
            return at;
        }
    }
}

/// A number of the relay's metrics.
fn metric(site: &Site, name: &str) -> u64 {
    let metrics = until("metrics", || site.get("/metrics")).body;
    let line = metrics.lines().find_map(|line| {
        let rest = line.strip_prefix("ringwatch_edge_")?.strip_prefix(name)?;
        rest.strip_prefix(' ')
    });
    line.and_then(|value| value.parse::<f64>().ok())
        .expect("the metric") as u64
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let upstream = Upstream::default();
    let url = format!("url = \"http://127.0.0.1:{}\"", upstream.start());
    let watch = "resource = \"pods\"\nobjects = 1000\nchanges = 10000";
    let site = Site::new(folder.path(), &url, watch);
    let key = folder.path().join("key");
    fs::write(&key, KEY).expect("a file");
    let known: String = (0..MANY)
        .map(|index| format!("[node-{index}]\nkey = \"{KEY}\"\nallow = [\"pods\"]\n"))
        .collect();
    fs::write(folder.path().join("nodes.toml"), known).expect("a file");
    let relay = site.run();
    upstream.until_watched();
    report::head();

    let (few, reports) = nodes(&site, &key, WATCHING);
    all_at(&reports, WATCHING, OBJECTS);
    let before = [
        "received_bytes_total",
        "sent_bytes_total",
        "disk_written_bytes_total",
    ]
    .map(|name| metric(&site, name));
    let begin = Instant::now();
    let mut revision = OBJECTS;
    let mut sent = Vec::new();
    for index in 0..CHANGES {
        let due = begin + Duration::from_secs(1) * index as u32 / RATE as u32;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        revision += 1;
        sent.push(Instant::now());
        upstream.change(revision);
    }
    let mut late: Vec<Duration> = Vec::new();
    let mut there = 0;
    while there < WATCHING {
        let report = reports.recv_timeout(support::PATIENCE);
        let (at, _, reported) = report.expect("nodes come into step in time");
        let index = reported.checked_sub(OBJECTS + 1).expect("a change");
        late.push(at.saturating_duration_since(sent[index as usize]));
        there += usize::from(reported == revision);
    }
    late.sort_unstable();
    let p99 = late[late.len() * 99 / 100];
    row(
        format!("a change to the line a node prints, {RATE} changes/s, {WATCHING} nodes"),
        format!("p50 {}, p99 {}", millis(late[late.len() / 2]), millis(p99)),
        &[at_most("p99", p99.as_secs_f64() * 1e3, 5.0, "ms")],
    );
    let age = until("state on disk", || {
        let written = metric(&site, "disk_written_bytes_total");
        std::thread::sleep(Duration::from_millis(200));
        (written == metric(&site, "disk_written_bytes_total")).then_some(written)
    });
    let [up, down, disk] = before;
    row(
        "bytes for each change",
        format!(
            "{} upstream, {} to each node, {} to disk (flush-ms 50)",
            (metric(&site, "received_bytes_total") - up) / CHANGES,
            (metric(&site, "sent_bytes_total") - down) / CHANGES / WATCHING as u64,
            (age - disk) / CHANGES
        ),
        &[],
    );
    drop(few);

    let (many, reports) = nodes(&site, &key, MANY);
    all_at(&reports, MANY, revision);
    let lists = *upstream.lists.lock().expect("not poisoned");
    upstream.cut();
    drop(many);
    let began = Instant::now();
    let (many, reports) = nodes(&site, &key, MANY);
    let in_step = all_at(&reports, MANY, revision);
    row(
        format!("{MANY} nodes from nothing, upstream away"),
        millis(in_step - began),
        &[],
    );
    *upstream.away.lock().expect("not poisoned") = false;
    upstream.until_watched();
    let began = Instant::now();
    for _ in 0..10 {
        revision += 1;
        upstream.change(revision);
    }
    let caught_up = all_at(&reports, MANY, revision) - began;
    let asked = *upstream.lists.lock().expect("not poisoned") - lists;
    row(
        format!("uplink back after a cut, then 10 changes: {MANY} nodes in step"),
        millis(caught_up),
        &[
            at_most("time", caught_up.as_secs_f64(), 2.0, "s"),
            so("no LIST upstream", asked == 0),
        ],
    );
    drop(many);

    upstream.cut();
    relay.kill();
    let began = Instant::now();
    let relay = site.run();
    let path = "/api/v1/pods";
    while site.get(path).is_none_or(|answer| answer.status != 200) {
        std::thread::yield_now();
    }
    let took = began.elapsed();
    row(
        "after kill -9, upstream away: a list is served after",
        millis(took),
        &[at_most("time", took.as_secs_f64() * 1e3, 100.0, "ms")],
    );
    drop(relay);
    report::end();
}
