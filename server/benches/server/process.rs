//! The server, and the bare loop beside it, as processes that are looked at from outside.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tempfile::TempDir;

use crate::wire::{Access, Secret};

/// A process that ends with this value.
pub(crate) struct Process {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, out }
    }

    /// The next line that it prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.out.read_line(&mut line).expect("a readable pipe");
        assert!(read > 0, "the program ended before it said what it had to");
        line.trim_end().to_owned()
    }

    /// CPU time so far, of all threads, those that have ended included. In steps of 10 ms, so measure long enough.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(self.file("stat")).expect("a running process");
        // The name, in brackets, may hold spaces.
        let (_, rest) = stat.rsplit_once(") ").expect("a name in brackets");
        let ticks = |field: usize| -> u64 {
            let text = rest.split(' ').nth(field).expect("a field");
            text.parse().expect("a number")
        };
        let ticks = ticks(11) + ticks(12);
        Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second())
    }

    /// Resident memory, in KiB.
    pub(crate) fn rss(&self) -> u64 {
        let status = fs::read_to_string(self.file("status")).expect("a running process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number
            .and_then(|number| number.parse().ok())
            .expect("VmRSS in kB")
    }

    /// Tells it to stop, and waits until it has.
    pub(crate) fn stop(mut self) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("a process");
        self.child.wait().expect("an exit code");
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.child.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running `ringwatch-server`.
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) plain: Access,
    pub(crate) tls: Access,
    _folder: Option<TempDir>,
}

impl Server {
    /// One that keeps its objects in memory.
    pub(crate) fn in_memory() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let mut server = Self::start(folder.path(), &["--in-memory"]);
        server._folder = Some(folder);
        server
    }

    /// One on `folder`.
    pub(crate) fn start(folder: &Path, flags: &[&str]) -> Self {
        let mut process = Process::start(
            Command::new(env!("CARGO_BIN_EXE_ringwatch-server"))
                .args(["--listen", "127.0.0.1:0"])
                .args(["--insecure-listen", "127.0.0.1:0"])
                .arg("--data-dir")
                .arg(folder)
                .args(flags),
        );
        let secure = address_in(&process.line(), "https://");
        let plain = address_in(&process.line(), "http://");
        let kubeconfig = fs::read_to_string(folder.join("admin.kubeconfig")).expect("a file");
        let token = kubeconfig
            .lines()
            .find_map(|line| line.trim().strip_prefix("token: "))
            .expect("a token");
        let authority = fs::read(folder.join("tls/ca.crt")).expect("an authority");
        let authority = CertificateDer::from_pem_slice(&authority).expect("a certificate");
        Self {
            process,
            plain: Access {
                address: plain,
                secret: None,
            },
            tls: Access {
                address: secure,
                secret: Some(Arc::new(Secret::new(authority, token.trim_matches('"')))),
            },
            _folder: None,
        }
    }
}

fn address_in(line: &str, scheme: &str) -> SocketAddr {
    let (_, rest) = line.split_once(scheme).expect("a URL");
    let end = rest.find(' ').unwrap_or(rest.len());
    rest[..end].parse().expect("an address")
}
