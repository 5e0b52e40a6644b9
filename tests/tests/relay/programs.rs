//! The programs as a user starts them, on ports that stay the same when they are started again.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Longer than anything here should take, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for something to be so.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

/// A program of the project, built now if it is not.
fn executable(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let profile = BUILT.get_or_init(|| {
        let test = env::current_exe().expect("the test's own path");
        // target/PROFILE/deps/relay-HASH
        let profile = test.ancestors().nth(2).expect("a folder of the profile");
        let named = match profile.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--bins", "--profile", named]);
        cargo.args([
            "--package",
            "ringwatch-server",
            "--package",
            "ringwatch-edge",
            "--target-dir",
        ]);
        cargo.arg(profile.parent().expect("a folder of all profiles"));
        for (name, _) in env::vars_os() {
            // What is said about the tests' own package: some build scripts would take it for a change.
            let about_us = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
            if about_us
                .iter()
                .any(|it| name.to_string_lossy().starts_with(it))
            {
                cargo.env_remove(name);
            }
        }
        assert!(
            cargo.status().is_ok_and(|status| status.success()),
            "the programs do not build"
        );
        profile.to_owned()
    });
    profile.join(name)
}

/// A program that can be killed and started again.
pub(crate) struct Program {
    name: &'static str,
    args: Vec<String>,
    log: PathBuf,
    child: Option<Child>,
}

impl Program {
    fn new(name: &'static str, args: &[&str], log: PathBuf) -> Self {
        let mut program = Self {
            name,
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            log,
            child: None,
        };
        program.start();
        program
    }

    pub(crate) fn start(&mut self) {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log);
        let log = log.expect("a log");
        let mut command = Command::new(executable(self.name));
        command.args(&self.args).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        self.child = Some(command.spawn().expect("the program starts"));
    }

    /// As a power cut does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.as_ref().expect("it runs").id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let words = fs::read_to_string(&self.log).unwrap_or_default();
            let last: Vec<&str> = words.lines().rev().take(15).collect();
            eprintln!("{} said last:\n{}", self.name, last.join("\n"));
        }
    }
}

/// The server, on its own store, with a node link for relays.
pub(crate) struct Server {
    pub(crate) program: Program,
    http: u16,
    pub(crate) link: u16,
}

impl Server {
    pub(crate) fn start(folder: &Path, keys: &Path) -> Self {
        let (https, http, link) = (free_port(), free_port(), free_port());
        let at = |port: u16| format!("127.0.0.1:{port}");
        let data = folder.join("server");
        let (data, keys) = (data.to_str().expect("UTF-8"), keys.to_str().expect("UTF-8"));
        let (https, plain, linked) = (at(https), at(http), at(link));
        let args = [
            "--data-dir",
            data,
            "--listen",
            &https,
            "--insecure-listen",
            &plain,
            "--link-listen",
            &linked,
            "--link-keys",
            keys,
        ];
        let server = Self {
            program: Program::new("ringwatch-server", &args, folder.join("server.log")),
            http,
            link,
        };
        server.until_ready();
        server
    }

    pub(crate) fn until_ready(&self) {
        until("the server is ready", || {
            self.ask("GET", "/readyz", "")
                .filter(|(status, _)| *status == 200)
        });
    }

    /// Asks; status and body.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.http)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let len = body.len();
        let kind = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\n\r\n{body}").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if chunked {
            unchunk(body)
        } else {
            body.to_owned()
        };
        Some((head.split(' ').nth(1)?.parse().ok()?, body))
    }
}

fn unchunk(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((len, rest)) = body.split_once("\r\n") {
        let len = usize::from_str_radix(len, 16).unwrap_or(0);
        out.push_str(rest.get(..len).unwrap_or_default());
        body = rest.get(len + 2..).unwrap_or_default();
    }
    out
}

/// A relay.
pub(crate) struct Relay {
    pub(crate) program: Program,
    pub(crate) link: u16,
}

impl Relay {
    /// A relay in a folder of its own, as `name` at the port of its upstream.
    pub(crate) fn start(
        folder: &Path,
        name: &str,
        key: &str,
        upstream: u16,
        nodes: &str,
        resource: &str,
    ) -> Self {
        fs::create_dir_all(folder).expect("a folder");
        let link = free_port();
        let settings = format!(
            "[upstream]\nlink = \"127.0.0.1:{upstream}\"\nname = \"{name}\"\nkey-file = \"key\"\n[[watch]]\nresource = \"{resource}\"\nobjects = 400\nchanges = 200\n[listen]\nlink = \"127.0.0.1:{link}\"\n[nodes]\nfile = \"nodes.toml\"\n[state]\ndir = \"state\"\nflush-ms = 100\n"
        );
        for (file, text) in [
            ("relay.toml", settings.as_str()),
            ("key", key),
            ("nodes.toml", nodes),
        ] {
            fs::write(folder.join(file), text).expect("a file");
        }
        let settings = folder.join("relay.toml");
        let args = ["run", settings.to_str().expect("UTF-8")];
        Self {
            program: Program::new("ringwatch-edge", &args, folder.join("log")),
            link,
        }
    }
}

/// Simulated nodes and the last report of each.
pub(crate) struct Nodes {
    child: Child,
    pub(crate) last: Arc<Mutex<std::collections::BTreeMap<String, String>>>,
}

impl Nodes {
    pub(crate) fn start(
        name: &str,
        key: &Path,
        count: usize,
        ports: &[u16],
        wants: &[&str],
    ) -> Self {
        let mut command = Command::new(executable("ringwatch-edge"));
        command.args([
            "node",
            "--name",
            name,
            "--count",
            &count.to_string(),
            "--report",
            "--quiet",
            "--bookmarks",
            "1",
        ]);
        command.args(wants).arg("--key-file").arg(key);
        for port in ports {
            command.args(["--connect", &format!("127.0.0.1:{port}")]);
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("nodes start");
        let output = BufReader::new(child.stdout.take().expect("their words"));
        let last = Arc::<Mutex<std::collections::BTreeMap<String, String>>>::default();
        let own = last.clone();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some((name, rest)) = line.split_once(' ') {
                    own.lock()
                        .expect("not poisoned")
                        .insert(name.to_owned(), rest.to_owned());
                }
            }
        });
        Self { child, last }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
