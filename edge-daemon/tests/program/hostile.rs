//! Peers that mean no good, on every listener: each is closed, for a reason that is counted; memory stays bounded; a node that was there
//! before stays, in one session, and is told what happens next.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use base64ct::{Base64UrlUnpadded, Encoding as _};

use super::bodies::{PODS, bookmark, event, live, pod, site};
use super::nodes::Nodes;
use super::replay::{Play, Replay};
use super::support::{PATIENCE, Running, Site, until};

/// What the relay may have in memory more than before, in KB.
pub(crate) const GROWTH: usize = 6 * 1024;
/// Connections that it takes.
const CONNECTIONS: usize = 40;

/// A relay with a node behind it, and somebody upstream who can say more.
struct Scene {
    site: Site,
    relay: Running,
    node: Nodes,
    upstream: mpsc::Sender<String>,
    told: u64,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let first = [event("ADDED", &pod("a", 10, "Running")), bookmark(12, true)];
        let (upstream, pieces) = live(&first);
        let replay = Replay::start(vec![("sendInitialEvents", Play::Live(pieces))]);
        let site = site(&folder, &replay);
        site.set(
            "[listen]\n",
            &format!("[listen]\nconnections = {CONNECTIONS}\n"),
        );
        let key = site.add("dev", "pods");
        let relay = site.run();
        let node = Nodes::start(&key, "dev", &[site.link], &[]);
        node.until_at(12);
        Self {
            site,
            relay,
            node,
            upstream,
            told: 12,
            _folder: folder,
        }
    }

    /// All connections that have ended, and why.
    fn all_closed(&self) -> String {
        let text = self.site.get("/metrics").unwrap().body;
        let lines = text.lines().filter(|line| line.contains("closed_total{"));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn closed(&self, listener: &str, reason: &str) -> u64 {
        let name =
            format!("ringwatch_edge_closed_total{{listener=\"{listener}\",reason=\"{reason}\"}}");
        self.site.metric(&name)
    }

    /// Others notice nothing: the node is told what comes next, and programs are answered.
    fn goes_on(&mut self, after: &str) {
        self.told += 1;
        self.upstream.send(bookmark(self.told, false)).unwrap();
        self.node.until_at(self.told);
        assert_eq!(self.site.get("/healthz").unwrap().status, 200, "{after}");
        assert_eq!(self.site.get(PODS).unwrap().status, 200, "{after}");
    }
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What is answered until the end, or a reset: either way it is over.
fn end(mut stream: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return rest,
            Ok(len) => rest.extend_from_slice(&buffer[..len]),
            Err(error) => {
                let timeout = [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::TimedOut];
                assert!(!timeout.contains(&error.kind()), "it is not closed");
                return rest;
            }
        }
    }
}

/// Bytes without a meaning, the same each time.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn bytes_that_mean_nothing() {
    let mut scene = Scene::new();
    let (link, http) = (scene.site.link, scene.site.http);
    let smuggled = "GET /nodes HTTP/1.1\r\nHost: x\r\n\r\n";
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(40_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(500));
    let lengths = format!(
        "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: {}\r\n\r\n{smuggled}",
        smuggled.len()
    );
    let endless = format!(
        "POST {PODS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 99999999999\r\n\r\n{}",
        "x".repeat(100_000)
    );
    // Where, what is sent, why it is closed, and how the answer begins if there is one.
    let cases: Vec<(&str, u16, Vec<u8>, &str, &str)> = vec![
        ("an empty packet", link, vec![0, 0], "malformed", ""),
        ("a length beyond all", link, vec![0xff; 4], "malformed", ""),
        ("0xff", link, vec![0xff; 70_000], "malformed", ""),
        ("another protocol", link, smuggled.into(), "malformed", ""),
        ("3 MB of noise", link, noise(3 << 20), "malformed", ""),
        (
            "3 MB of noise",
            http,
            noise(3 << 20),
            "malformed",
            "HTTP/1.1 400",
        ),
        (
            "TLS",
            http,
            b"\x16\x03\x01\x00\xa5\x01\x00".to_vec(),
            "malformed",
            "HTTP/1.1 400",
        ),
        ("a long path", http, long.into(), "malformed", "HTTP/1.1 4"),
        ("many headers", http, many.into(), "malformed", "HTTP/1.1 4"),
        (
            "two lengths",
            http,
            lengths.into(),
            "malformed",
            "HTTP/1.1 400",
        ),
        (
            "no version",
            http,
            b"GET /\r\n\r\n".to_vec(),
            "malformed",
            "",
        ),
        ("an endless body", http, endless.into(), "", "HTTP/1.1 405"),
    ];
    // What is needed once for everybody is there before it is measured.
    for (_, port, bytes, ..) in &cases {
        let mut stream = connect(*port);
        let _ = stream.write_all(bytes);
        end(stream);
    }
    let before = scene.relay.resident();
    for (what, port, bytes, why, answer) in &cases {
        let listener = if *port == link { "link" } else { "http" };
        let counted = scene.closed(listener, why);
        for _ in 0..5 {
            let mut stream = connect(*port);
            // It may be closed before it has all.
            let _ = stream.write_all(bytes);
            let said = end(stream);
            let text = String::from_utf8_lossy(&said);
            assert!(
                said.is_empty() || text.starts_with(answer),
                "{what}: {text}"
            );
            assert!(text.matches("HTTP/1.1").count() <= 1, "{what}: {text}");
        }
        if !why.is_empty() {
            until(&format!("{what} on {listener} is counted as {why}"), || {
                (scene.closed(listener, why) >= counted + 5).then_some(())
            });
        }
        scene.goes_on(what);
    }
    let after = scene.relay.resident();
    assert!(after < before + GROWTH, "{before} KB, then {after} KB");
    assert_eq!(
        scene.closed("link", "goodbye") + scene.closed("link", "stuck"),
        0
    );
}

/// Requests that are well formed and ask for what would cost much, or for nothing that there is: each is answered for what it is.
#[test]
fn requests_that_ask_for_too_much() {
    let mut scene = Scene::new();
    let token = |text: &str| Base64UrlUnpadded::encode_string(text.as_bytes());
    let deep = token(&format!("{{\"v\":{}", "[".repeat(8000)));
    let escaping = token(r#"{"v":"meta.k8s.io/v1","rv":12,"start":"/../../nodes\u0000"}"#);
    let negative = token(r#"{"v":"meta.k8s.io/v1","rv":-7,"start":"/z\u0000"}"#);
    let huge = token(r#"{"v":"meta.k8s.io/v1","rv":99999999999999999999,"start":"/a\u0000"}"#);
    let many = "limit=1&".repeat(1500);
    let cases: Vec<(String, String, u16)> = [
        ("limit=99999999999999999999", 400),
        ("limit=9223372036854775807", 200),
        ("limit=-1", 200),
        ("resourceVersion=99999999999999999999", 400),
        ("resourceVersion=1&resourceVersionMatch=Exact", 410),
        (&many, 200),
        (&format!("continue={deep}"), 400),
        (&format!("continue={escaping}"), 400),
        (&format!("continue={negative}"), 200),
        (&format!("continue={huge}"), 400),
        (&format!("labelSelector={}", "a%2C".repeat(3000)), 400),
        (
            &format!("labelSelector=a+in+%28{}%29", "b%2C".repeat(3000)),
            200,
        ),
        (
            &format!("fieldSelector={}", "metadata.name%3Da%2C".repeat(700)),
            400,
        ),
        ("timeoutSeconds=-1&watch=1", 200),
        ("timeoutSeconds=x&watch=1", 400),
    ]
    .into_iter()
    .map(|(query, status)| (format!("{PODS}?{query}"), String::new(), status))
    .chain([
        (
            PODS.to_owned(),
            format!("Accept: {}\r\n", "a/b,".repeat(3000)),
            406,
        ),
        (
            PODS.to_owned(),
            "Accept: application/json;as=Table;g=meta.k8s.io;v=v9\r\n".to_owned(),
            406,
        ),
        (format!("{PODS}/%2e%2e%2fnodes"), String::new(), 404),
        (format!("/{}", "a/".repeat(7000)), String::new(), 404),
    ])
    .collect();
    let round = |scene: &Scene| {
        for (path, headers, status) in &cases {
            let answer = scene.site.ask("GET", path, headers).unwrap();
            let begin: String = path.chars().take(80).collect();
            assert_eq!(answer.status, *status, "{begin}: {}", answer.body);
        }
    };
    round(&scene);
    let before = scene.relay.resident();
    (0..20).for_each(|_| round(&scene));
    scene.goes_on("requests that ask for too much");
    let after = scene.relay.resident();
    assert!(after < before + GROWTH, "{before} KB, then {after} KB");
}

#[test]
fn keys_that_are_not_those() {
    let mut scene = Scene::new();
    let wrong = scene.site.folder.join("wrong.key");
    std::fs::write(&wrong, "4".repeat(64)).unwrap();
    let impostor = Nodes::start(&wrong, "dev", &[scene.site.link], &[]);
    let stranger = Nodes::start(&wrong, "nobody", &[scene.site.link], &["--count", "20"]);
    until("both are refused", || {
        let refused = scene.closed("link", "refused") + scene.closed("link", "forged");
        (refused > 40).then_some(())
    });
    scene.goes_on("wrong keys");
    assert!(impostor.lines.try_recv().is_err() && stranger.lines.try_recv().is_err());
    // A node counts when it has said something that nobody could repeat.
    until("the node", || {
        (scene.site.metric("ringwatch_edge_nodes_connected") == 1).then_some(())
    });
}

/// All that takes time, at once: it is the relay's patience that ends it.
#[test]
fn who_takes_its_time() {
    let mut scene = Scene::new();
    let (link, http) = (scene.site.link, scene.site.http);
    let before = scene.relay.resident();
    // Nothing is said.
    let silent = [connect(link), connect(http)];
    // Each byte is late: the beginning of a packet that never ends, and of a head.
    let slow: Vec<_> = [
        (link, [&[200, 0, 1][..], &[0; 100]].concat()),
        (
            http,
            format!("GET {PODS} HTTP/1.1\r\nHost: {}", "x".repeat(200)).into(),
        ),
    ]
    .into_iter()
    .map(|(port, bytes)| {
        let stream = connect(port);
        let mut writer = stream.try_clone().unwrap();
        std::thread::spawn(move || {
            for byte in bytes {
                if writer.write_all(&[byte]).is_err() {
                    return;
                }
                // The attack itself.
                std::thread::sleep(Duration::from_millis(300));
            }
        });
        stream
    })
    .collect();
    // Answers that nobody takes: more than the sockets between hold.
    let mut deaf = connect(http);
    let asks = format!("GET {PODS} HTTP/1.1\r\nHost: x\r\n\r\n").repeat(20_000);
    deaf.set_write_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    let _ = deaf.write_all(asks.as_bytes());
    scene.goes_on("who takes its time");
    for stream in silent.into_iter().chain(slow) {
        end(stream);
    }
    assert_eq!(
        scene.closed("link", "no-handshake"),
        2,
        "{}",
        scene.all_closed()
    );
    assert_eq!(scene.closed("http", "slow"), 2, "{}", scene.all_closed());
    until("who does not read is cut off", || {
        (scene.closed("http", "stuck") == 1).then_some(())
    });
    scene.goes_on("the end of those");
    let after = scene.relay.resident();
    assert!(after < before + GROWTH, "{before} KB, then {after} KB");
}

#[test]
fn more_connections_than_there_are_places() {
    let mut scene = Scene::new();
    let before = scene.relay.resident();
    let mut held: Vec<TcpStream> = Vec::new();
    for _ in 0..20 * CONNECTIONS {
        held.push(connect(scene.site.link));
        held.push(connect(scene.site.http));
        // No more than this machine lets one process have.
        if held.len() > 400 {
            held.drain(..200);
        }
    }
    let link = SocketAddr::from(([127, 0, 0, 1], scene.site.link));
    // Whoever is a node gets in all the same, and those that are in stay.
    let key = scene.site.folder.join("dev.key");
    let begun = std::time::Instant::now();
    let second = Nodes::start(&key, "dev", &[link.port()], &[]);
    second.until_at(scene.told);
    // Not when the relay's patience with the others is over, which is after ten seconds.
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(7), "{took:?}");
    // Programs wait for the relay's patience with the others.
    until("an answer", || scene.site.get("/healthz"));
    assert!(scene.closed("link", "limit") > 0);
    assert!(scene.closed("http", "limit") > 0);
    scene.goes_on("the flood");
    let after = scene.relay.resident();
    assert!(after < before + GROWTH, "{before} KB, then {after} KB");
    drop(held);
}
