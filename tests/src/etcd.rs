//! Real etcd servers, each in a folder and on ports of its own, gone when dropped.
//!
//! `cargo xtask test` fetches the servers and says where they are. Without it, an `etcd` of the right version on
//! `PATH` will do; where there is none, tests that need one fail and say so.
//!
//! ```no_run
//! use ringwatch_tests::etcd::{Server, Version};
//!
//! let mut server = Server::start(Version::V3_5);
//! server.gateway().put("/registry/pods/default/web", "{}");
//! server.kill_hard();
//! server.restart();
//! ```
//!
//! Everything here blocks, and needs nothing but the standard library, since the fuzz harnesses link it too.

mod cluster;
mod gateway;
mod ports;

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub use cluster::Cluster;
pub use gateway::Gateway;

use ports::Ports;

/// How long a server may take until it serves.
const READY: Duration = Duration::from_secs(60);
/// How often to look whether it does.
const LOOK: Duration = Duration::from_millis(20);

const DATA: &str = "data";

/// A version that tests run against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The oldest that is supported. Debian's answers progress requests untruthfully.
    V3_4,
    /// A newer one. Debian's answers them truthfully.
    V3_5,
}

impl Version {
    /// Where the server is.
    ///
    /// # Panics
    ///
    /// If it is nowhere.
    pub fn program(self) -> PathBuf {
        let (series, variable) = match self {
            Self::V3_4 => ("3.4.", "RINGWATCH_ETCD_3_4"),
            Self::V3_5 => ("3.5.", "RINGWATCH_ETCD_3_5"),
        };
        if let Some(program) = env::var_os(variable) {
            return program.into();
        }
        let version = Command::new("etcd").arg("--version").output();
        let printed = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        assert!(
            printed.is_ok_and(|text| text.contains(&format!("etcd Version: {series}"))),
            "this test needs etcd {series}x, which is neither on PATH nor named by {variable}: \
             run `cargo xtask test`, which fetches it"
        );
        "etcd".into()
    }
}

/// The files that make a server speak TLS and ask clients for a certificate.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// Who signed the clients' certificates; PEM.
    pub authority: PathBuf,
    /// The server's certificate; PEM.
    pub certificate: PathBuf,
    /// Its key; PEM.
    pub key: PathBuf,
}

/// A server, with all that it takes to start it again as it was.
#[derive(Debug)]
pub struct Server {
    program: PathBuf,
    folder: Folder,
    ports: Ports,
    scheme: &'static str,
    arguments: Vec<String>,
    child: Option<Child>,
}

impl Server {
    /// Starts a server and waits until it serves.
    pub fn start(version: Version) -> Self {
        Self::start_with(version, &[], None)
    }

    /// The same with more arguments, and with TLS for clients.
    pub fn start_with(version: Version, more: &[&str], tls: Option<&TlsFiles>) -> Self {
        let ports = Ports::free();
        let peers = format!("member={}", ports.peer_url());
        let mut server = Self::new(version, "member", &peers, ports, tls);
        server
            .arguments
            .extend(more.iter().map(ToString::to_string));
        server.restart();
        server
    }

    fn new(
        version: Version,
        name: &str,
        peers: &str,
        ports: Ports,
        tls: Option<&TlsFiles>,
    ) -> Self {
        let folder = Folder::new();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let client = format!("{scheme}://127.0.0.1:{}", ports.client);
        let data = folder.path.join(DATA).display().to_string();
        let mut arguments = Vec::new();
        for (option, value) in [
            ("--name", name),
            ("--data-dir", &data),
            ("--listen-client-urls", &client),
            ("--advertise-client-urls", &client),
            ("--listen-peer-urls", &ports.peer_url()),
            ("--initial-advertise-peer-urls", &ports.peer_url()),
            ("--initial-cluster", peers),
            ("--initial-cluster-token", peers),
            ("--listen-metrics-urls", &ports.metrics_url()),
        ] {
            arguments.extend([option.to_owned(), value.to_owned()]);
        }
        if let Some(tls) = tls {
            arguments.push("--client-cert-auth".to_owned());
            for (option, path) in [
                ("--trusted-ca-file", &tls.authority),
                ("--cert-file", &tls.certificate),
                ("--key-file", &tls.key),
            ] {
                arguments.extend([option.to_owned(), path.display().to_string()]);
            }
        }
        Self {
            program: version.program(),
            folder,
            ports,
            scheme,
            arguments,
            child: None,
        }
    }

    /// Where clients connect.
    pub fn endpoint(&self) -> String {
        format!("{}://{}", self.scheme, self.address())
    }

    /// The same without the scheme.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.ports.client)
    }

    /// Another way in, for what others than the tested code do. Not with TLS.
    pub fn gateway(&self) -> Gateway {
        Gateway::new(self.address())
    }

    /// Ends the server as a power failure would.
    pub fn kill_hard(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself; then there is nothing to end.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Ends the server and everything that it knew.
    pub fn destroy(&mut self) {
        self.kill_hard();
        fs::remove_dir_all(self.data()).expect("data");
    }

    /// Starts the server again on its data and ports, and waits until it serves.
    pub fn restart(&mut self) {
        self.spawn();
        self.wait_until_ready();
    }

    fn spawn(&mut self) {
        self.kill_hard();
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log())
            .expect("a log file");
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn();
        self.child = Some(child.unwrap_or_else(|why| panic!("{}: {why}", self.program.display())));
    }

    fn wait_until_ready(&mut self) {
        let started = Instant::now();
        loop {
            let health = gateway::get(&self.ports.metrics_address(), "/health");
            if health.is_ok_and(|health| health.contains("\"health\":\"true\"")) {
                return;
            }
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok()?);
            assert!(
                ended.is_none() && started.elapsed() < READY,
                "etcd does not serve ({ended:?}):\n{}",
                self.last_words()
            );
            thread::sleep(LOOK);
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path.join(DATA)
    }

    fn log(&self) -> PathBuf {
        self.folder.path.join("log")
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill_hard();
    }
}

/// A folder that goes when it is dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A new, empty folder.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("ringwatch-{}-{count}", process::id()));
        // Left behind by a process that was killed and had the same number.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a temporary folder");
        Self { path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
