//! HTTP/1.1 as plainly as it can be spoken: one request per connection, nothing corrected on the way.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// No answer takes longer, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!(
            "{} {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n",
            self.method, self.target
        );
        for (name, value) in &self.headers {
            bytes += &format!("{name}: {value}\r\n");
        }
        if !self.body.is_empty() {
            bytes += &format!("content-length: {}\r\n", self.body.len());
        }
        bytes += "\r\n";
        let mut bytes = bytes.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// What is answered.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// The first header of this name; empty without.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map_or("", |(_, value)| value)
    }

    /// The body, which is JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }
}

/// An answer whose head has come. The body of a watch goes on for as long as the watch.
pub(crate) struct Opened {
    head: Response,
    reader: BufReader<TcpStream>,
    bodiless: bool,
    /// Whether the server took all that was sent.
    sent: io::Result<()>,
}

impl Opened {
    /// The next line of a watch; none when it has ended. What is between the lines of events is between chunks.
    pub(crate) fn line(&mut self) -> io::Result<Option<String>> {
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            if line.starts_with('{') {
                return Ok(Some(line));
            }
        }
    }

    /// Waits for the whole body.
    pub(crate) fn finish(mut self) -> io::Result<Response> {
        if self.bodiless || matches!(self.head.status, 204 | 304) {
            return Ok(self.head);
        }
        read_body(&mut self.reader, &mut self.head)?;
        Ok(self.head)
    }
}

/// All answers that come before the connection ends.
pub(crate) fn read_all(bytes: &[u8]) -> io::Result<Vec<Response>> {
    let mut reader = bytes;
    let mut answers = Vec::new();
    while !reader.is_empty() {
        let mut answer = read_head(&mut reader)?;
        read_body(&mut reader, &mut answer)?;
        answers.push(answer);
    }
    Ok(answers)
}

/// Sends a request and waits for the whole answer.
pub(crate) fn send(address: SocketAddr, request: &Request) -> io::Result<Response> {
    open(address, request)?.finish()
}

/// Sends a request and waits for the head of the answer. Many clients read nothing before they have sent everything, so a
/// server that has heard enough has to listen on.
pub(crate) fn open(address: SocketAddr, request: &Request) -> io::Result<Opened> {
    let mut opened = open_raw(address, &request.bytes())?;
    std::mem::replace(&mut opened.sent, Ok(()))?;
    opened.bodiless = request.method == "HEAD";
    Ok(opened)
}

/// Sends these bytes, whatever they are, and waits for the head of the answer.
pub(crate) fn open_raw(address: SocketAddr, bytes: &[u8]) -> io::Result<Opened> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // What is no request may be hung up on before all of it is sent; the answer is what counts.
    let sent = stream.write_all(bytes);
    let mut reader = BufReader::new(stream);
    match read_head(&mut reader) {
        Ok(head) => Ok(Opened {
            head,
            reader,
            bodiless: false,
            sent,
        }),
        Err(error) => Err(sent.err().unwrap_or(error)),
    }
}

fn read_head(reader: &mut impl BufRead) -> io::Result<Response> {
    let first = read_line(reader)?;
    let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut head = Response {
        status: status.ok_or_else(|| io::Error::other(format!("no answer: {first:?}")))?,
        headers: Vec::new(),
        body: Vec::new(),
    };
    loop {
        let line = read_line(reader)?;
        match line.split_once(':') {
            Some((name, value)) => {
                let name = name.to_ascii_lowercase();
                head.headers.push((name, value.trim().to_owned()));
            }
            None => return Ok(head),
        }
    }
}

fn read_body(reader: &mut impl BufRead, answer: &mut Response) -> io::Result<()> {
    if answer.status < 200 {
        // Only a word in between.
    } else if answer.header("transfer-encoding") == "chunked" {
        read_chunks(reader, &mut answer.body)?;
    } else if let Ok(length) = answer.header("content-length").parse() {
        reader.take(length).read_to_end(&mut answer.body)?;
    } else {
        reader.read_to_end(&mut answer.body)?;
    }
    Ok(())
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    match reader.read_line(&mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end().to_owned()),
    }
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let line = read_line(reader)?;
        let size = usize::from_str_radix(&line, 16).map_err(io::Error::other)?;
        let start = body.len();
        body.resize(start + size, 0);
        reader.read_exact(&mut body[start..])?;
        read_line(reader)?;
        if size == 0 {
            return Ok(());
        }
    }
}
