//! The node link against the real program: the core's node on a socket.

#[path = "process/running.rs"]
#[allow(dead_code, reason = "shared with tests that use more of it")]
mod running;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant as Wall};

use ringwatch_core::informer::Handler;
use ringwatch_core::link::frame::{Cause, Code, Restart};
use ringwatch_core::link::node::{
    Config, Mirror, Security, Session, Standing, View, Wanted, projected,
};
use ringwatch_core::link::{Ended, PresharedKey, Seed};
use ringwatch_core::predicate::Scope;
use ringwatch_core::time::Instant;
use running::{PATIENCE, Running};

const KEY: [u8; 32] = [7; 32];
/// The objects that a node has room for.
const ROOM: usize = 64;
const CONFIGMAPS: &str = "/api/v1/namespaces/default/configmaps";

type Name = heapless::String<64>;

/// What a node wants of a configmap.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
struct Text(Option<heapless::String<32>>);

/// Counts what happens.
#[derive(Debug, Default)]
struct Seen {
    added: usize,
    updated: usize,
    deleted: usize,
}

impl Handler<Text> for Seen {
    fn on_add(&mut self, _: &str, _: &Text) {
        self.added += 1;
    }
    fn on_update(&mut self, _: &str, _: Option<&Text>, _: &Text) {
        self.updated += 1;
    }
    fn on_delete(&mut self, _: &str, _: &Text) {
        self.deleted += 1;
    }
}

/// A node: what it has outlives its connections.
struct Node {
    key: PresharedKey,
    mirror: Mirror<
        Name,
        Text,
        [ringwatch_core::store::Slot<Name, ringwatch_core::informer::Held<Text>>; ROOM],
    >,
    seen: Seen,
    sessions: u8,
    /// What it has to report; nothing once that is noted.
    restart: Option<Restart<'static>>,
}

impl Node {
    fn new(key: [u8; 32]) -> Self {
        Self {
            key: PresharedKey::new(key),
            mirror: Mirror::array(),
            seen: Seen::default(),
            sessions: 0,
            restart: None,
        }
    }

    /// The texts by key.
    fn texts(&self) -> Vec<(String, String)> {
        let mut texts: Vec<_> = self
            .mirror
            .informer()
            .iter()
            .map(|(key, text)| {
                (
                    key.to_string(),
                    text.0.clone().unwrap_or_default().to_string(),
                )
            })
            .collect();
        texts.sort();
        texts
    }

    /// Connects, and goes on until `done` says so or the session ends.
    fn run(
        &mut self,
        address: SocketAddr,
        wanted: Wanted<'_>,
        mut done: impl FnMut(&Self, Option<Standing>) -> bool,
    ) -> Option<Ended> {
        self.sessions += 1;
        let key = self.key.clone();
        let config = Config::new("heater-1", Security::Sealed(&key));
        let (begun, wanted) = (Wall::now(), [wanted]);
        let now = || Instant::from_millis(begun.elapsed().as_millis() as u64);
        let seed = Seed::new([self.sessions; 32]);
        let mut session = Session::<1, 512, 16, 64>::new(config, &wanted, [], seed, now());
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let mut wire = [0; 1024];
        loop {
            assert!(
                begun.elapsed() < PATIENCE,
                "{:?} {:?}",
                session.standing(0),
                self.texts()
            );
            {
                let mut feed = self.mirror.feed(projected, &mut self.seen);
                let mut views: [&mut dyn View; 1] = [&mut feed];
                while let Some(bytes) = session.poll_output(&views, now(), &mut wire) {
                    // The other end may be gone; reading will tell.
                    let _ = stream.write_all(bytes);
                }
                if let Some(restart) = &self.restart
                    && let Some(bytes) = session.report(restart, &mut wire)
                {
                    let _ = stream.write_all(bytes);
                }
                let mut buffer = [0; 256];
                match stream.read(&mut buffer) {
                    Ok(0) => return session.ended(),
                    Ok(read) => session.receive(&buffer[..read], &mut views, now()),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                        return session.ended();
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            if session.noted() {
                self.restart = None;
            }
            if let Some(ended) = session.ended() {
                return Some(ended);
            }
            if done(self, session.standing(0)) {
                return None;
            }
        }
    }
}

fn texts_of(scope: Scope<&'static str>) -> Wanted<'static> {
    Wanted {
        scope,
        projection: "data.text:text(32)",
        bookmark_every: Duration::from_millis(100),
        ..Wanted::all("configmaps")
    }
}

const DEFAULT: Scope<&str> = Scope::Namespace("default");

fn write_keys(folder: &Path, key: u8, allow: &str) {
    let key = format!("{key:02x}").repeat(32);
    let text = format!("[heater-1]\nkey = \"{key}\"\nallow = [{allow}]\n");
    std::fs::write(folder.join("nodes.toml"), text).unwrap();
}

struct Site {
    folder: tempfile::TempDir,
    server: Running,
}

impl Site {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let allowed = r#""configmaps/default", "nodes", "devices.ringwatch.dev""#;
        write_keys(folder.path(), 7, allowed);
        let server = Self::serve(folder.path());
        Self { folder, server }
    }

    fn serve(folder: &Path) -> Running {
        let keys = folder.join("nodes.toml");
        let keys = keys.to_str().unwrap();
        let data = folder.join("data");
        let flags = [
            "--insecure-listen",
            "127.0.0.1:0",
            "--link-listen",
            "127.0.0.1:0",
        ];
        Running::start(&data, &[&flags[..], &["--link-keys", keys]].concat())
    }

    fn link(&self) -> SocketAddr {
        let line = self.server.words.split("node link: ").nth(1).unwrap();
        line.split_ascii_whitespace()
            .next()
            .unwrap()
            .parse()
            .unwrap()
    }

    /// Asks over HTTP, and gives the status and all of the answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.server.plain()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    }

    fn put(&self, name: &str, text: &str, create: bool) {
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"text":"{text}"}}}}"#
        );
        let (method, path) = match create {
            true => ("POST", CONFIGMAPS.to_owned()),
            false => ("PUT", format!("{CONFIGMAPS}/{name}")),
        };
        let (status, answer) = self.ask(method, &path, &body);
        assert!(status == 200 || status == 201, "{answer}");
    }

    fn delete(&self, name: &str) {
        let (status, answer) = self.ask("DELETE", &format!("{CONFIGMAPS}/{name}"), "");
        assert_eq!(status, 200, "{answer}");
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = pairs
        .iter()
        .map(|(key, text)| (format!("default/{key}"), (*text).to_owned()));
    owned.collect()
}

#[test]
fn a_node_sees_what_is_there_and_what_happens() {
    let site = Site::start();
    site.put("a", "one", true);
    site.put("b", "two", true);
    let mut node = Node::new(KEY);
    let mut step = 0;
    let ended = node.run(site.link(), texts_of(DEFAULT), |node, standing| {
        let live = standing == Some(Standing::Live);
        match step {
            0 if live && node.texts() == pairs(&[("a", "one"), ("b", "two")]) => {
                site.put("a", "uno", false);
                site.put("c", "tre", true);
                site.delete("b");
                step = 1;
            }
            1 if node.texts() == pairs(&[("a", "uno"), ("c", "tre")]) => step = 2,
            _ => {}
        }
        step == 2
    });
    assert_eq!(ended, None);
    assert_eq!(
        (node.seen.added, node.seen.updated, node.seen.deleted),
        (3, 1, 1)
    );
}

/// A kind that nobody has read before: its cache is made for the node.
#[test]
fn a_node_watches_a_kind_of_ones_own_by_its_own_field() {
    let site = Site::start();
    let limits = ringwatch_server::yaml::Limits::default();
    let text = include_str!("../../examples/device.yaml");
    let definition = ringwatch_server::yaml::to_json(text.as_bytes(), &limits).unwrap();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (status, answer) = site.ask("POST", definitions, &definition.value.to_string());
    assert_eq!(status, 201, "{answer}");
    let begun = Wall::now();
    let path = format!("{definitions}/devices.ringwatch.dev");
    while !site
        .ask("GET", &path, "")
        .1
        .contains("InitialNamesAccepted")
    {
        assert!(begun.elapsed() < PATIENCE);
    }
    let devices = "/apis/ringwatch.dev/v1/namespaces/default/devices";
    let device = |name: &str, place: &str| {
        let body = format!(
            r#"{{"apiVersion":"ringwatch.dev/v1","kind":"Device","metadata":{{"name":"{name}"}},"spec":{{"site":"{place}","setpoint":4}}}}"#
        );
        let (status, answer) = site.ask("POST", devices, &body);
        assert_eq!(status, 201, "{answer}");
    };
    device("a", "hill");
    device("b", "harbour");
    let wanted = || Wanted {
        scope: DEFAULT,
        fields: "spec.site=hill",
        // Not in what was sent: a default of the schema.
        projection: "spec.mode:text(32)",
        bookmark_every: Duration::from_millis(100),
        ..Wanted::all("devices.ringwatch.dev")
    };
    let mut node = Node::new(KEY);
    let mut added = false;
    loop {
        let ended = node.run(site.link(), wanted(), |node, standing| {
            if standing == Some(Standing::Live) && !added {
                added = true;
                device("c", "harbour");
                device("d", "hill");
            }
            node.texts() == pairs(&[("a", "auto"), ("d", "auto")])
        });
        match ended {
            None => break,
            // The cache is being made; a node comes again.
            Some(ended) => assert!(begun.elapsed() < PATIENCE, "{ended:?}"),
        }
    }
}

#[test]
fn a_node_goes_on_where_it_was() {
    let mut site = Site::start();
    for number in 0..20 {
        site.put(&format!("n{number:02}"), "first", true);
    }
    let mut node = Node::new(KEY);
    let all = |node: &Node, standing| node.texts().len() == 20 && standing == Some(Standing::Live);
    assert_eq!(node.run(site.link(), texts_of(DEFAULT), all), None);
    assert_eq!(node.seen.added, 20);

    // While it is away, on the same server: only what it missed comes.
    site.put("n03", "second", false);
    site.delete("n04");
    let caught_up = |node: &Node, standing| {
        let texts = node.texts();
        let news = texts.contains(&("default/n03".to_owned(), "second".to_owned()));
        texts.len() == 19 && news && standing == Some(Standing::Live)
    };
    assert_eq!(node.run(site.link(), texts_of(DEFAULT), caught_up), None);
    assert_eq!(
        (node.seen.added, node.seen.updated, node.seen.deleted),
        (20, 1, 1)
    );

    // And on one that was killed and has no history of that time: what differs comes, and nothing else.
    site.put("n05", "third", false);
    let folder = site.folder.path().to_owned();
    site.server.send(rustix::process::Signal::KILL);
    site.server = Site::serve(&folder);
    site.delete("n06");
    let caught_up = |node: &Node, standing| {
        let texts = node.texts();
        let news = texts.contains(&("default/n05".to_owned(), "third".to_owned()));
        texts.len() == 18 && news && standing == Some(Standing::Live)
    };
    assert_eq!(node.run(site.link(), texts_of(DEFAULT), caught_up), None);
    assert_eq!((node.seen.added, node.seen.deleted), (20, 2));
    assert!(node.seen.updated <= 3, "{:?}", node.seen);
}

#[test]
fn a_node_gets_what_its_key_is_for() {
    let site = Site::start();
    site.put("a", "one", true);
    let never = |_: &Node, _| false;
    let mut stranger = Node::new([8; 32]);
    let ended = stranger.run(site.link(), texts_of(DEFAULT), never);
    assert_eq!(ended, Some(Ended::Refused(Code::Refused)));
    for (wanted, code) in [
        (texts_of(Scope::Resource), Code::Forbidden),
        (texts_of(Scope::Namespace("kube-system")), Code::Forbidden),
        (Wanted::all("secrets"), Code::Forbidden),
        (Wanted::all("unicorns"), Code::Forbidden),
        (
            Wanted {
                fields: "spec.nothing=1",
                ..Wanted::all("nodes")
            },
            Code::BadSelector,
        ),
    ] {
        let mut node = Node::new(KEY);
        let mut failed = None;
        node.run(site.link(), wanted, |_, standing| {
            if let Some(Standing::Failed { code, .. }) = standing {
                failed = Some(code);
            }
            failed.is_some()
        });
        assert_eq!(failed, Some(code), "{wanted:?}");
        assert_eq!(node.texts(), []);
    }
}

#[test]
fn a_restart_is_counted_once() {
    let site = Site::start();
    let mut node = Node::new(KEY);
    let mut told = |boot, cause, node_behind| {
        node.restart = Some(Restart {
            node: node_behind,
            boot,
            cause,
            detail: "panicked at src/main.rs:40:9",
        });
        let noted = |node: &Node, _| node.restart.is_none();
        assert_eq!(node.run(site.link(), texts_of(DEFAULT), noted), None);
        let (status, metrics) = site.ask("GET", "/metrics", "");
        assert_eq!(status, 200);
        ["panic", "stack", "watchdog"].map(|cause| {
            let labels = format!("{{listener=\"link\",cause=\"{cause}\"}} ");
            let line = metrics
                .split("ringwatch_node_restarts_total")
                .find_map(|rest| rest.strip_prefix(&labels));
            let number = line.and_then(|rest| rest.lines().next());
            number.unwrap().parse::<u32>().unwrap()
        })
    };
    assert_eq!(told(3, Cause::Panic, ""), [1, 0, 0]);
    assert_eq!(told(3, Cause::Panic, ""), [1, 0, 0], "the same");
    assert_eq!(told(4, Cause::Stack, ""), [1, 1, 0]);
    assert_eq!(told(4, Cause::Stack, "behind"), [1, 2, 0], "another node");
}

#[test]
fn a_key_that_is_taken_back_ends_its_session() {
    let site = Site::start();
    site.put("a", "one", true);
    let mut node = Node::new(KEY);
    let mut revoked = false;
    let ended = node.run(site.link(), texts_of(DEFAULT), |node, standing| {
        if !revoked && standing == Some(Standing::Live) && node.texts().len() == 1 {
            write_keys(site.folder.path(), 9, "\"configmaps\"");
            revoked = true;
        }
        false
    });
    assert_eq!(ended, Some(Ended::ByPeer(Code::Revoked)));
    let ended = node.run(site.link(), texts_of(DEFAULT), |_, _| false);
    assert_eq!(ended, Some(Ended::Refused(Code::Refused)));
    let mut heir = Node::new([9; 32]);
    let live = |node: &Node, standing| node.texts().len() == 1 && standing == Some(Standing::Live);
    assert_eq!(heir.run(site.link(), texts_of(DEFAULT), live), None);
}

#[test]
fn a_server_that_stops_says_so() {
    let site = Site::start();
    let mut node = Node::new(KEY);
    let mut stopped = false;
    let ended = node.run(site.link(), texts_of(DEFAULT), |_, standing| {
        if !stopped && standing == Some(Standing::Live) {
            site.server.send(rustix::process::Signal::TERM);
            stopped = true;
        }
        false
    });
    assert_eq!(ended, Some(Ended::ByPeer(Code::ShuttingDown)));
    assert!(site.server.end().success());
}

#[test]
fn garbage_ends_its_own_connection_only() {
    let site = Site::start();
    site.put("a", "one", true);
    for garbage in [
        vec![0xff; 3_000_000],
        vec![0; 100_000],
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        b"\x08\x00RW\x01\x01\x01\x03abc".to_vec(),
    ] {
        let mut stream = TcpStream::connect(site.link()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // The server may have closed before it has read all.
        let _ = stream.write_all(&garbage);
        let mut answer = Vec::new();
        // Closed or reset: both are an end, silence is none.
        match stream.read_to_end(&mut answer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("kept open"),
            _ => assert!(answer.len() < 100),
        }
    }
    let mut node = Node::new(KEY);
    let live = |node: &Node, standing| node.texts().len() == 1 && standing == Some(Standing::Live);
    assert_eq!(node.run(site.link(), texts_of(DEFAULT), live), None);
}
