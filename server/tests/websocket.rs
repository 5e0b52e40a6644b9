//! Watches over WebSocket: the real server, and a client that is not ours.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use futures_util::{SinkExt as _, StreamExt as _};
use http::{Request, Response};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

const PATH: &str = "/api/v1/namespaces/default/configmaps";
const PROTOCOL: &str = "sec-websocket-protocol";

struct Server {
    child: Child,
    secure: SocketAddr,
    plain: SocketAddr,
    folder: TempDir,
}

impl Server {
    /// Starts one, and waits until it is ready and has its namespace: it makes that after it has begun to listen.
    async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_ringwatch-server"))
            .args(["--in-memory", "--listen", "127.0.0.1:0"])
            .args(["--insecure-listen", "127.0.0.1:0", "--data-dir"])
            .arg(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut address = |scheme: &str| {
            let line = lines.next().unwrap().unwrap();
            let (_, rest) = line.split_once(scheme).unwrap();
            rest.parse().unwrap()
        };
        let server = Self {
            secure: address("https://"),
            plain: address("http://"),
            child,
            folder,
        };
        for path in ["/readyz", "/api/v1/namespaces/default"] {
            while server.ask("GET", path, "", "").await.0 != 200 {}
        }
        server
    }

    /// Asks over HTTP, and gives the status and the body.
    async fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.plain).await.unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // Upgrades that are refused leave the connection open: read as much as the answer says it has.
        loop {
            let text = String::from_utf8_lossy(&answer).into_owned();
            if let Some((head, rest)) = text.split_once("\r\n\r\n") {
                let lower = head.to_ascii_lowercase();
                let length = lower.split_once("content-length: ").unwrap().1;
                let length: usize = length.lines().next().unwrap().parse().unwrap();
                if rest.len() >= length {
                    return (head[9..12].parse().unwrap(), rest.to_owned());
                }
            }
            assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "{text}");
        }
    }

    async fn create(&self, name: &str) {
        // A new server makes the namespace after it has begun to listen.
        while self
            .ask("GET", "/api/v1/namespaces/default", "", "")
            .await
            .0
            != 200
        {}
        let body =
            format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}}}}"#);
        let (status, answer) = self.ask("POST", PATH, "", &body).await;
        assert_eq!(status, 201, "{answer}");
    }

    fn request(&self, query: &str) -> Request<()> {
        let url = format!("ws://{}{PATH}{query}", self.plain);
        url.into_client_request().unwrap()
    }

    async fn connect(
        &self,
        request: Request<()>,
    ) -> Result<(WebSocketStream<TcpStream>, Response<()>), Error> {
        let stream = TcpStream::connect(self.plain).await.unwrap();
        let (socket, response) = client_async(request, stream).await?;
        Ok((socket, response.map(drop)))
    }

    /// A watch of what comes from now on.
    async fn watch(&self, query: &str) -> WebSocketStream<TcpStream> {
        let (status, list) = self.ask("GET", PATH, "", "").await;
        assert_eq!(status, 200, "{list}");
        let list: Value = serde_json::from_str(&list).unwrap();
        let revision = list["metadata"]["resourceVersion"].as_str().unwrap();
        let query = format!("?watch=1&resourceVersion={revision}{query}");
        self.connect(self.request(&query)).await.unwrap().0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn message<S>(socket: &mut WebSocketStream<S>) -> Message
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    socket.next().await.expect("a message").expect("no error")
}

/// The type of the next event, and the name of its object.
async fn event<S>(socket: &mut WebSocketStream<S>) -> (String, String)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let message = message(socket).await;
    let text = message.to_text().expect("text");
    assert!(message.is_text() && text.ends_with("}\n"), "{message:?}");
    let event: Value = serde_json::from_str(text).expect("one event and no more");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (
        text(&event["type"]),
        text(&event["object"]["metadata"]["name"]),
    )
}

fn added(name: &str) -> (String, String) {
    ("ADDED".to_owned(), name.to_owned())
}

/// The code of the close that comes next.
async fn closed(socket: &mut WebSocketStream<TcpStream>) -> CloseCode {
    match message(socket).await {
        Message::Close(Some(frame)) => frame.code,
        other => panic!("not a close: {other:?}"),
    }
}

#[tokio::test]
async fn each_event_is_a_message() {
    let server = Server::start().await;
    let mut socket = server.watch("").await;
    for number in 0..50 {
        server.create(&format!("c{number}")).await;
    }
    for number in 0..50 {
        assert_eq!(event(&mut socket).await, added(&format!("c{number}")));
    }
}

#[tokio::test]
async fn protobuf_is_binary_and_without_a_length() {
    let server = Server::start().await;
    server.create("one").await;
    let mut request = server.request("?watch=1");
    let accept = "application/vnd.kubernetes.protobuf;stream=watch";
    request
        .headers_mut()
        .insert("accept", accept.parse().unwrap());
    let mut socket = server.connect(request).await.unwrap().0;
    loop {
        let Message::Binary(bytes) = message(&mut socket).await else {
            panic!("not binary");
        };
        // Field 1, of five bytes; somewhere in field 2, the object with its magic.
        assert!(bytes.starts_with(b"\x0a\x05ADDED\x12"), "{bytes:?}");
        assert!(bytes.windows(4).any(|window| window == b"k8s\0"));
        if bytes.windows(3).any(|window| window == b"one") {
            return;
        }
    }
}

#[tokio::test]
async fn one_subprotocol_is_echoed() {
    let server = Server::start().await;
    for (offered, echoed) in [(None, None), (Some("anything"), Some("anything"))] {
        let mut request = server.request("?watch=1");
        if let Some(offered) = offered {
            let headers = request.headers_mut();
            headers.insert(PROTOCOL, offered.parse().unwrap());
        }
        let response = server.connect(request).await.unwrap().1;
        let header = response.headers().get(PROTOCOL);
        assert_eq!(header.map(|header| header.to_str().unwrap()), echoed);
    }
}

#[tokio::test]
async fn what_cannot_be_upgraded_is_an_ordinary_answer() {
    let server = Server::start().await;
    let handshake = "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n";
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let version = "Sec-WebSocket-Version: 13\r\n";
    let watch = format!("{PATH}?watch=1");
    for (path, headers, status) in [
        (
            &*watch,
            format!("{key}{version}Sec-WebSocket-Protocol: a, b\r\n"),
            400,
        ),
        (
            &*watch,
            format!(
                "{key}{version}{}",
                "Sec-WebSocket-Protocol: a\r\n".repeat(2)
            ),
            400,
        ),
        (&*watch, version.to_owned(), 400),
        (
            &*watch,
            format!("Sec-WebSocket-Key: short\r\n{version}"),
            400,
        ),
        (&*watch, key.to_owned(), 400),
        (&*watch, format!("{key}Sec-WebSocket-Version: 8\r\n"), 400),
        ("/api/v1/nonsense?watch=1", format!("{key}{version}"), 404),
        (
            &format!("{watch}&labelSelector=a%3D%3D%3Db"),
            format!("{key}{version}"),
            400,
        ),
        // What is no watch is answered as ever.
        (PATH, format!("{key}{version}"), 200),
    ] {
        let headers = format!("{handshake}{headers}");
        let (got, answer) = server.ask("GET", path, &headers, "").await;
        assert_eq!(got, status, "{path} {headers}: {answer}");
        let kind = if status == 200 {
            "ConfigMapList"
        } else {
            "Status"
        };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["kind"], kind, "{path} {headers}");
    }
}

#[tokio::test]
async fn a_watch_whose_time_is_up_is_closed() {
    let server = Server::start().await;
    let mut socket = server.watch("&timeoutSeconds=1").await;
    assert_eq!(closed(&mut socket).await, CloseCode::Normal);
    assert!(socket.next().await.is_none());
}

#[tokio::test]
async fn a_server_that_stops_goes_away() {
    let mut server = Server::start().await;
    let mut socket = server.watch("").await;
    server.create("last").await;
    assert_eq!(event(&mut socket).await, added("last"));
    let id = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(closed(&mut socket).await, CloseCode::Away);
    assert!(socket.next().await.is_none());
    assert!(server.child.wait().unwrap().success());
}

#[tokio::test]
async fn what_the_client_says_is_heard_and_thrown_away() {
    let server = Server::start().await;
    let mut socket = server.watch("").await;
    for _ in 0..1_000 {
        socket.send(Message::text("x".repeat(1_000))).await.unwrap();
    }
    socket.send(Message::Ping("there?".into())).await.unwrap();
    assert_eq!(message(&mut socket).await, Message::Pong("there?".into()));
    server.create("after").await;
    assert_eq!(event(&mut socket).await, added("after"));
    socket.close(None).await.unwrap();
    assert!(matches!(message(&mut socket).await, Message::Close(_)));
    assert!(socket.next().await.is_none());
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_the_watch() {
    let server = Server::start().await;
    let mut socket = server.watch("").await;
    // The server may be gone before it has taken all of it.
    let _ = socket.send(Message::text("x".repeat(65 * 1024))).await;
    assert_eq!(closed(&mut socket).await, CloseCode::Size);
}

#[tokio::test]
async fn a_browser_says_who_it_is_in_a_subprotocol() {
    let server = Server::start().await;
    server.create("one").await;
    let file = fs::read_to_string(server.folder.path().join("admin.kubeconfig")).unwrap();
    let mut lines = file.lines();
    let token = lines.find_map(|line| line.trim().strip_prefix("token: "));
    let token = token.unwrap().trim_matches('"');
    let authority = fs::read(server.folder.path().join("tls/ca.crt")).unwrap();
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(&authority).unwrap();
    roots.add(authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    for (token, works) in [(token, true), ("guessed", false)] {
        let stream = TcpStream::connect(server.secure).await.unwrap();
        let name = ServerName::from(server.secure.ip());
        let stream = connector.connect(name, stream).await.unwrap();
        let mut request = server.request("?watch=1");
        let token = Base64UrlUnpadded::encode_string(token.as_bytes());
        let offered = format!("base64url.bearer.authorization.k8s.io.{token}, mine");
        let headers = request.headers_mut();
        headers.insert(PROTOCOL, offered.parse().unwrap());
        match client_async(request, stream).await {
            Ok((mut socket, response)) => {
                assert!(works);
                assert_eq!(response.headers()[PROTOCOL], "mine");
                // Among what the namespace had from the start, if anything.
                while event(&mut socket).await != added("one") {}
            }
            Err(Error::Http(response)) => {
                assert!(!works);
                assert_eq!(response.status(), 401);
            }
            Err(other) => panic!("{other}"),
        }
    }
}
