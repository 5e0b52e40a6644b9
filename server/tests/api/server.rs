//! The program under test, for as long as a test needs it.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::http::{Request, Response, send};

/// A server of its own, stopped when dropped.
pub(crate) struct Server {
    process: Child,
    /// Where it takes plain HTTP.
    pub(crate) address: SocketAddr,
    /// Where it takes HTTPS.
    pub(crate) secure: SocketAddr,
    // The server may go on to write to it.
    _out: BufReader<ChildStdout>,
    folder: TempDir,
}

impl Server {
    /// Starts one, with these flags besides those that every test needs, and waits until it can be asked.
    pub(crate) fn start(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut process = Command::new(env!("CARGO_BIN_EXE_ringwatch-server"))
            .args(["--in-memory", "--log-level", "error"])
            .args(["--listen", "127.0.0.1:0"])
            .args(["--insecure-listen", "127.0.0.1:0"])
            .arg("--data-dir")
            .arg(folder.path())
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut out = BufReader::new(process.stdout.take().expect("its output"));
        let mut said_after = |words: &str| {
            let mut line = String::new();
            loop {
                line.clear();
                let read = out.read_line(&mut line).expect("its output");
                assert_ne!(
                    read, 0,
                    "the server stopped before it said where it listens"
                );
                if let Some((_, address)) = line.split_once(words) {
                    break address.trim().parse().expect("an address");
                }
            }
        };
        let secure = said_after("listens on https://");
        let address = said_after("without authentication: http://");
        let server = Self {
            process,
            address,
            secure,
            _out: out,
            folder,
        };
        server.wait_until_ready();
        server
    }

    /// Connections are taken at once; answers from caches come a moment later.
    fn wait_until_ready(&self) {
        let mut tries = 0;
        while self.get("/readyz").status != 200
            || self.get("/api/v1/namespaces/default").status != 200
        {
            tries += 1;
            assert!(tries < 1_000, "the server does not become ready");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Where it keeps its files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Asks, and gets an answer.
    pub(crate) fn send(&self, request: &Request) -> Response {
        send(self.address, request).expect("an answer")
    }

    /// Reads a path.
    pub(crate) fn get(&self, target: &str) -> Response {
        self.send(&Request::new("GET", target))
    }

    /// Writes, which has to succeed, and gives what the server then has.
    pub(crate) fn write(&self, method: &str, target: &str, body: &Value) -> Value {
        let mut request = Request::new(method, target);
        request.body = match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        };
        let response = self.send(&request);
        let text = String::from_utf8_lossy(&response.body);
        assert!(response.status < 300, "{method} {target}: {text}");
        response.json()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing is kept, so nothing is lost.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
