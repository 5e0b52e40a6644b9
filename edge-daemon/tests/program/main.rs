//! The relay's program against an API server that misbehaves as real ones do, and through cuts, kills and reloads.

mod hostile;
mod http;
mod replay;
mod restarts;
mod serial;
mod support;
mod tls;

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use replay::{Play, Replay};
use support::{PATIENCE, Running, Site, program, until};
use tls::{Authority, Front, Pair};

const PODS: &str = "/api/v1/namespaces/default/pods";
const PODS_WATCH: &str = "resource = \"pods\"\nobjects = 50\nchanges = 50";

/// A pod as a kube-apiserver writes it.
fn pod(name: &str, revision: u64, phase: &str) -> String {
    format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"default","uid":"u-{name}","resourceVersion":"{revision}","creationTimestamp":"2026-08-20T10:00:00Z","labels":{{"app":"{name}"}},"managedFields":[{{"manager":"kubectl","operation":"Update","apiVersion":"v1","time":"2026-08-20T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:spec":{{}}}}}}]}},"spec":{{"nodeName":"n1","containers":[{{"name":"c","image":"registry/x:1"}}]}},"status":{{"phase":"{phase}"}}}}"#
    )
}

/// The same as an item of a list, which has no kind of its own.
fn item(name: &str, revision: u64) -> String {
    pod(name, revision, "Running").replacen(r#""kind":"Pod","apiVersion":"v1","#, "", 1)
}

fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

fn bookmark(revision: u64, ends: bool) -> String {
    let annotations = if ends {
        r#","annotations":{"k8s.io/initial-events-end":"true"}"#
    } else {
        ""
    };
    event(
        "BOOKMARK",
        &format!(
            r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"resourceVersion":"{revision}","creationTimestamp":null{annotations}}},"spec":{{"containers":null}},"status":{{}}}}"#
        ),
    )
}

fn list(revision: u64, next: &str, items: &[String]) -> String {
    format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{revision}","continue":"{next}"}},"items":[{}]}}"#,
        items.join(",")
    )
}

/// A stream that begins with these pieces, and ends when the sender is dropped.
fn live(pieces: &[String]) -> (mpsc::Sender<String>, Arc<Mutex<mpsc::Receiver<String>>>) {
    let (upstream, receiver) = mpsc::channel();
    for piece in pieces {
        upstream.send(piece.clone()).unwrap();
    }
    (upstream, Arc::new(Mutex::new(receiver)))
}

fn site(folder: &tempfile::TempDir, replay: &Replay) -> Site {
    let upstream = format!("url = \"http://127.0.0.1:{}\"", replay.port);
    Site::new(folder.path(), &upstream, PODS_WATCH)
}

/// Simulated nodes and what they report.
struct Nodes {
    _running: Running,
    lines: mpsc::Receiver<String>,
}

impl Nodes {
    fn start(key: &std::path::Path, name: &str, ports: &[u16], more: &[&str]) -> Self {
        let mut command = program();
        command.args([
            "node",
            "--name",
            name,
            "--resource",
            "pods",
            "--report",
            "--quiet",
            "--bookmarks",
            "1",
        ]);
        command.args(more).arg("--key-file").arg(key);
        for port in ports {
            command.args(["--connect", &format!("127.0.0.1:{port}")]);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| send.send(line))
        });
        Self {
            _running: Running(child),
            lines,
        }
    }

    /// Waits for a report at a revision; the whole line.
    fn until_at(&self, revision: u64) -> String {
        let wanted = format!(" at {revision} ");
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("a report in time");
            if line.contains(&wanted) {
                return line;
            }
        }
    }
}

#[test]
fn bodies_of_a_real_api_server_are_read_however_they_come() {
    let folder = tempfile::tempdir().unwrap();
    // Borders of chunks inside of lines.
    let lines = [
        event("ADDED", &pod("a", 11, "Pending")),
        event("ADDED", &pod("ü", 12, "Running")),
        bookmark(20, true),
        event("MODIFIED", &pod("a", 21, "Running")),
        event("DELETED", &pod("ü", 22, "Running")),
        bookmark(30, false),
    ]
    .concat();
    let pieces: Vec<String> = {
        let letters: Vec<char> = lines.chars().collect();
        letters
            .chunks(97)
            .map(|piece| piece.iter().collect())
            .collect()
    };
    let replay = Replay::start(vec![("sendInitialEvents", Play::Stream(pieces))]);
    let site = site(&folder, &replay);
    let _relay = site.run();
    let answer = site.until_listed(PODS, 1);
    until("bookmark 30", || {
        site.get(PODS)?
            .body
            .contains(r#""resourceVersion":"30""#)
            .then_some(())
    });
    assert!(
        answer.body.contains(r#""resourceVersion":"21""#),
        "{}",
        answer.body
    );
    assert_eq!(answer.header("ringwatch-age"), Some("0"));
    assert_eq!(replay.count("limit="), 0);
}

#[test]
fn pages_compressed_in_several_members_then_a_watch_that_is_too_old() {
    let folder = tempfile::tempdir().unwrap();
    let first = list(40, "next-page", &[item("a", 31), item("b", 32)]);
    let (front, back) = first.split_at(first.len() / 2);
    let gone = event(
        "ERROR",
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 40 (99)","reason":"Expired","code":410}"#,
    );
    let replay = Replay::start(vec![
        (
            "sendInitialEvents",
            Play::Whole(422, "", r#"{"kind":"Status","code":422}"#.to_owned()),
        ),
        (
            "continue=next-page",
            Play::Zipped(vec![list(40, "", &[item("c", 33)])]),
        ),
        (
            "limit=",
            Play::Zipped(vec![front.to_owned(), back.to_owned()]),
        ),
        (
            "resourceVersion=40",
            Play::ZippedStream(vec![event("MODIFIED", &pod("b", 41, "Running")), gone]),
        ),
    ]);
    let site = site(&folder, &replay);
    let key = site.add("dev", "pods/default");
    let _relay = site.run();
    let nodes = Nodes::start(&key, "dev", &[site.link], &["--namespace", "default"]);
    let line = nodes.until_at(41);
    assert!(line.contains("objects 3"), "{line}");
    // What came and went in between is a difference for the node, which stays.
    replay.then(vec![
        (
            "limit=",
            Play::Whole(429, "Retry-After: 1\r\n", "{}".to_owned()),
        ),
        (
            "limit=",
            Play::Whole(200, "", list(99, "", &[item("b", 41), item("d", 90)])),
        ),
        (
            "resourceVersion=99",
            Play::Stream(vec![bookmark(100, false)]),
        ),
    ]);
    let line = nodes.until_at(100);
    assert!(line.contains("objects 2"), "{line}");
    let metrics = site.get("/metrics").unwrap().body;
    assert!(
        metrics.contains("ringwatch_edge_sessions_total 1\n"),
        "the node was dropped:\n{metrics}"
    );
    assert!(metrics.contains(r#"ringwatch_edge_revision{resource="pods",namespace=""} 100"#));
}

#[test]
fn after_a_cut_it_goes_on_without_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let half = event("ADDED", &pod("b", 12, "Running"));
    let replay = Replay::start(vec![
        (
            "sendInitialEvents",
            Play::Cut(vec![
                event("ADDED", &pod("a", 10, "Running")),
                bookmark(11, true),
                half[..60].to_owned(),
            ]),
        ),
        (
            "resourceVersion=11",
            Play::Whole(503, "Retry-After: 1\r\n", "{}".to_owned()),
        ),
        (
            "resourceVersion=11",
            Play::Stream(vec![half.clone(), bookmark(13, false)]),
        ),
    ]);
    let site = site(&folder, &replay);
    let _relay = site.run();
    site.until_listed(PODS, 2);
    assert_eq!(
        (replay.count("sendInitialEvents"), replay.count("limit=")),
        (1, 0)
    );
}

#[test]
fn the_upstream_is_there_while_one_watch_of_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let pieces = vec![event("ADDED", &pod("a", 10, "Running")), bookmark(11, true)];
    // The streams end when these are dropped.
    let (pods, stream) = live(&pieces);
    let (others, other_stream) = live(&pieces);
    let replay = Replay::start(vec![
        ("/pods?", Play::Live(stream)),
        ("/configmaps?", Play::Live(other_stream)),
    ]);
    let site = site(&folder, &replay);
    site.set("[listen]", "[[watch]]\nresource = \"configmaps\"\n[listen]");
    let _relay = site.run();
    site.until_listed(PODS, 1);
    site.until_listed("/api/v1/namespaces/default/configmaps", 1);
    let online = || site.metric("ringwatch_edge_upstream_online");
    assert_eq!(online(), 1);
    // One is cut off, and refused from now on; the other goes on.
    drop(others);
    until("another attempt", || {
        (replay.count("/configmaps?") > 1).then_some(())
    });
    assert_eq!(online(), 1);
    drop(pods);
    until("nothing of it is there", || (online() == 0).then_some(()));
}

#[test]
fn a_token_that_has_changed_is_read_for_the_next_connection() {
    let folder = tempfile::tempdir().unwrap();
    let pieces = vec![event("ADDED", &pod("a", 10, "Running")), bookmark(11, true)];
    // The stream ends when this is dropped.
    let (upstream, stream) = live(&pieces);
    let replay = Replay::start(vec![("sendInitialEvents", Play::Live(stream))]);
    let token = folder.path().join("token");
    std::fs::write(&token, "first\n").unwrap();
    let site = site(&folder, &replay);
    site.set("[[watch]]", "token-file = \"token\"\n[[watch]]");
    let _relay = site.run();
    site.until_listed(PODS, 1);
    assert!(replay.count("Bearer first") > 0);
    std::fs::write(&token, "second\n").unwrap();
    drop(upstream);
    until("the new token", || {
        (replay.count("resourceVersion=11 Bearer second") > 0).then_some(())
    });
    assert_eq!(replay.count("limit="), 0);
}

/// A relay whose upstream is behind TLS, with the certificates in its folder.
fn secured(folder: &tempfile::TempDir, front: &Front) -> Site {
    let upstream = format!(
        "url = \"https://127.0.0.1:{}\"\nca-file = \"ca.pem\"\ncert-file = \"own.pem\"\ncert-key-file = \"own.key\"",
        front.port
    );
    Site::new(folder.path(), &upstream, PODS_WATCH)
}

fn believe(folder: &tempfile::TempDir, authority: &Authority) {
    std::fs::write(folder.path().join("ca.pem"), authority.certificate.pem()).unwrap();
}

fn show(folder: &tempfile::TempDir, pair: &Pair) {
    std::fs::write(folder.path().join("own.pem"), pair.certificate.pem()).unwrap();
    std::fs::write(folder.path().join("own.key"), pair.key.serialize_pem()).unwrap();
}

#[test]
fn a_certificate_that_has_changed_is_shown_for_the_next_connection() {
    let folder = tempfile::tempdir().unwrap();
    let pieces = vec![event("ADDED", &pod("a", 10, "Running")), bookmark(11, true)];
    // The stream ends when this is dropped.
    let (upstream, stream) = live(&pieces);
    let replay = Replay::start(vec![("sendInitialEvents", Play::Live(stream))]);
    let authority = Authority::new();
    let front = Front::start(&authority, replay.port);
    let (first, second) = (authority.sign(), authority.sign());
    believe(&folder, &authority);
    show(&folder, &first);
    let site = secured(&folder, &front);
    let _relay = site.run();
    site.until_listed(PODS, 1);
    let before = front.shown();
    assert!(!before.is_empty());
    for request in &before {
        assert_eq!(&request.certificate, first.certificate.der(), "{request:?}");
    }
    show(&folder, &second);
    drop(upstream);
    until("the next watch", || {
        let mut shown = front.shown().into_iter();
        shown
            .any(|request| request.path.contains("resourceVersion=11"))
            .then_some(())
    });
    for request in front.shown().iter().skip(before.len()) {
        assert_eq!(
            &request.certificate,
            second.certificate.der(),
            "{request:?}"
        );
    }
    assert_eq!(
        (replay.count("sendInitialEvents"), replay.count("limit=")),
        (1, 0)
    );
}

#[test]
fn an_authority_that_has_changed_is_believed_for_the_next_connection() {
    let folder = tempfile::tempdir().unwrap();
    let pieces = vec![event("ADDED", &pod("a", 10, "Running")), bookmark(11, true)];
    // The stream ends when this is dropped.
    let (upstream, stream) = live(&pieces);
    let replay = Replay::start(vec![("sendInitialEvents", Play::Live(stream))]);
    let (old, new) = (Authority::new(), Authority::new());
    let front = Front::start(&old, replay.port);
    believe(&folder, &old);
    show(&folder, &old.sign());
    let site = secured(&folder, &front);
    let _relay = site.run();
    site.until_listed(PODS, 1);
    // The server shows a certificate that nobody here knows, until the file says who signed it.
    front.believe(&new);
    drop(upstream);
    let connects = || site.metric("ringwatch_edge_upstream_connects_total");
    let before = connects();
    until("attempts that fail", || {
        (connects() >= before + 2).then_some(())
    });
    let again = |request: &tls::Shown| request.path.contains("resourceVersion=11");
    assert!(!front.shown().iter().any(again));
    believe(&folder, &new);
    show(&folder, &new.sign());
    until("the next watch", || {
        front.shown().iter().any(again).then_some(())
    });
    assert_eq!(
        (replay.count("sendInitialEvents"), replay.count("limit=")),
        (1, 0)
    );
}

#[test]
fn an_upstream_that_falls_over_again_and_again_is_left_in_peace() {
    let folder = tempfile::tempdir().unwrap();
    let first = vec![event("ADDED", &pod("a", 10, "Running")), bookmark(11, true)];
    let mut script = vec![("sendInitialEvents", Play::Cut(first))];
    // Each watch is taken, and is over at once.
    script.extend((0..200).map(|_| ("resourceVersion=11", Play::Cut(Vec::new()))));
    let replay = Replay::start(script);
    let site = site(&folder, &replay);
    let _relay = site.run();
    site.until_listed(PODS, 1);
    until("some attempts", || {
        (replay.count("resourceVersion=11") >= 5).then_some(())
    });
    // Waits are by now of up to six seconds and more; of up to a fifth of one, there would be some thirty.
    std::thread::sleep(Duration::from_secs(3));
    let attempts = replay.count("resourceVersion=11");
    assert!(attempts < 15, "{attempts}");
}

#[test]
fn killed_and_without_upstream_it_serves_what_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let replay = Replay::start(vec![(
        "sendInitialEvents",
        Play::Stream(vec![
            event("ADDED", &pod("a", 10, "Running")),
            event("ADDED", &pod("b", 11, "Running")),
            bookmark(12, true),
            event("DELETED", &pod("b", 13, "Running")),
            event("ADDED", &pod("c", 14, "Running")),
        ]),
    )]);
    let site = site(&folder, &replay);
    let key = site.add("dev", "pods");
    let relay = site.run();
    let nodes = Nodes::start(&key, "dev", &[site.link], &[]);
    let before = nodes.until_at(14);
    let image = site.folder.join("state/pods.image");
    until("the image has it", || {
        let bytes = std::fs::read(&image).ok()?;
        bytes.windows(3).any(|part| part == b"u-c").then_some(())
    });
    drop(nodes);
    relay.kill();
    // The upstream is there, but has nothing to say from now on.
    let began = std::time::Instant::now();
    let relay = site.run();
    let answer = site.until_listed(PODS, 2);
    let took = began.elapsed();
    assert!(
        answer.body.contains(r#"{"resourceVersion":"14"}"#),
        "{}",
        answer.body
    );
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(site.get("/readyz").unwrap().status, 200);
    let nodes = Nodes::start(&key, "dev", &[site.link], &[]);
    let after = nodes.until_at(14);
    let digests = |line: &str| {
        line.split(" objects ")
            .nth(1)
            .unwrap()
            .split(" events")
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(digests(&before), digests(&after));
    // A watch resumes at a revision from before the crash.
    let watched = site
        .get(&format!(
            "{PODS}?watch=true&resourceVersion=12&timeoutSeconds=1"
        ))
        .unwrap();
    assert!(
        watched.body.contains("DELETED") && watched.body.contains(r#""name":"c""#),
        "{}",
        watched.body
    );
    let old = site
        .get(&format!(
            "{PODS}?watch=true&resourceVersion=3&timeoutSeconds=1"
        ))
        .unwrap();
    assert!(old.body.contains(r#""code":410"#), "{}", old.body);
    // Older each second, and it says so.
    until("age", || {
        site.get(PODS)?
            .header("ringwatch-age")?
            .parse::<u64>()
            .ok()
            .filter(|age| *age >= 1)
    });
    drop(nodes);
    relay.kill();
    // A damaged image is set aside, and nothing of the damage is served.
    let mut bytes = std::fs::read(&image).unwrap();
    let middle = bytes.windows(3).position(|part| part == b"u-c").unwrap();
    bytes[middle] ^= 1;
    bytes.extend_from_slice(&[1, 2, 3]);
    std::fs::write(&image, &bytes).unwrap();
    let _relay = site.run();
    let answer = until("an answer", || site.get(PODS));
    assert!(!answer.body.contains("t-c"), "{}", answer.body);
    assert!(site.folder.join("state/pods.damaged").exists());
}

#[test]
fn nodes_get_what_they_may_and_a_reload_drops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let replay = Replay::start(vec![(
        "sendInitialEvents",
        Play::Stream(vec![
            event("ADDED", &pod("a", 10, "Running")),
            event("ADDED", &pod("b", 11, "Running")),
            bookmark(12, true),
        ]),
    )]);
    let site = site(&folder, &replay);
    let all = site.add("all", "pods");
    let some = site.add("some", "pods");
    let none = site.add("none", "secrets");
    let nodes_file = site.folder.join("nodes.toml");
    let text = std::fs::read_to_string(&nodes_file).unwrap();
    let narrow = |labels: &str| {
        let (before, after) = text.split_once("[\"some\"]").unwrap();
        let line = format!(
            "allow = [{{ resource = \"pods\", labels = \"{labels}\", show = [\"status\"] }}]"
        );
        format!(
            "{before}[\"some\"]{}",
            after.replacen("allow = [\"pods\"]", &line, 1)
        )
    };
    std::fs::write(&nodes_file, narrow("app=a")).unwrap();
    let relay = site.run();
    let all = Nodes::start(&all, "all", &[site.link], &[]);
    let one = Nodes::start(
        &some,
        "some",
        &[site.link],
        &["--show", "status.phase:text(10)"],
    );
    assert!(all.until_at(12).contains("objects 2"));
    assert!(one.until_at(12).contains("objects 1"));
    // Whole objects, and other fields than those it may see, are refused, as is what it may not have at all.
    let refused = [
        Nodes::start(&some, "some", &[site.link], &[]),
        Nodes::start(
            &some,
            "some",
            &[site.link],
            &["--show", "spec.nodeName:text(10)"],
        ),
        Nodes::start(&none, "none", &[site.link], &[]),
    ];
    std::fs::write(&nodes_file, narrow("app in (a,b)")).unwrap();
    relay.signal("HUP");
    until("the difference", || {
        one.lines
            .recv_timeout(PATIENCE)
            .unwrap()
            .contains("objects 2")
            .then_some(())
    });
    for nodes in &refused {
        assert!(nodes.lines.try_recv().is_err());
    }
    drop(refused);
    until("the list of nodes", || {
        let http = format!("127.0.0.1:{}", site.http);
        let listed = program().args(["nodes", "list", "--http", &http]).output();
        let listed = String::from_utf8(listed.ok()?.stdout).ok()?;
        let mut lines = listed.lines();
        lines
            .any(|line| line.starts_with("all ") && line.contains("yes"))
            .then_some(())
    });
    // Without its key it has to go.
    std::fs::write(
        &nodes_file,
        narrow("app=a").replace("[\"all\"]", "[\"other\"]"),
    )
    .unwrap();
    relay.signal("HUP");
    until("revoked", || {
        site.get("/metrics")?
            .body
            .contains("ringwatch_edge_nodes_connected 1\n")
            .then_some(())
    });
}

#[test]
fn what_an_operator_asks_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let replay = Replay::start(Vec::new());
    let site = site(&folder, &replay);
    let key = site.add("dev", "pods");
    let run = |args: &[&str]| {
        let output = program().args(args).current_dir(folder.path()).output();
        let output = output.unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    // A key that only its owner can read, and a name that is new.
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(
        std::fs::metadata(key).unwrap().permissions().mode() & 0o077,
        0
    );
    let add = |name| {
        run(&[
            "nodes",
            "add",
            name,
            "--file",
            "nodes.toml",
            "--allow",
            "pods",
        ])
    };
    let (code, said) = add("other");
    assert_eq!(code, Some(0));
    assert!(
        said.contains("To flash:") && said.contains("PresharedKey::new([0x"),
        "{said}"
    );
    assert_eq!(add("other").0, Some(2));
    assert_eq!(run(&["check", "relay.toml"]).0, Some(0));
    // Every bounded structure, and together.
    let (_, table) = run(&["memory", "relay.toml"]);
    let numbers = table.lines().skip(1).map(|line| {
        let last = line.split_whitespace().last().unwrap();
        last.parse::<u64>().unwrap()
    });
    let mut numbers: Vec<u64> = numbers.collect();
    let total = numbers.pop().unwrap();
    assert_eq!(numbers.iter().sum::<u64>(), total, "{table}");
    assert!(numbers.len() >= 7, "{table}");
    let (_, help) = run(&["--help"]);
    for word in [
        "run",
        "check",
        "memory",
        "nodes",
        "node",
        "Examples:",
        "[upstream]",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
    // Not ready without anything to serve; a nodes' file that is wrong is named, and the old one stays.
    let relay = site.run();
    assert_eq!(until("an answer", || site.get("/readyz")).status, 503);
    assert_eq!(site.get("/healthz").unwrap().status, 200);
    let nodes = site.folder.join("nodes.toml");
    let good = std::fs::read_to_string(&nodes).unwrap();
    std::fs::write(&nodes, format!("{good}\n[bad]\nkey = \"12\"\nallow = []\n")).unwrap();
    let (code, said) = run(&["check", "relay.toml"]);
    let line = good.lines().count() + 3;
    assert_eq!(code, Some(2));
    assert!(
        said.contains(&format!("nodes.toml:{line}: bad: key: ")),
        "{said}"
    );
    relay.signal("HUP");
    let (_, listed) = run(&[
        "nodes",
        "list",
        "--http",
        &format!("127.0.0.1:{}", site.http),
    ]);
    assert!(
        listed.contains("dev ") && listed.contains("never"),
        "{listed}"
    );
}

#[test]
fn wrong_settings_are_named_by_file_line_and_field() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        let file = folder.path().join("relay.toml");
        std::fs::write(&file, text).unwrap();
        let output = program().arg("check").arg(&file).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let words = String::from_utf8(output.stderr).unwrap();
        words
            .trim_end()
            .replace(&format!("{}", file.display()), "FILE")
    };
    let cases = [
        (
            "[upstream]\nlonk = 1\n",
            "error: FILE:2: unknown field `lonk`",
        ),
        (
            "[upstream]\nlink = \"a:1\"\nurl = \"https://b\"\n",
            "error: FILE:1: upstream: give one of link, serial, kubeconfig and url",
        ),
        (
            "[upstream]\nurl = \"http://a\"\n\n[[watch]]\nresource = \"Pods\"\n",
            "error: FILE:4: watch: resource: `Pods` is none",
        ),
        (
            "[upstream]\nurl = \"http://a\"\n[[watch]]\nresource = \"pods\"\nlabels = \"a in b\"\n",
            "error: FILE:3: watch: labels: ",
        ),
        (
            "[upstream]\nurl = \"http://a\"\n[[watch]]\nresource = \"pods\"\n[listen]\nhttp = \"0.0.0.0:80\"\n",
            "error: FILE:6: listen.http: 0.0.0.0:80 can be reached",
        ),
    ];
    for (text, expected) in cases {
        let words = check(text);
        assert!(words.starts_with(expected), "{words}\nis not\n{expected}");
    }
}
