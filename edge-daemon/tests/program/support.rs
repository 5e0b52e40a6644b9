//! The program, running, and what is needed to talk to it.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything here should take, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for something to be so.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A port that nobody has.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringwatch-edge"));
    command.stdin(Stdio::null());
    command
}

/// The program, which is killed with this value.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// What it has in memory, in KB.
    pub(crate) fn resident(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.unwrap().trim_end_matches("kB").trim().parse().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", name, &id])
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A relay's folder and settings.
pub(crate) struct Site {
    pub(crate) folder: PathBuf,
    pub(crate) link: u16,
    pub(crate) http: u16,
}

impl Site {
    /// A relay in a folder of its own, whose upstream is said by the lines.
    pub(crate) fn new(folder: &Path, upstream: &str, watch: &str) -> Self {
        fs::create_dir_all(folder).unwrap();
        let (link, http) = (free_port(), free_port());
        let text = format!(
            "[upstream]\n{upstream}\n[[watch]]\n{watch}\n[listen]\nlink = \"127.0.0.1:{link}\"\nhttp = \"127.0.0.1:{http}\"\n[nodes]\nfile = \"nodes.toml\"\n[state]\ndir = \"state\"\nflush-ms = 50\n"
        );
        fs::write(folder.join("relay.toml"), text).unwrap();
        fs::write(folder.join("nodes.toml"), "").unwrap();
        Self {
            folder: folder.to_owned(),
            link,
            http,
        }
    }

    /// Makes a node known; the file with its key.
    pub(crate) fn add(&self, name: &str, allow: &str) -> PathBuf {
        let key = self.folder.join(format!("{name}.key"));
        let added = program()
            .args(["nodes", "add", name, "--allow", allow, "--file"])
            .arg(self.folder.join("nodes.toml"))
            .arg("--key-file")
            .arg(&key)
            .stdout(Stdio::null())
            .status();
        assert!(added.unwrap().success());
        key
    }

    pub(crate) fn run(&self) -> Running {
        let mut command = program();
        command.arg("run").arg(self.folder.join("relay.toml"));
        Running(command.spawn().unwrap())
    }

    /// Changes a line of its settings.
    pub(crate) fn set(&self, before: &str, after: &str) {
        let file = self.folder.join("relay.toml");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(before));
        fs::write(file, text.replace(before, after)).unwrap();
    }

    /// What a metric says; nothing said is zero.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = until("metrics", || self.get("/metrics")).body;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map_or(0, |value| value.trim().parse().unwrap())
    }

    pub(crate) fn get(&self, path: &str) -> Option<Answer> {
        self.ask("GET", path, "")
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str) -> Option<Answer> {
        let address = SocketAddr::from(([127, 0, 0, 1], self.http));
        ask(address, method, path, headers)
    }

    /// Waits until a list has so many objects; the answer.
    pub(crate) fn until_listed(&self, path: &str, count: usize) -> Answer {
        until(&format!("{count} objects at {path}"), || {
            let answer = self.get(path)?;
            (answer.status == 200 && answer.body.matches("\"uid\"").count() == count)
                .then_some(answer)
        })
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .next()
    }
}

/// Asks, and reads the answer to its end. Headers end with a line break each.
pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, headers: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}Connection: close\r\n\r\n"
    )
    .ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let body = match head.to_lowercase().contains("transfer-encoding: chunked") {
        true => unchunk(body),
        false => body.to_owned(),
    };
    Some(Answer {
        status,
        head: head.to_owned(),
        body,
    })
}

fn unchunk(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((len, rest)) = body.split_once("\r\n") {
        let len = usize::from_str_radix(len, 16).unwrap_or(0);
        out.push_str(&rest[..len.min(rest.len())]);
        body = rest.get(len + 2..).unwrap_or_default();
    }
    out
}
