//! The server's program, running, and a client that trusts whom its kubeconfig names.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64ct::{Base64, Encoding};
use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Longer than anything here should take, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The program, not started.
pub(crate) fn program(flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringwatch-server"));
    command.args(flags).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A server. It ends with this value.
pub(crate) struct Running {
    child: Child,
    /// What it said when it was ready.
    pub(crate) words: String,
    /// Where it listens for HTTPS.
    pub(crate) address: SocketAddr,
    /// What makes one its admin.
    pub(crate) kubeconfig: PathBuf,
}

impl Running {
    /// Starts one on a free port, with its data in the folder, and waits until it says that it is ready.
    pub(crate) fn start(folder: &Path, flags: &[&str]) -> Self {
        Self::begin(program(flags), folder)
    }

    /// The same, started by another program that is given the server's command line.
    pub(crate) fn start_through(by: &[&str], folder: &Path, flags: &[&str]) -> Self {
        let program = program(flags);
        let mut command = Command::new(by[0]);
        command.args(&by[1..]).arg(program.get_program());
        command
            .args(program.get_args())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        Self::begin(command, folder)
    }

    fn begin(mut command: Command, folder: &Path) -> Self {
        command.arg("--data-dir").arg(folder);
        command.args(["--listen", "127.0.0.1:0"]);
        // To where the test's own words go, so that a full pipe never stops it.
        command.stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let mut words = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let kubeconfig = loop {
            let read = output.read_line(&mut words).unwrap();
            assert_ne!(read, 0, "ended, after {words}");
            let line = words.lines().last().unwrap().trim();
            if let Some(path) = line.strip_prefix("admin.kubeconfig: ") {
                break PathBuf::from(path);
            }
        };
        let url = words.split("https://").nth(1).unwrap();
        let address = url
            .split_ascii_whitespace()
            .next()
            .unwrap()
            .parse()
            .unwrap();
        Self {
            child,
            words,
            address,
            kubeconfig,
        }
    }

    /// Where it listens for plain HTTP.
    pub(crate) fn plain(&self) -> SocketAddr {
        let url = self.words.split("http://").nth(1).unwrap();
        let address = url.split_ascii_whitespace().next().unwrap();
        address.parse().unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// A value of the kubeconfig.
    pub(crate) fn value(&self, name: &str) -> String {
        let text = std::fs::read_to_string(&self.kubeconfig).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
        line.expect(name).trim_matches('"').to_owned()
    }

    /// TLS as the kubeconfig has it.
    pub(crate) fn tls(&self) -> ClientConfig {
        let authority = Base64::decode_vec(&self.value("certificate-authority-data")).unwrap();
        trusting(&authority)
    }

    /// The status and body of an answer over HTTP/1.1, with this token.
    pub(crate) fn get(&self, path: &str, token: Option<&str>) -> (u16, String) {
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let token = token.unwrap_or_default();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{token}Connection: close\r\n\r\n");
        let mut stream = connect(self.address, self.tls());
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        (status, body.to_owned())
    }

    pub(crate) fn send(&self, signal: Signal) {
        let id = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that trusts this authority only.
pub(crate) fn trusting(authority: &[u8]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(authority).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    builder.with_root_certificates(roots).with_no_client_auth()
}

pub(crate) fn connect(
    address: SocketAddr,
    config: ClientConfig,
) -> StreamOwned<ClientConnection, TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    StreamOwned::new(connection, stream)
}
