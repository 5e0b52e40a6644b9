//! The program `ringwatch-server`, as a user starts it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use base64ct::{Base64, Encoding};
use ringwatch_tests::etcd::Folder;
use ringwatch_tests::programs::executable;

/// A server. It ends with this value.
pub(crate) struct Program {
    folder: Folder,
    flags: Vec<String>,
    address: SocketAddr,
    link: Option<SocketAddr>,
    child: Option<Child>,
}

impl Program {
    /// Starts one on a free port, and waits until it says that it takes connections.
    pub(crate) fn start(flags: &[&str]) -> Self {
        let mut program = Self {
            folder: Folder::new(),
            flags: flags.iter().map(ToString::to_string).collect(),
            address: ([127, 0, 0, 1], 0).into(),
            link: None,
            child: None,
        };
        program.restart();
        program
    }

    /// Ends it without warning, if it runs, and starts it again on its data and its port.
    pub(crate) fn restart(&mut self) {
        self.kill_hard();
        let log = File::options().create(true).append(true).open(self.log());
        let mut child = Command::new(executable("ringwatch-server"))
            .arg("--data-dir")
            .arg(self.folder.path().join("data"))
            .args(["--listen", &self.address.to_string()])
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.expect("a log file"))
            .spawn()
            .expect("the server's program");
        let output = child.stdout.take().expect("its output");
        self.child = Some(child);
        let mut said = String::new();
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            said.extend([line.as_str(), "\n"]);
            // The last one, after which nothing is waited for.
            if line.contains("admin.kubeconfig: ") {
                break;
            }
        }
        let address = |before| {
            let (_, rest) = said.split_once(before)?;
            rest.split_ascii_whitespace().next()?.parse().ok()
        };
        self.address = address("listens on https://")
            .unwrap_or_else(|| panic!("the server ended:\n{}", self.words()));
        self.link = address("node link: ");
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill_hard(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself; then there is nothing to end.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Where it listens for HTTPS.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens for nodes, if it does.
    pub(crate) fn link(&self) -> Option<SocketAddr> {
        self.link
    }

    /// What makes one its admin.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("data/admin.kubeconfig")
    }

    /// The admin's token.
    pub(crate) fn token(&self) -> String {
        self.value("token")
    }

    /// The authority that signed its certificate, in PEM.
    pub(crate) fn authority(&self) -> Vec<u8> {
        Base64::decode_vec(&self.value("certificate-authority-data")).expect("base64")
    }

    /// What it logged.
    pub(crate) fn words(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn value(&self, name: &str) -> String {
        let text = fs::read_to_string(self.kubeconfig()).expect("admin.kubeconfig");
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
        line.expect(name).trim_matches('"').to_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill_hard();
        if std::thread::panicking() {
            eprintln!("what the server logged:\n{}", self.words());
        }
    }
}
