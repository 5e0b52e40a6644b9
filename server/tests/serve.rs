//! Connections and their limits, over real sockets.

use std::future::{pending, poll_fn};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode};
use http_body::Body as _;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ringwatch_server::body::{Body, BoxError, News};
use ringwatch_server::serve::{
    Handler, InFlight, Incoming, Kind, Limits, Listener, Peer, Shutdown, Stop, serve,
};
use ringwatch_server::then::Then;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

/// Longer than anything here should take, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server for one test.
struct Server {
    address: SocketAddr,
    stop: Stop,
    serving: JoinHandle<()>,
}

fn start(limits: Limits) -> Server {
    let listener = Listener::plain("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.address();
    let (stop, shutdown) = Shutdown::new();
    let site = Arc::new(Site {
        in_flight: InFlight::new(&limits),
        shutdown: shutdown.clone(),
    });
    let serving = tokio::spawn(serve(vec![listener], site, limits, shutdown));
    Server {
        address,
        stop,
        serving,
    }
}

/// Pages that show what a connection does.
struct Site {
    in_flight: InFlight,
    shutdown: Shutdown,
}

impl Handler for Site {
    async fn call(self: Arc<Self>, mut request: Request<Incoming>, peer: Peer) -> Response<Body> {
        assert!(!peer.secure && peer.address.ip().is_loopback());
        match request.uri().path() {
            "/hello" => Response::new("hello".into()),
            "/watch" => Response::new(Body::news(Watch {
                shutdown: self.shutdown.clone(),
                state: State::Begun,
            })),
            "/write" => match self.in_flight.admit(Kind::Mutating) {
                Err(busy) => busy.response(),
                Ok(_place) => pending().await,
            },
            "/echo" => {
                let upgraded = hyper::upgrade::on(&mut request);
                tokio::spawn(async move {
                    let mut stream = TokioIo::new(upgraded.await.unwrap());
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).await.is_ok() {
                        stream.write_all(&byte).await.unwrap();
                    }
                });
                let response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
                let response = response.header("connection", "upgrade");
                response
                    .header("upgrade", "echo")
                    .body(Body::Empty)
                    .unwrap()
            }
            _ => Response::builder().status(404).body(Body::Empty).unwrap(),
        }
    }
}

/// Says `begun`, and when the server stops `ended`.
struct Watch {
    shutdown: Shutdown,
    state: State,
}

enum State {
    Begun,
    Running(Pin<Box<dyn Future<Output = ()> + Send>>),
    Ended,
}

impl News for Watch {
    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<Option<Result<Then, BoxError>>> {
        match &mut self.state {
            State::Begun => {
                let mut shutdown = self.shutdown.clone();
                self.state = State::Running(Box::pin(async move { shutdown.begun().await }));
                out.extend_from_slice(b"begun");
            }
            State::Running(stopping) => {
                std::task::ready!(stopping.as_mut().poll(context));
                self.state = State::Ended;
                out.extend_from_slice(b"ended");
            }
            State::Ended => return Poll::Ready(None),
        }
        Poll::Ready(Some(Ok(Then::Ask)))
    }
}

/// Runs blocking code against a server, and hands both back.
async fn against<T: Send + 'static>(
    server: &Server,
    work: impl FnOnce(SocketAddr) -> T + Send + 'static,
) -> T {
    let address = server.address;
    tokio::task::spawn_blocking(move || work(address))
        .await
        .unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends, and reads until the server closes.
fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = connect(address);
    // The server may have closed before it has read all.
    let _ = stream.write_all(request.as_bytes());
    read_to_close(&mut stream)
}

/// What still comes before the connection ends. A reset is an end; silence for too long is not.
fn read_to_close(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => text.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("not closed after {PATIENCE:?}: {error}"),
        }
    }
    String::from_utf8(text).unwrap()
}

/// Reads until this has come.
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while !text.ends_with(end) {
        let read = stream.read(&mut buffer).expect(end);
        assert_ne!(read, 0, "closed after {text:?}");
        text.push_str(str::from_utf8(&buffer[..read]).unwrap());
    }
    text
}

fn short() -> Limits {
    Limits {
        header_timeout: Duration::from_millis(300),
        idle_timeout: Duration::from_millis(900),
        shutdown_timeout: PATIENCE,
        ..Limits::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_answered_and_the_connection_kept() {
    let server = start(Limits::default());
    against(&server, |address| {
        let mut stream = connect(address);
        for _ in 0..3 {
            stream
                .write_all(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
                .unwrap();
            assert!(read_until(&mut stream, "hello").starts_with("HTTP/1.1 200 OK\r\n"));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_slow_to_ask_is_cut_off() {
    let server = start(short());
    against(&server, |address| {
        // Nothing at all.
        assert_eq!(exchange(address, ""), "");
        // What could become HTTP/2, and does not.
        assert_eq!(exchange(address, "PRI * HT"), "");
        // A head without end, byte by byte, on a new connection and on one that has been used.
        for first in ["", "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"] {
            let mut stream = connect(address);
            stream.write_all(first.as_bytes()).unwrap();
            if !first.is_empty() {
                read_until(&mut stream, "hello");
            }
            stream.write_all(b"GET / HTTP/1.1\r\nX: ").unwrap();
            let begun = Instant::now();
            let mut drip = stream.try_clone().unwrap();
            let dripping = std::thread::spawn(move || {
                while drip.write_all(b"a").is_ok() && begun.elapsed() < PATIENCE {
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            assert_eq!(read_to_close(&mut stream), "");
            assert!(begun.elapsed() >= Duration::from_millis(250), "too early");
            dripping.join().unwrap();
            assert!(begun.elapsed() < PATIENCE);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_without_requests_is_closed_but_not_a_stream() {
    let server = start(short());
    against(&server, |address| {
        let mut watching = connect(address);
        watching
            .write_all(b"GET /watch HTTP/1.1\r\nHost: x\r\n\r\n")
            .unwrap();
        read_until(&mut watching, "begun\r\n");
        let mut idle = connect(address);
        idle.write_all(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
            .unwrap();
        read_until(&mut idle, "hello");
        let begun = Instant::now();
        assert_eq!(read_to_close(&mut idle), "");
        assert!(begun.elapsed() >= Duration::from_millis(800), "too early");
        // The stream has been quiet for as long.
        watching
            .set_read_timeout(Some(Duration::from_millis(1200)))
            .unwrap();
        let error = watching.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_heads_are_refused() {
    let server = start(Limits::default());
    against(&server, |address| {
        let status = |request: String| {
            let answer = exchange(address, &request);
            answer.split(' ').nth(1).unwrap_or("none").to_owned()
        };
        let url = "a".repeat(17 * 1024);
        let head = format!("GET /{url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert_eq!(status(head), "414");
        let value = "a".repeat(40 * 1024);
        assert_eq!(
            status(format!("GET / HTTP/1.1\r\nX: {value}\r\n\r\n")),
            "431"
        );
        // One that never ends is not waited for.
        let value = "a".repeat(1024 * 1024);
        assert_eq!(status(format!("GET / HTTP/1.1\r\nX: {value}")), "431");
        let many = "X: a\r\n".repeat(200);
        assert_eq!(status(format!("GET / HTTP/1.1\r\n{many}\r\n")), "431");
        assert_eq!(status("no request\r\n\r\n".to_owned()), "400");
        // What is just short enough is read.
        let value = "a".repeat(28 * 1024);
        let head =
            format!("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: {value}\r\n\r\n");
        assert_eq!(status(head), "200");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_too_many_is_told_so() {
    let server = start(Limits {
        connections: 2,
        ..Limits::default()
    });
    against(&server, |address| {
        let request = b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
        let mut first = connect(address);
        first.write_all(request).unwrap();
        read_until(&mut first, "hello");
        let mut second = connect(address);
        second.write_all(request).unwrap();
        read_until(&mut second, "hello");
        let refused = exchange(address, "");
        assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
        assert!(refused.contains("Retry-After: 1\r\n"), "{refused}");
        let (head, body) = refused.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("Content-Length: {}", body.len())),
            "{refused}"
        );
        // A place is free again when somebody has left, and that has been noticed.
        drop(first);
        let begun = Instant::now();
        loop {
            let answer = exchange(
                address,
                "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            );
            if answer.ends_with("hello") {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{answer}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_beyond_the_cap_are_told_to_wait() {
    let server = start(Limits {
        writing: 1,
        ..Limits::default()
    });
    against(&server, |address| {
        let request = "GET /write HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        let mut first = connect(address);
        let mut second = connect(address);
        first.write_all(request.as_bytes()).unwrap();
        second.write_all(request.as_bytes()).unwrap();
        // One of them is served, which takes for ever; the other is answered.
        first.set_nonblocking(true).unwrap();
        second.set_nonblocking(true).unwrap();
        let begun = Instant::now();
        let mut text = Vec::new();
        while text.is_empty() {
            for stream in [&mut first, &mut second] {
                let mut buffer = [0; 1024];
                if let Ok(read) = stream.read(&mut buffer) {
                    text.extend_from_slice(&buffer[..read]);
                }
            }
            assert!(begun.elapsed() < PATIENCE);
        }
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("HTTP/1.1 429 "), "{text}");
        assert!(text.contains("retry-after: 1\r\n"), "{text}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_lets_streams_say_goodbye() {
    let server = start(short());
    let mut watching = against(&server, |address| {
        let mut stream = connect(address);
        stream
            .write_all(b"GET /watch HTTP/1.1\r\nHost: x\r\n\r\n")
            .unwrap();
        read_until(&mut stream, "begun\r\n");
        stream
    })
    .await;
    let idle = against(&server, connect).await;
    server.stop.begin();
    let rest = tokio::task::spawn_blocking(move || read_to_close(&mut watching));
    assert_eq!(rest.await.unwrap(), "5\r\nended\r\n0\r\n\r\n");
    tokio::time::timeout(PATIENCE, server.serving)
        .await
        .unwrap()
        .unwrap();
    let refused = TcpStream::connect(server.address);
    assert_eq!(
        refused.unwrap_err().kind(),
        std::io::ErrorKind::ConnectionRefused
    );
    drop(idle);
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_does_not_wait_for_ever() {
    let server = start(Limits {
        shutdown_timeout: Duration::from_millis(200),
        ..Limits::default()
    });
    let mut writing = against(&server, |address| {
        let mut stream = connect(address);
        stream
            .write_all(b"GET /write HTTP/1.1\r\nHost: x\r\n\r\n")
            .unwrap();
        // The next line is answered only after it, so that the request is known to be there.
        let mut second = connect(address);
        second
            .write_all(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
            .unwrap();
        read_until(&mut second, "hello");
        stream
    })
    .await;
    server.stop.begin();
    tokio::time::timeout(PATIENCE, server.serving)
        .await
        .unwrap()
        .unwrap();
    let rest = tokio::task::spawn_blocking(move || read_to_close(&mut writing));
    assert_eq!(rest.await.unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_can_change_its_protocol_and_keeps_its_place() {
    let server = start(Limits {
        connections: 1,
        ..Limits::default()
    });
    against(&server, |address| {
        let mut stream = connect(address);
        let request =
            b"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n";
        stream.write_all(request).unwrap();
        assert!(read_until(&mut stream, "\r\n\r\n").starts_with("HTTP/1.1 101 "));
        stream.write_all(b"hi").unwrap();
        read_until(&mut stream, "i");
        assert!(exchange(address, "").starts_with("HTTP/1.1 503 "));
    })
    .await;
}

type Client = http2::SendRequest<String>;

async fn http2(address: SocketAddr) -> (Client, JoinHandle<hyper::Result<()>>) {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let builder = http2::Builder::new(TokioExecutor::new());
    let (client, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    (client, tokio::spawn(connection))
}

fn get(path: &str) -> Request<String> {
    let uri = format!("http://localhost{path}");
    Request::builder().uri(uri).body(String::new()).unwrap()
}

async fn next_text(body: &mut Incoming) -> Option<String> {
    let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?;
    let data = frame.unwrap().into_data().unwrap();
    Some(String::from_utf8(data.to_vec()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_has_many_requests_on_one_connection() {
    let server = start(Limits {
        connections: 1,
        ..short()
    });
    let (mut client, connection) = http2(server.address).await;
    let mut watches = Vec::new();
    for _ in 0..10 {
        client.ready().await.unwrap();
        let response = client.send_request(get("/watch")).await.unwrap();
        let mut body = response.into_body();
        assert_eq!(next_text(&mut body).await.unwrap(), "begun");
        watches.push(body);
    }
    let response = client.send_request(get("/hello")).await.unwrap();
    assert_eq!(response.status(), 200);
    server.stop.begin();
    for body in &mut watches {
        let mut rest = String::new();
        while let Some(text) = next_text(body).await {
            rest.push_str(&text);
        }
        assert_eq!(rest, "ended");
    }
    tokio::time::timeout(PATIENCE, server.serving)
        .await
        .unwrap()
        .unwrap();
    drop(client);
    let _ = connection.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_without_requests_is_closed() {
    let server = start(short());
    let (client, connection) = http2(server.address).await;
    let closed = tokio::time::timeout(PATIENCE, connection).await;
    closed.expect("closed").unwrap().unwrap();
    drop(client);
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_large_heads_are_refused() {
    let server = start(Limits::default());
    let (mut client, _connection) = http2(server.address).await;
    let mut request = get("/hello");
    let value = "a".repeat(15 * 1024).parse().unwrap();
    request.headers_mut().insert("x", value);
    assert_eq!(client.send_request(request).await.unwrap().status(), 200);
    let long = format!("/{}", "a".repeat(17 * 1024));
    assert_eq!(client.send_request(get(&long)).await.unwrap().status(), 414);
    let mut request = get("/hello");
    for name in ["x1", "x2", "x3"] {
        let value = "a".repeat(15 * 1024).parse().unwrap();
        request.headers_mut().insert(name, value);
    }
    assert_eq!(client.send_request(request).await.unwrap().status(), 431);
}

/// Opens streams and takes them back at once, which costs the client nothing and a careless server a lot.
#[tokio::test(flavor = "multi_thread")]
async fn http2_floods_of_resets_end_the_connection() {
    let server = start(Limits::default());
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    against(&server, move |address| {
        let mut stream = connect(address);
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
        stream.write_all(&bytes).unwrap();
        for stream_id in (1u32..200_000).step_by(2) {
            bytes.clear();
            // HEADERS, ended: GET, http, / and an empty authority, by their numbers in the static table.
            bytes.extend_from_slice(&[0, 0, 4, 1, 5]);
            bytes.extend_from_slice(&stream_id.to_be_bytes());
            bytes.extend_from_slice(&[0x82, 0x86, 0x84, 0x81]);
            // RST_STREAM, for no reason.
            bytes.extend_from_slice(&[0, 0, 4, 3, 0]);
            bytes.extend_from_slice(&stream_id.to_be_bytes());
            bytes.extend_from_slice(&[0, 0, 0, 8]);
            if stream.write_all(&bytes).is_err() {
                return;
            }
            counted.fetch_add(1, Ordering::Relaxed);
        }
    })
    .await;
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent < 100_000, "{sent} resets were taken");
    // Others are served.
    let (mut client, _connection) = http2(server.address).await;
    assert_eq!(
        client.send_request(get("/hello")).await.unwrap().status(),
        200
    );
}
