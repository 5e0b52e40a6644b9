//! Simulated nodes in a process of their own, what they report and when, and a cable that can be cut between them and their relay.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::support::{PATIENCE, Running, program};

/// A node that is in step: when it said so, its name, and its revision.
type Report = (Instant, String, u64);

pub(crate) struct Nodes {
    pub(crate) running: Running,
    pub(crate) reports: Receiver<Report>,
    pub(crate) count: usize,
}

fn command(port: u16, key: &Path, name: &str, count: usize) -> Command {
    let mut command = program();
    command
        .args(["node", "--name", name, "--count", &count.to_string()])
        .args(["--quiet", "--resource", "pods"])
        .args(["--show", "spec.what:text(60)", "--objects", "32"])
        .args(["--connect", &format!("127.0.0.1:{port}")])
        .arg("--key-file")
        .arg(key);
    command
}

/// Nodes that get everything and say nothing, which costs less than to say it.
pub(crate) fn quiet(port: u16, key: &Path, count: usize) -> Running {
    let mut command = command(port, key, "quiet", count);
    Running(command.spawn().expect("the nodes start"))
}

impl Nodes {
    pub(crate) fn start(port: u16, key: &Path, count: usize) -> Self {
        let mut command = command(port, key, "node", count);
        command.arg("--report").stdout(Stdio::piped());
        let mut running = Running(command.spawn().expect("the nodes start"));
        let output = BufReader::new(running.0.stdout.take().expect("their words"));
        let (sender, reports) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let mut words = line.split(' ');
                let (name, revision) = (words.next(), words.nth(1));
                if let (Some(name), Some(Ok(revision))) = (name, revision.map(str::parse)) {
                    let _ = sender.send((Instant::now(), name.to_owned(), revision));
                }
            }
        });
        Self {
            running,
            reports,
            count,
        }
    }

    /// Waits until all have come to a revision; when the last one had.
    pub(crate) fn all_at(&self, revision: u64) -> Instant {
        let mut there = BTreeSet::new();
        loop {
            let report = self.reports.recv_timeout(PATIENCE);
            let (at, name, reported) = report.expect("nodes come into step in time");
            if reported >= revision {
                there.insert(name);
            }
            if there.len() == self.count {
                return at;
            }
        }
    }
}

/// A way to a port of this machine that can be cut.
pub(crate) struct Cable {
    pub(crate) port: u16,
    whole: watch::Sender<bool>,
}

impl Cable {
    pub(crate) fn to(port: u16) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = std::net::TcpListener::bind(address).expect("a port");
        let own = listener.local_addr().expect("its address").port();
        listener.set_nonblocking(true).expect("a listener");
        let (whole, is_whole) = watch::channel(true);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).expect("a listener");
                while let Ok((near, _)) = listener.accept().await {
                    tokio::spawn(pass(near, port, is_whole.clone()));
                }
            });
        });
        Self { port: own, whole }
    }

    /// Whether bytes pass. Connections do not survive a cut.
    pub(crate) fn set(&self, whole: bool) {
        self.whole.send_replace(whole);
    }
}

async fn pass(mut near: TcpStream, port: u16, mut is_whole: watch::Receiver<bool>) {
    if !*is_whole.borrow() {
        return;
    }
    let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
        _ = is_whole.wait_for(|whole| !whole) => {}
    }
}
