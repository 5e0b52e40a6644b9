//! The program `ringwatch-server`, as a user starts it.

use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

use base64ct::{Base64, Encoding};
use ringwatch_tests::etcd::Folder;

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
        let mut child = Command::new(executable())
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

/// Where the program is: beside the tests. A run of all tests has built it; after a run of these tests alone it may be
/// missing or older than its sources, and is built now.
fn executable() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test = env::current_exe().expect("the test's own path");
        // target/PROFILE/deps/journeys-HASH
        let profile = test.ancestors().nth(2).expect("a folder of the profile");
        let target = profile.parent().expect("a folder of all profiles");
        let program = profile.join(format!("ringwatch-server{}", env::consts::EXE_SUFFIX));
        let project = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("tests is a folder of the project");
        let changed =
            ["server/src", "server/Cargo.toml", "core/src"].map(|it| newest(&project.join(it)));
        let built = program.metadata().and_then(|it| it.modified()).ok();
        if built < changed.into_iter().max().flatten() {
            let name = match profile.file_name().and_then(|name| name.to_str()) {
                Some("debug") | None => "dev",
                Some(name) => name,
            };
            let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo
                .args(["build", "--quiet", "--package", "ringwatch-server"])
                .args(["--bin", "ringwatch-server", "--profile", name])
                .arg("--target-dir")
                .arg(target)
                .current_dir(project);
            // What is said about the tests' own package: some build scripts would take it for a change.
            for (name, _) in env::vars_os() {
                let about_us = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
                if name
                    .to_str()
                    .is_some_and(|name| about_us.iter().any(|it| name.starts_with(it)))
                {
                    cargo.env_remove(name);
                }
            }
            let status = cargo.status();
            assert!(
                status.is_ok_and(|status| status.success()),
                "the server does not build"
            );
        }
        program
    })
}

/// When something in the folder, or the file, was last changed.
fn newest(path: &Path) -> Option<SystemTime> {
    match fs::read_dir(path) {
        Ok(entries) => entries
            .filter_map(|entry| newest(&entry.ok()?.path()))
            .max(),
        Err(_) => path.metadata().and_then(|it| it.modified()).ok(),
    }
}
