//! Simulated nodes.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;

use crate::support::{PATIENCE, Running, program};

/// Simulated nodes and what they report.
pub(crate) struct Nodes {
    _running: Running,
    pub(crate) lines: mpsc::Receiver<String>,
}

impl Nodes {
    pub(crate) fn start(key: &std::path::Path, name: &str, ports: &[u16], more: &[&str]) -> Self {
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
    pub(crate) fn until_at(&self, revision: u64) -> String {
        let wanted = format!(" at {revision} ");
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("a report in time");
            if line.contains(&wanted) {
                return line;
            }
        }
    }
}
