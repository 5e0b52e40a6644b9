//! What peers do to connections: rows of `WHERE: STEP | STEP => what comes back until the server hangs up`.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::describe;
use crate::http::read_all;
use crate::notation::expand;
use crate::server::Server;

/// No server takes longer to end what leads nowhere. Its own limits are set shorter; the machine may be busy.
const LIMIT: Duration = Duration::from_secs(15);
/// Between two bytes of who is slow on purpose.
const DRIP: Duration = Duration::from_millis(20);

/// Does what the row says, and tells how it ended.
pub(crate) fn act(server: &Server, row: &str) -> String {
    let (place, steps) = row.split_once(':').expect("a place and steps");
    let steps = steps.trim_start();
    // Before the connection is there, since its time runs.
    let steps: Vec<_> = steps.split(" | ").filter_map(Step::parse).collect();
    let begun = Instant::now();
    let came = match place {
        "plain" => converse(TcpStream::connect(server.address), &steps),
        "tls" => converse(TcpStream::connect(server.secure), &steps),
        "https" => converse(secure(server), &steps),
        _ => panic!("plain, tls or https, not {place}"),
    };
    let took = begun.elapsed();
    match came {
        _ if took > LIMIT => format!("not ended after {took:?}"),
        Ok(bytes) => describe(&bytes),
        Err(error) => format!("{error}"),
    }
}

enum Step {
    Send(Vec<u8>),
    Drip(Vec<u8>),
    End,
}

impl Step {
    fn parse(text: &str) -> Option<Self> {
        Some(match text.split_once(' ') {
            None if text.is_empty() => return None,
            None if text == "end" => Self::End,
            Some(("drip", bytes)) => Self::Drip(expand(bytes)),
            _ => Self::Send(expand(text)),
        })
    }
}

/// A connection on which one may say when one has nothing more to say.
trait Stream: Read + Write {
    fn socket(&self) -> &TcpStream;

    fn finish(&mut self) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }

    fn finish(&mut self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

impl Stream for StreamOwned<ClientConnection, TcpStream> {
    fn socket(&self) -> &TcpStream {
        &self.sock
    }

    fn finish(&mut self) -> io::Result<()> {
        self.conn.send_close_notify();
        self.flush()?;
        self.sock.shutdown(Shutdown::Write)
    }
}

/// TLS, with the server's own authority.
fn secure(server: &Server) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let file = server.folder().join("tls/ca.crt");
    let authority = CertificateDer::from_pem_file(file).map_err(io::Error::other)?;
    let mut roots = RootCertStore::empty();
    roots.add(authority).map_err(io::Error::other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::from(server.secure.ip());
    let client = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let stream = TcpStream::connect(server.secure)?;
    Ok(StreamOwned::new(client, stream))
}

/// Takes the steps, and then reads until the server hangs up.
fn converse(stream: io::Result<impl Stream>, steps: &[Step]) -> io::Result<Vec<u8>> {
    let mut stream = stream?;
    stream.socket().set_read_timeout(Some(LIMIT))?;
    stream.socket().set_write_timeout(Some(LIMIT))?;
    for step in steps {
        let taken = match step {
            Step::Send(bytes) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Step::Drip(bytes) => drip(&mut stream, bytes),
            Step::End => stream.finish(),
        };
        if taken.is_err() {
            // A server that has heard enough need not hear the rest; what it said is what counts.
            break;
        }
    }
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            Err(error) if is_end(&error) => return Ok(bytes),
            Err(error) => return Err(error),
        }
    }
}

/// However the server hangs up.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
    )
}

/// Byte by byte, for as long as somebody listens.
fn drip(stream: &mut impl Stream, bytes: &[u8]) -> io::Result<()> {
    for byte in bytes {
        stream.write_all(&[*byte])?;
        stream.flush()?;
        std::thread::sleep(DRIP);
    }
    Ok(())
}

/// What came, in one line. Several answers are counted if they are alike.
fn describe(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "closed".to_owned();
    }
    // A record of TLS that says what was wrong, and its number.
    if let [0x15, _, _, _, _, _, alert] = bytes {
        return format!("alert {alert}");
    }
    let answers = match read_all(bytes) {
        Ok(answers) => answers,
        Err(error) => return format!("{error}: {:?}", String::from_utf8_lossy(bytes)),
    };
    let mut lines: Vec<(String, usize)> = Vec::new();
    for answer in &answers {
        let line = describe::answer(answer);
        match lines.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => lines.push((line, 1)),
        }
    }
    let lines = lines.into_iter().map(|(line, count)| match count {
        1 => line,
        count => format!("{count} times {line}"),
    });
    lines.collect::<Vec<_>>().join("; ")
}
