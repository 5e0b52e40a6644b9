//! Answers that come piece by piece over HTTP/1.1: what is around them on their connection, and how they end.

use std::io::{Read, Write};
use std::net::{Shutdown as Half, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Request, Response};
use ringwatch_server::body::{Body, BoxError, News};
use ringwatch_server::serve::{Handler, Incoming, Limits, Listener, Peer, Shutdown, Stop, serve};
use ringwatch_server::then::Then;

/// Longer than anything here should take, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(20);
/// More than the buffers of two sockets hold.
const MANY: usize = 2_000;
const SIZE: usize = 10_000;
const HELLO: &str = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";

/// Streams of numbered pieces.
#[derive(Default)]
struct Site {
    open: Arc<AtomicUsize>,
}

impl Handler for Site {
    async fn call(self: Arc<Self>, request: Request<Incoming>, _: Peer) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let body = match path.strip_prefix("/pieces/") {
            None => return Response::new("hello".into()),
            Some(count) => Pieces {
                next: 0,
                end: count.parse().unwrap_or(usize::MAX),
                breaks: count == "broken",
                open: self.open.clone(),
            },
        };
        self.open.fetch_add(1, Ordering::SeqCst);
        let mut response = Response::new(Body::news(body));
        let header = http::HeaderValue::from_static("numbers");
        response.headers_mut().insert("x-what", header);
        response
    }
}

/// So many pieces; or silence after the first, or a fault.
struct Pieces {
    next: usize,
    end: usize,
    breaks: bool,
    open: Arc<AtomicUsize>,
}

impl News for Pieces {
    fn poll_piece(
        &mut self,
        _: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<Option<Result<Then, BoxError>>> {
        let number = self.next;
        self.next += 1;
        match number {
            _ if number == self.end => Poll::Ready(None),
            1 if self.breaks => Poll::Ready(Some(Err("broken".into()))),
            1 if self.end == usize::MAX => Poll::Pending,
            _ => {
                out.extend_from_slice(&piece(number));
                Poll::Ready(Some(Ok(Then::Ask)))
            }
        }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

fn piece(number: usize) -> Vec<u8> {
    let mut piece = format!("{number:06}").into_bytes();
    piece.resize(SIZE, b'.');
    piece
}

struct Server {
    address: SocketAddr,
    open: Arc<AtomicUsize>,
    _stop: Stop,
    _runtime: tokio::runtime::Runtime,
}

fn start() -> Server {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = Listener::plain("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.address();
    let (stop, shutdown) = Shutdown::new();
    let site = Arc::new(Site::default());
    let open = site.open.clone();
    runtime.spawn(serve(vec![listener], site, Limits::default(), shutdown));
    Server {
        address,
        open,
        _stop: stop,
        _runtime: runtime,
    }
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n")
}

/// Reads a head, which has to begin with this.
fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "closed in a head");
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn read_line(stream: &mut TcpStream) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\r\n") {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "closed in a line");
        line.push(byte[0]);
    }
    line.truncate(line.len() - 2);
    String::from_utf8(line).unwrap()
}

/// Reads chunks to the last one, and gives their content.
fn read_chunks(stream: &mut TcpStream) -> Vec<u8> {
    let mut content = Vec::new();
    loop {
        let length = usize::from_str_radix(&read_line(stream), 16).unwrap();
        let mut chunk = vec![0; length];
        stream.read_exact(&mut chunk).unwrap();
        assert_eq!(read_line(stream), "");
        if length == 0 {
            return content;
        }
        content.extend_from_slice(&chunk);
    }
}

fn all_pieces(count: usize) -> Vec<u8> {
    (0..count).flat_map(piece).collect()
}

fn read_hello(stream: &mut TcpStream) {
    assert!(read_head(stream).starts_with("HTTP/1.1 200 OK\r\n"));
    let mut body = [0; 5];
    stream.read_exact(&mut body).unwrap();
    assert_eq!(&body, b"hello");
}

fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn a_stream_has_its_head_and_its_connection_goes_on_after_it() {
    let server = start();
    let mut stream = connect(&server);
    for count in [0, 1, 3] {
        let request = get(&format!("/pieces/{count}"), "");
        stream.write_all(request.as_bytes()).unwrap();
        let head = read_head(&mut stream).to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200 ok\r\n"), "{head}");
        for line in ["x-what: numbers", "transfer-encoding: chunked", "date: "] {
            assert_eq!(head.matches(line).count(), 1, "{line} in {head}");
        }
        assert_eq!(read_chunks(&mut stream), all_pieces(count));
        stream.write_all(HELLO.as_bytes()).unwrap();
        read_hello(&mut stream);
    }
}

#[test]
fn requests_sent_behind_a_stream_are_answered_after_it() {
    let server = start();
    let mut stream = connect(&server);
    // The first ones may be in hyper's buffer when the stream begins, the last ones are not.
    let stream_request = get("/pieces/3", "");
    let first = [HELLO, &stream_request, HELLO, &stream_request].concat();
    stream.write_all(first.as_bytes()).unwrap();
    stream.write_all(HELLO.repeat(200).as_bytes()).unwrap();
    for hellos in [1, 1] {
        (0..hellos).for_each(|_| read_hello(&mut stream));
        read_head(&mut stream);
        assert_eq!(read_chunks(&mut stream), all_pieces(3));
    }
    (0..200).for_each(|_| read_hello(&mut stream));
}

#[test]
fn more_behind_a_stream_than_is_read_ahead_is_not_lost() {
    let server = start();
    let mut stream = connect(&server);
    let mut writer = stream.try_clone().unwrap();
    let requests = 3_000;
    let sending = std::thread::spawn(move || {
        let text = get(&format!("/pieces/{MANY}"), "") + &HELLO.repeat(requests);
        writer.write_all(text.as_bytes()).unwrap();
    });
    read_head(&mut stream);
    assert_eq!(read_chunks(&mut stream), all_pieces(MANY));
    (0..requests).for_each(|_| read_hello(&mut stream));
    sending.join().unwrap();
}

#[test]
fn a_slow_reader_gets_everything() {
    let server = start();
    let mut stream = connect(&server);
    stream
        .write_all(get(&format!("/pieces/{MANY}"), "").as_bytes())
        .unwrap();
    read_head(&mut stream);
    // Nothing is read until the server can write no more: its stream is open, and stays so.
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.open.load(Ordering::SeqCst), 1);
    assert_eq!(read_chunks(&mut stream), all_pieces(MANY));
}

#[test]
fn a_connection_that_is_to_close_does() {
    let server = start();
    let mut stream = connect(&server);
    let request = get("/pieces/2", "Connection: Keep-Alive, CLOSE\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let head = read_head(&mut stream);
    assert!(head.contains("connection: close\r\n"), "{head}");
    assert_eq!(read_chunks(&mut stream), all_pieces(2));
    assert!(is_closed(&mut stream));
}

#[test]
fn a_request_with_a_body_is_answered_too() {
    let server = start();
    let mut stream = connect(&server);
    let body = HELLO;
    let request = get("/pieces/2", &format!("Content-Length: {}\r\n", body.len()));
    // The body looks like a request, and is none.
    let requests = [&request, body, HELLO].concat();
    stream.write_all(requests.as_bytes()).unwrap();
    read_head(&mut stream);
    assert_eq!(read_chunks(&mut stream), all_pieces(2));
    // hyper may close, since nobody read the body; but it must not answer it.
    let mut rest = Vec::new();
    stream
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    let _ = stream.read_to_end(&mut rest);
    let rest = String::from_utf8(rest).unwrap();
    assert!(rest.matches("hello").count() <= 1, "{rest}");
}

#[test]
fn an_old_client_gets_no_chunks() {
    let server = start();
    let mut stream = connect(&server);
    stream
        .write_all(b"GET /pieces/2 HTTP/1.0\r\nHost: x\r\n\r\n")
        .unwrap();
    let head = read_head(&mut stream);
    assert!(!head.contains("chunked"), "{head}");
    let mut content = Vec::new();
    stream.read_to_end(&mut content).unwrap();
    assert_eq!(content, all_pieces(2));
}

#[test]
fn a_stream_that_breaks_does_not_look_whole() {
    let server = start();
    let mut stream = connect(&server);
    stream
        .write_all(get("/pieces/broken", "").as_bytes())
        .unwrap();
    read_head(&mut stream);
    let mut content = Vec::new();
    stream.read_to_end(&mut content).unwrap();
    assert!(content.ends_with(b".\r\n"), "no last chunk");
}

#[test]
fn a_stream_ends_when_its_reader_leaves() {
    let server = start();
    for half in [Half::Write, Half::Both] {
        let mut stream = connect(&server);
        stream
            .write_all(get("/pieces/silence", "").as_bytes())
            .unwrap();
        read_head(&mut stream);
        assert_eq!(server.open.load(Ordering::SeqCst), 1);
        stream.shutdown(half).unwrap();
        let begun = Instant::now();
        while server.open.load(Ordering::SeqCst) > 0 {
            assert!(begun.elapsed() < PATIENCE, "still open");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
