//! As much of an HTTP client as the story needs: one connection, one request after the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::programs::PATIENCE;

/// A connection, made when it is first needed and again when it is lost.
pub(crate) struct Http {
    port: u16,
    stream: Option<BufReader<TcpStream>>,
}

impl Http {
    pub(crate) const fn new(port: u16) -> Self {
        Self { port, stream: None }
    }

    /// Asks; status and body. `None` if there is nobody, or the connection has ended.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
                stream.set_read_timeout(Some(PATIENCE)).ok()?;
                stream.set_nodelay(true).ok()?;
                BufReader::new(stream)
            }
        };
        let len = body.len();
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\n\r\n{body}"
        );
        stream.get_mut().write_all(request.as_bytes()).ok()?;
        let answer = read(&mut stream)?;
        self.stream = Some(stream);
        Some(answer)
    }
}

fn read(stream: &mut impl BufRead) -> Option<(u16, String)> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let (mut len, mut chunked) = (0, false);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        match line.trim_end().to_lowercase().split_once(": ") {
            Some(("content-length", value)) => len = value.parse().ok()?,
            Some(("transfer-encoding", "chunked")) => chunked = true,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = Vec::new();
    if !chunked {
        stream.take(len).read_to_end(&mut body).ok()?;
    }
    while chunked {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let len = u64::from_str_radix(line.trim_end(), 16).ok()?;
        chunked = len > 0;
        stream.take(len).read_to_end(&mut body).ok()?;
        // The end of the line behind the piece.
        stream.read_line(&mut line).ok()?;
    }
    Some((status, String::from_utf8(body).ok()?))
}
