//! What an idle connection costs the process: resident memory, seen from outside, with thousands of open streams.
//!
//! The server is this program again, in a process of its own, so that the clients' memory does not count. Each stream has
//! sent its head and then nothing; the handler keeps nothing for it. Run by `cargo xtask bench connections`.

#[path = "shared/report.rs"]
#[expect(dead_code, reason = "shared with other benchmarks")]
mod report;

use std::env;
use std::fs;
use std::future::pending;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

use http::{Request, Response};
use mimalloc::MiMalloc;
use ringwatch_server::body::{Body, BoxError, News};
use ringwatch_server::process::use_small_pages;
use ringwatch_server::serve::{Handler, Incoming, Limits, Listener, Peer, Shutdown, serve};
use ringwatch_server::then::Then;
use ringwatch_server::tls::{self, Authority, Certificate};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// The server's own.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const CONNECTIONS: usize = 2_000;

fn main() {
    let role = env::args().nth(1).unwrap_or_default();
    match role.as_str() {
        "plain" | "tls" => run_server(&role),
        _ => {
            report::head();
            measure("plain", "HTTP/1.1", 8.0);
            measure("tls", "HTTP/1.1 over TLS", 25.0);
            report::end();
        }
    }
}

/// Sends the head of a stream and nothing more.
struct Quiet;

impl Handler for Quiet {
    async fn call(self: Arc<Self>, _: Request<Incoming>, _: Peer) -> Response<Body> {
        Response::new(Body::news(Never))
    }
}

struct Never;

impl News for Never {
    fn poll_piece(
        &mut self,
        _: &mut Context<'_>,
        _: &mut Vec<u8>,
    ) -> Poll<Option<Result<Then, BoxError>>> {
        Poll::Pending
    }
}

fn run_server(role: &str) {
    // As in the server.
    use_small_pages();
    serve_quietly(role);
}

#[tokio::main(worker_threads = 2)]
async fn serve_quietly(role: &str) {
    let address = "127.0.0.1:0".parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::open(folder.path()).unwrap();
    let names = tls::of_this_server([127, 0, 0, 1].into(), &[]);
    let listener = match role {
        "plain" => Listener::plain(address),
        _ => {
            let signed = authority.sign(&names, SystemTime::now()).unwrap();
            let config = tls::server_config(Certificate::new(signed)).unwrap();
            Listener::tls(address, Arc::new(config))
        }
    };
    let listener = listener.unwrap();
    println!("{}", listener.address());
    println!("{}", folder.path().join("ca.crt").display());
    let (_stop, shutdown) = Shutdown::new();
    tokio::select! {
        () = serve(vec![listener], Arc::new(Quiet), Limits::default(), shutdown) => {}
        // The parent holds the other end as long as it measures.
        () = end_of_input() => {}
    }
}

async fn end_of_input() {
    let read = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0]));
    if read.await.is_err() {
        pending::<()>().await;
    }
}

struct Server {
    child: Child,
    address: SocketAddr,
    tls: Option<Arc<ClientConfig>>,
}

fn start(role: &str) -> Server {
    let mut child = Command::new(env::current_exe().unwrap())
        .arg(role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.next().unwrap().unwrap().parse().unwrap();
    let authority = lines.next().unwrap().unwrap();
    let tls = (role == "tls").then(|| {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(authority).unwrap();
        roots.add(authority).unwrap();
        let provider = rustls::crypto::ring::default_provider();
        let builder = ClientConfig::builder_with_provider(Arc::new(provider));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        Arc::new(builder.with_no_client_auth())
    });
    Server {
        child,
        address,
        tls,
    }
}

fn measure(role: &str, title: &str, target: f64) {
    let mut server = start(role);
    // What the first few take is for all.
    let mut streams: Vec<_> = (0..50).map(|_| open(&server)).collect();
    let before = resident(&server);
    streams.extend((0..CONNECTIONS).map(|_| open(&server)));
    let each = (resident(&server) - before) as f64 / 1024.0 / CONNECTIONS as f64;
    report::row(
        format!("an idle stream, {title}"),
        format!("{each:.1} KB resident"),
        &[report::at_most("", each, target, "KB")],
    );
    drop(streams);
    drop(server.child.stdin.take());
    server.child.wait().unwrap();
}

/// Opens a stream, as client-go would ask for it, and waits for its head.
fn open(server: &Server) -> Box<dyn Read> {
    let stream = TcpStream::connect(server.address).unwrap();
    match &server.tls {
        None => ask(stream),
        Some(config) => {
            let name = ServerName::try_from("localhost").unwrap();
            let connection = ClientConnection::new(config.clone(), name).unwrap();
            ask(StreamOwned::new(connection, stream))
        }
    }
}

fn ask(mut stream: impl Read + Write + 'static) -> Box<dyn Read> {
    let request = "GET /api/v1/pods?allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=500&watch=true \
        HTTP/1.1\r\nHost: localhost\r\nUser-Agent: reflector/v1.32.0 (linux/amd64) kubernetes/70d3cc9\r\n\
        Accept: application/json, */*\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    Box::new(stream)
}

fn resident(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.unwrap().trim().trim_end_matches(" kB");
    number.parse::<u64>().unwrap() * 1024
}
