//! A client that costs little: bytes over a socket, and as much HTTP/1.1 as it takes.

use std::net::SocketAddr;
use std::sync::Arc;

use memchr::memmem;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How to reach a server.
#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) address: SocketAddr,
    /// For TLS.
    pub(crate) secret: Option<Arc<Secret>>,
}

/// What it takes to be let in.
pub(crate) struct Secret {
    connector: TlsConnector,
    token: String,
}

impl Secret {
    pub(crate) fn new(authority: CertificateDer<'static>, token: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(authority).expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            connector: Arc::new(config).into(),
            token: token.to_owned(),
        }
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection.
pub(crate) struct Wire {
    stream: Box<dyn Stream>,
    authorization: String,
    buffer: Vec<u8>,
    /// Chunks of a watch so far: what the server sent at once.
    pub(crate) chunks: u64,
}

/// An answer that is whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The text of the first such field.
    pub(crate) fn text<'a>(&'a self, name: &str) -> Option<&'a str> {
        let found = quoted(&self.body, format!("\"{name}\":\"").as_bytes())?;
        std::str::from_utf8(found).ok()
    }
}

impl Wire {
    pub(crate) async fn connect(access: &Access) -> Self {
        let stream = TcpStream::connect(access.address)
            .await
            .expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        let (stream, authorization): (Box<dyn Stream>, _) = match &access.secret {
            None => (Box::new(stream), String::new()),
            Some(secret) => {
                let name = ServerName::from(access.address.ip());
                let stream = secret.connector.connect(name, stream).await;
                let header = format!("Authorization: Bearer {}\r\n", secret.token);
                (Box::new(stream.expect("a handshake")), header)
            }
        };
        Self {
            stream,
            authorization,
            buffer: Vec::new(),
            chunks: 0,
        }
    }

    /// Asks, with further headers if there are any, each with its line end.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        let authorization = &self.authorization;
        let kind = if body.is_empty() {
            String::new()
        } else {
            format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            )
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization}{headers}{kind}\r\n{body}"
        );
        let sent = self.stream.write_all(request.as_bytes()).await;
        sent.expect("a connection that is open");
    }

    /// Reads the head of an answer, and gives it.
    pub(crate) async fn head(&mut self) -> String {
        loop {
            if let Some(end) = memmem::find(&self.buffer, b"\r\n\r\n") {
                let head = self.buffer.drain(..end + 4).collect();
                return String::from_utf8(head).expect("text");
            }
            assert!(self.more().await > 0, "closed before an answer");
        }
    }

    /// Asks, and reads the answer, which says its length.
    pub(crate) async fn exchange(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Answer {
        self.ask(method, path, headers, body).await;
        let head = self.head().await.to_ascii_lowercase();
        let length = head.split_once("content-length: ").expect("a length").1;
        let length = length.split("\r\n").next().and_then(|n| n.parse().ok());
        let length: usize = length.expect("a number");
        self.buffer
            .reserve(length.saturating_sub(self.buffer.len()));
        while self.buffer.len() < length {
            assert!(self.more().await > 0, "closed within an answer");
        }
        Answer {
            status: head[9..12].parse().expect("a status"),
            body: self.buffer.drain(..length).collect(),
        }
    }

    /// Asks for `path` and gives the body of the answer, which must be a success.
    pub(crate) async fn get(&mut self, path: &str, headers: &str) -> Answer {
        let answer = self.exchange("GET", path, headers, "").await;
        assert_eq!(answer.status, 200, "GET {path}");
        answer
    }

    /// Begins a watch: it runs when this returns.
    pub(crate) async fn watch(&mut self, path: &str) {
        self.ask("GET", path, "", "").await;
        let head = self.head().await;
        assert!(head.starts_with("HTTP/1.1 200"), "GET {path}: {head}");
    }

    /// Hands over each event that has come whole, and waits for bytes if there is none. False when the stream has ended.
    ///
    /// A chunk holds whole lines, so what is between the lines of events is between chunks.
    pub(crate) async fn events(&mut self, mut each: impl FnMut(&[u8])) -> bool {
        // What came together with the head is looked at first.
        let waiting = memchr::memchr(b'\n', &self.buffer).is_some();
        let open = waiting || self.more().await > 0;
        let mut rest = self.buffer.as_slice();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            if line.first() == Some(&b'{') {
                each(line);
            } else if line.len() > 1 {
                // The length of a chunk; its end is an empty line.
                self.chunks += 1;
            }
            rest = &after[1..];
        }
        let taken = self.buffer.len() - rest.len();
        self.buffer.drain(..taken);
        open
    }

    async fn more(&mut self) -> usize {
        self.buffer.reserve(16 * 1024);
        let read = self.stream.read_buf(&mut self.buffer).await;
        read.expect("a connection that is open")
    }
}

/// What stands between `name` and the next quotation mark.
pub(crate) fn quoted<'a>(json: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let start = memmem::find(json, name)? + name.len();
    let rest = json.get(start..)?;
    rest.get(..memchr::memchr(b'"', rest)?)
}
