//! Nodes and relays on serial lines: pseudo-terminals, joined by a cable that this test has in its hands.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::bodies::{PODS, PODS_WATCH, bookmark, event, live, pod, site};
use super::hostile::{GROWTH, noise};
use super::nodes::Nodes;
use super::replay::{Play, Replay};
use super::support::{Running, Site, program, until};

/// One end of a cable: what a program has open as a device, seen from the other side.
struct End {
    cable: File,
    /// Held, so that the device is there while no program has it open.
    _device: File,
}

impl End {
    /// A new device behind a path.
    fn plug(path: &Path) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let cable = openpt(flags).unwrap();
        grantpt(&cable).unwrap();
        unlockpt(&cable).unwrap();
        let device = ioctl_tiocgptpeer(&cable, flags).unwrap();
        // Nothing is echoed before a program opens it.
        let mut settings = tcgetattr(&device).unwrap();
        settings.make_raw();
        tcsetattr(&device, OptionalActions::Now, &settings).unwrap();
        rustix::io::ioctl_fionbio(&cable, true).unwrap();
        let name = rustix::termios::ttyname(&device, Vec::new()).unwrap();
        symlink(name.to_str().unwrap(), path).unwrap();
        Self {
            cable: cable.into(),
            _device: device.into(),
        }
    }

    /// What is there; nothing is no bytes.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        match self.cable.read(buffer) {
            Ok(len) => len,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                0
            }
        }
    }

    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.cable.write(bytes) {
                Ok(len) => bytes = &bytes[len..],
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }
}

/// A cable between two devices: the relay's and the node's.
struct Cable {
    paths: [PathBuf; 2],
    /// What is heard at the relay's end though nobody said it.
    noise: mpsc::Sender<Vec<u8>>,
    unplugged: Arc<AtomicBool>,
    moves: Option<JoinHandle<()>>,
}

impl Cable {
    fn plug(folder: &Path) -> Self {
        let paths = ["relay-tty", "node-tty"].map(|name| folder.join(name));
        let mut ends = paths.each_ref().map(|path| End::plug(path));
        let (noise, heard) = mpsc::channel::<Vec<u8>>();
        let unplugged = Arc::new(AtomicBool::new(false));
        let is_out = unplugged.clone();
        let moves = std::thread::spawn(move || {
            let mut buffer = [0; 512];
            while !is_out.load(Ordering::Relaxed) {
                let mut moved = 0;
                for from in 0..2 {
                    let len = ends[from].read(&mut buffer);
                    ends[1 - from].write(&buffer[..len]);
                    moved += len;
                }
                while let Ok(bytes) = heard.try_recv() {
                    ends[0].write(&bytes);
                }
                if moved == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        Self {
            paths,
            noise,
            unplugged,
            moves: Some(moves),
        }
    }

    fn at_the_relay(&self) -> &Path {
        &self.paths[0]
    }

    fn at_the_node(&self) -> &str {
        self.paths[1].to_str().unwrap()
    }

    /// Both devices go away, whoever has them open.
    fn unplug(&mut self) {
        self.unplugged.store(true, Ordering::Relaxed);
        if let Some(moves) = self.moves.take() {
            moves.join().unwrap();
            for path in &self.paths {
                fs::remove_file(path).unwrap();
            }
        }
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.unplugged.store(true, Ordering::Relaxed);
    }
}

fn on_line(site: &Site, cable: &Cable) {
    let line = format!("serial = [{{ path = {:?} }}]", cable.at_the_relay());
    site.set("[listen]\n", &format!("[listen]\n{line}\n"));
}

fn begun(site: &Site, how: &str) -> u64 {
    site.metric(&format!(
        "ringwatch_edge_node_watches_total{{how=\"{how}\"}}"
    ))
}

fn closed(site: &Site, reason: &str) -> u64 {
    site.metric(&format!(
        "ringwatch_edge_closed_total{{listener=\"serial\",reason=\"{reason}\"}}"
    ))
}

/// A story of one node on a line, whose relay has an upstream that says one thing after the other.
#[test]
fn a_node_on_a_line_goes_on_where_it_was_whatever_happens_to_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let first = [event("ADDED", &pod("a", 10, "Running")), bookmark(12, true)];
    let (upstream, pieces) = live(&first);
    let replay = Replay::start(vec![("sendInitialEvents", Play::Live(pieces))]);
    let site = site(&folder, &replay);
    let mut cable = Cable::plug(folder.path());
    on_line(&site, &cable);
    let key = site.add("dev", "pods");
    let relay = site.run();
    site.until_listed(PODS, 1);

    // What a line picks up, and what a board prints while it starts, is no reason to grow.
    let before = relay.resident();
    cable.noise.send(noise(1 << 20)).unwrap();
    cable.noise.send(b"boot 1.0\r\nready\r\n".to_vec()).unwrap();
    let on_the_line = ["--serial", cable.at_the_node()];
    let node = Nodes::start(&key, "dev", &[], &on_the_line);
    node.until_at(12);
    let after = relay.resident();
    assert!(after < before + GROWTH, "{before} KB, then {after} KB");
    assert_eq!((begun(&site, "snapshot"), begun(&site, "resumed")), (1, 0));
    let change = |revision| {
        let pod = pod("a", revision, "Running");
        upstream.send(event("MODIFIED", &pod)).unwrap();
    };
    change(13);
    node.until_at(13);

    // Damage in the middle of a session: both ends begin another, and nobody waits until the other is taken for gone.
    let damaged = Instant::now();
    cable.noise.send(vec![5; 20]).unwrap();
    cable.noise.send(vec![0]).unwrap();
    until("the session is over", || {
        (closed(&site, "malformed") == 1).then_some(())
    });
    change(14);
    node.until_at(14);
    assert!(damaged.elapsed() < Duration::from_secs(9), "{damaged:?}");
    assert_eq!((begun(&site, "snapshot"), begun(&site, "resumed")), (1, 1));

    // The device goes away, and comes back.
    cable.unplug();
    until("the line is gone", || {
        (closed(&site, "cut") == 1).then_some(())
    });
    change(15);
    let cable = Cable::plug(folder.path());
    node.until_at(15);
    assert_eq!((begun(&site, "snapshot"), begun(&site, "resumed")), (1, 2));

    // The node's program is another one now: what it says first ends the session before, and is heard.
    drop(node);
    let restarted = Instant::now();
    let node = Nodes::start(&key, "dev", &[], &["--serial", cable.at_the_node()]);
    node.until_at(15);
    assert!(
        restarted.elapsed() < Duration::from_secs(9),
        "{restarted:?}"
    );
    assert_eq!((begun(&site, "snapshot"), begun(&site, "resumed")), (2, 2));

    // So is the relay's, without its upstream: it says that what was before is over.
    until("on disk", || {
        let written = site.metric("ringwatch_edge_disk_written_bytes_total");
        std::thread::sleep(Duration::from_millis(200));
        (written == site.metric("ringwatch_edge_disk_written_bytes_total")).then_some(())
    });
    relay.kill();
    let killed = Instant::now();
    let relay = site.run();
    until("the node is back", || {
        (begun(&site, "resumed") == 1).then_some(())
    });
    assert!(killed.elapsed() < Duration::from_secs(9), "{killed:?}");
    assert_eq!(begun(&site, "snapshot"), 0);
    drop(relay);
}

#[test]
fn a_relay_behind_a_relay_by_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let first = [
        event("ADDED", &pod("a", 10, "Running")),
        event("ADDED", &pod("b", 11, "Running")),
        bookmark(12, true),
    ];
    let (upstream, pieces) = live(&first);
    let replay = Replay::start(vec![("sendInitialEvents", Play::Live(pieces))]);
    let near = site(&folder, &replay);
    let cable = Cable::plug(folder.path());
    on_line(&near, &cable);
    let key = near.add("gateway", "pods");
    let (key, device) = (key.to_str().unwrap(), cable.at_the_node());
    let upstream_lines = format!(
        "serial = {{ path = {device:?}, baud = 57600 }}\nname = \"gateway\"\nkey-file = {key:?}"
    );
    let far = Site::new(&folder.path().join("far"), &upstream_lines, PODS_WATCH);
    let _relays: [Running; 2] = [near.run(), far.run()];
    far.until_listed(PODS, 2);
    upstream
        .send(event("MODIFIED", &pod("b", 13, "Failed")))
        .unwrap();
    until("the change", || {
        far.get(PODS)?.body.contains("Failed").then_some(())
    });
    // As a whole: the same bytes at both.
    assert_eq!(near.get(PODS).unwrap().body, far.get(PODS).unwrap().body);
}

#[test]
fn lines_that_cannot_be_are_refused_and_those_that_are_not_there_are_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::new(folder.path(), "url = \"http://127.0.0.1:1\"", PODS_WATCH);
    let check = || {
        let mut command = program();
        command.arg("check").arg(folder.path().join("relay.toml"));
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    };
    site.set("[listen]\n", "[listen]\nserial = []\n");
    let mut before = "[]".to_owned();
    for (lines, good, words) in [
        (
            r#"[{ path = "tty" }]"#,
            false,
            "relay.toml:8: listen.serial: tty: name the device by its whole path",
        ),
        (
            r#"[{ path = "/dev/a", baud = 3 }]"#,
            false,
            "baud is from 300 to 4000000",
        ),
        (
            r#"[{ path = "/dev/a" }, { path = "/dev/a" }]"#,
            false,
            "/dev/a is there twice",
        ),
        (
            r#"[{ path = "/dev/null" }, { path = "/dev/not-there" }]"#,
            true,
            "/dev/not-there: is not there now; it is waited for",
        ),
    ] {
        site.set(&format!("serial = {before}"), &format!("serial = {lines}"));
        before = lines.to_owned();
        let (success, said) = check();
        assert!(success == good && said.contains(words), "{lines}: {said}");
    }
    // Neither can be listened on; the relay runs all the same.
    let _relay = site.run();
    until("it answers", || site.get("/healthz"));
}
