//! HTTP/2 as bad peers speak it: rows of `FRAME | FRAME => what becomes of the connection`.
//!
//! A frame is `TYPE STREAM PAYLOAD`, with `+FLAGS` behind the type. `GET` and `WATCH` are whole requests, `POST` is one whose body is to
//! come; their payload is more headers. A stream is a number, or `next` for one that has not been
//! used, or `same` for the one before. `N x FRAME & FRAME` sends them so often. After the last frame comes a ping; the row is
//! over when it and all requests that were sent whole are answered, or the connection ends. A row that begins with `silent: ` has no such
//! ping, so that it ends with the connection; `deaf: ` says that besides nothing is read until all is sent, or cannot be.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::notation::expand;
use crate::server::Server;

/// No answer takes longer.
const LIMIT: Duration = Duration::from_secs(15);
/// How long somebody who is not read waits before giving up.
const STALLED: Duration = Duration::from_secs(1);
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const TYPES: [&str; 10] = [
    "DATA",
    "HEADERS",
    "PRIORITY",
    "RST_STREAM",
    "SETTINGS",
    "PUSH_PROMISE",
    "PING",
    "GOAWAY",
    "WINDOW_UPDATE",
    "CONTINUATION",
];
/// Requests by name, with their flags and heads.
const REQUESTS: [(&str, u8, &[u8]); 3] = [
    (
        "GET",
        END_HEADERS | END_STREAM,
        b"\x82\x86\x84\x01\x09localhost",
    ),
    (
        "WATCH",
        END_HEADERS | END_STREAM,
        b"\x82\x86\x04\x1d/api/v1/namespaces?watch=true\x01\x09localhost",
    ),
    ("POST", END_HEADERS, b"\x83\x86\x84\x01\x09localhost"),
];
const ERRORS: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const NO_ERROR: u32 = 0;
/// How long the head of a frame is.
const HEAD: usize = 9;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// What the last frame of every row says, whose answer means that the connection is alive.
const PROBE: &[u8; 8] = b"alive?!?";

/// Does what the row says, and tells what became of the connection.
pub(crate) fn act(server: &Server, row: &str) -> String {
    let (manner, frames) = match row.split_once(':') {
        Some(("silent", frames)) => (Manner::Silent, frames),
        Some(("deaf", frames)) => (Manner::Deaf, frames),
        _ => (Manner::Polite, row),
    };
    let mut script = Script::new(frames.trim_start());
    if manner == Manner::Polite {
        script.bytes.extend(frame(PING, 0, 0, PROBE));
    }
    match send(server, &script, manner) {
        Ok(outcome) => outcome.describe(),
        Err(error) => error.to_string(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Polite,
    Silent,
    Deaf,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// What is sent.
struct Script {
    bytes: Vec<u8>,
    /// Requests in it that are whole and not taken back.
    requests: BTreeSet<u32>,
}

impl Script {
    fn new(row: &str) -> Self {
        let mut script = Self {
            bytes: PREFACE.to_vec(),
            requests: BTreeSet::new(),
        };
        script.bytes.extend(frame(SETTINGS, 0, 0, b""));
        let mut streams = Streams { unused: 1, last: 0 };
        for group in row.split(" | ").filter(|group| !group.is_empty()) {
            let (count, frames) = match group.split_once(" x ") {
                Some((count, frames)) => (count.parse().expect("a count"), frames),
                None => (1, group),
            };
            let frames: Vec<_> = frames.split(" & ").map(Frame::parse).collect();
            for _ in 0..count {
                for frame in &frames {
                    script.push(frame, streams.number(frame.stream));
                }
            }
        }
        script
    }

    fn push(&mut self, it: &Frame<'_>, stream: u32) {
        match it.kind {
            DATA | HEADERS if it.flags & END_STREAM != 0 => {
                self.requests.insert(stream);
            }
            RST_STREAM => {
                self.requests.remove(&stream);
            }
            _ => {}
        }
        self.bytes
            .extend(frame(it.kind, it.flags, stream, &it.payload));
    }
}

struct Frame<'a> {
    kind: u8,
    flags: u8,
    stream: &'a str,
    payload: Vec<u8>,
}

impl<'a> Frame<'a> {
    fn parse(text: &'a str) -> Self {
        let mut words = text.splitn(3, ' ');
        let name = words.next().expect("a type");
        let stream = words.next().expect("a stream");
        let payload = expand(words.next().unwrap_or(""));
        if let Some((_, flags, head)) = REQUESTS.iter().find(|(known, ..)| *known == name) {
            return Self {
                kind: HEADERS,
                flags: *flags,
                stream,
                payload: [head, &payload[..]].concat(),
            };
        }
        let (name, flags) = name.split_once('+').unwrap_or((name, "0"));
        let known = TYPES.iter().position(|known| *known == name);
        let kind = known.map(|kind| kind as u8).or(name.parse().ok());
        Self {
            kind: kind.unwrap_or_else(|| panic!("no frame is called {name}")),
            flags: flags.parse().expect("flags"),
            stream,
            payload,
        }
    }
}

/// The numbers of streams.
struct Streams {
    unused: u32,
    last: u32,
}

impl Streams {
    fn number(&mut self, name: &str) -> u32 {
        match name {
            "same" => {}
            "next" => {
                self.last = self.unused;
                self.unused += 2;
            }
            number => self.last = number.parse().expect("the number of a stream"),
        }
        self.last
    }
}

/// What came back.
#[derive(Debug, Default)]
struct Outcome {
    /// Requests that were answered, at least by a head.
    answered: BTreeSet<u32>,
    /// Streams that were ended, by why.
    resets: BTreeMap<u32, BTreeSet<u32>>,
    goaway: Option<u32>,
    alive: bool,
}

impl Outcome {
    fn describe(&self) -> String {
        let error = |code: u32| ERRORS.get(code as usize).map_or("?", |name| name);
        if let Some(code) = self.goaway.filter(|code| *code != NO_ERROR) {
            // How much was answered until then is chance.
            return format!("ended for {}", error(code));
        }
        let mut parts = Vec::new();
        if !self.answered.is_empty() {
            parts.push(format!("{} answered", self.answered.len()));
        }
        for (code, streams) in &self.resets {
            parts.push(format!("{} reset for {}", streams.len(), error(*code)));
        }
        parts.push(match (self.goaway, self.alive) {
            (Some(code), _) => format!("ended for {}", error(code)),
            (None, true) => "goes on".to_owned(),
            (None, false) => "closed".to_owned(),
        });
        parts.join(", ")
    }

    fn take(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let code = |at: usize| {
            let bytes = payload.get(at..at + 4).and_then(|it| it.try_into().ok());
            u32::from_be_bytes(bytes.unwrap_or_default())
        };
        match kind {
            HEADERS => {
                self.answered.insert(stream);
            }
            RST_STREAM => {
                self.resets.entry(code(0)).or_default().insert(stream);
            }
            PING => self.alive |= flags & ACK != 0 && payload == PROBE,
            GOAWAY => self.goaway = Some(code(4)),
            _ => {}
        }
    }

    /// Whether nothing more has to come.
    fn is_whole(&self, script: &Script) -> bool {
        let is_reset = |stream| self.resets.values().any(|streams| streams.contains(stream));
        let mut requests = script.requests.iter();
        self.alive && requests.all(|stream| self.answered.contains(stream) || is_reset(stream))
    }
}

fn send(server: &Server, script: &Script, manner: Manner) -> io::Result<Outcome> {
    let stream = TcpStream::connect(server.address)?;
    stream.set_read_timeout(Some(LIMIT))?;
    let patience = match manner {
        Manner::Deaf => STALLED,
        _ => LIMIT,
    };
    stream.set_write_timeout(Some(patience))?;
    // A server that has heard enough need not hear the rest.
    let write = || {
        let _ = (&stream).write_all(&script.bytes);
    };
    if manner == Manner::Deaf {
        write();
        stream.shutdown(Shutdown::Write)?;
        return read(&stream, script);
    }
    std::thread::scope(|scope| {
        scope.spawn(write);
        let outcome = read(&stream, script);
        // Whoever still writes is not to wait for long.
        stream.shutdown(Shutdown::Both).ok();
        outcome
    })
}

/// Reads until the connection ends, or all has come.
fn read(mut stream: &TcpStream, script: &Script) -> io::Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while !outcome.is_whole(script) {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
            Err(error) => return Err(error),
        }
        let mut rest = &bytes[..];
        while let Some((head, after)) = rest.split_at_checked(HEAD) {
            let [a, b, c, kind, flags, stream @ ..] = head else {
                break;
            };
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            let Some((payload, after)) = after.split_at_checked(length) else {
                break;
            };
            let stream = stream.try_into().map_or(0, u32::from_be_bytes);
            outcome.take(*kind, *flags, stream, payload);
            rest = after;
        }
        let done = bytes.len() - rest.len();
        bytes.drain(..done);
    }
    Ok(outcome)
}
