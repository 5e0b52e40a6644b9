//! A server that plays answers of a kube-apiserver as they are on the wire: headers, chunks, compression, sudden ends.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;

/// What to do on a connection that asks for a path with this in it.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    /// An answer that is whole.
    Whole(u16, &'static str, String),
    /// The same, compressed in as many members as there are parts.
    Zipped(Vec<String>),
    /// A stream: these pieces as chunks, and then nothing more while the connection lasts.
    Stream(Vec<String>),
    /// A stream of what the test sends, while the connection lasts.
    Live(Arc<Mutex<Receiver<String>>>),
    /// A stream whose pieces are each a member of gzip; then it ends well.
    ZippedStream(Vec<String>),
    /// A stream that is cut off after these pieces, without an end.
    Cut(Vec<String>),
}

#[derive(Debug, Clone)]
pub(crate) struct Replay {
    pub(crate) port: u16,
    script: Arc<Mutex<VecDeque<(&'static str, Play)>>>,
    /// Paths that were asked for, each with the token that was shown.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
}

/// The namespace whose identity is the cluster's.
const SYSTEM: &str = r#"{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"0b6b6c2c-54c6-4d5d-8f6d-0c2d9c0c7e11","resourceVersion":"4"}}"#;

impl Replay {
    /// Plays the script: each answer once, to the next request whose path has the text in it. To a request that nothing is left for it says 503.
    pub(crate) fn start(script: Vec<(&'static str, Play)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let replay = Self {
            port: listener.local_addr().unwrap().port(),
            script: Arc::new(Mutex::new(script.into())),
            asked: Arc::default(),
        };
        let own = replay.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let own = own.clone();
                std::thread::spawn(move || own.answer(stream));
            }
        });
        replay
    }

    /// More to play.
    pub(crate) fn then(&self, more: Vec<(&'static str, Play)>) {
        self.script.lock().unwrap().extend(more);
    }

    /// How many requests there were for paths with this in them.
    pub(crate) fn count(&self, part: &str) -> usize {
        self.asked
            .lock()
            .unwrap()
            .iter()
            .filter(|path| path.contains(part))
            .count()
    }

    fn answer(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut asked = path.clone();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                break;
            }
            if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("authorization")
            {
                asked.extend([" ", value.trim_end()]);
            }
        }
        self.asked.lock().unwrap().push(asked);
        if path == "/api/v1/namespaces/kube-system" {
            whole(&mut stream, 200, "", SYSTEM.as_bytes());
            return;
        }
        let play = {
            let mut script = self.script.lock().unwrap();
            let found = script.iter().position(|(part, _)| path.contains(part));
            found.and_then(|found| script.remove(found))
        };
        match play {
            Some((_, Play::Whole(status, headers, body))) => {
                whole(&mut stream, status, headers, body.as_bytes())
            }
            Some((_, Play::Zipped(parts))) => {
                let body: Vec<u8> = parts.iter().flat_map(|part| zip(part)).collect();
                whole(&mut stream, 200, "Content-Encoding: gzip\r\n", &body);
            }
            Some((_, Play::Stream(pieces))) => {
                begin(&mut stream, "");
                pieces
                    .iter()
                    .for_each(|piece| chunk(&mut stream, piece.as_bytes()));
                // Until the other end goes away.
                let _ = reader.read_line(&mut String::new());
            }
            Some((_, Play::Live(pieces))) => {
                begin(&mut stream, "");
                for piece in pieces.lock().unwrap().iter() {
                    chunk(&mut stream, piece.as_bytes());
                }
            }
            Some((_, Play::ZippedStream(pieces))) => {
                begin(&mut stream, "Content-Encoding: gzip\r\n");
                pieces
                    .iter()
                    .for_each(|piece| chunk(&mut stream, &zip(piece)));
                let _ = stream.write_all(b"0\r\n\r\n");
            }
            Some((_, Play::Cut(pieces))) => {
                begin(&mut stream, "");
                pieces
                    .iter()
                    .for_each(|piece| chunk(&mut stream, piece.as_bytes()));
            }
            None => whole(&mut stream, 503, "Retry-After: 1\r\n", b"{}"),
        }
    }
}

fn whole(stream: &mut TcpStream, status: u16, headers: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status} X\r\nAudit-Id: 1\r\nCache-Control: no-cache, private\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

fn begin(stream: &mut TcpStream, headers: &str) {
    let head = format!(
        "HTTP/1.1 200 OK\r\nAudit-Id: 1\r\nCache-Control: no-cache, private\r\nContent-Type: application/json\r\n{headers}Transfer-Encoding: chunked\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes());
}

fn chunk(stream: &mut TcpStream, bytes: &[u8]) {
    let _ = stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes());
    let _ = stream.write_all(bytes);
    let _ = stream.write_all(b"\r\n");
    let _ = stream.flush();
}

fn zip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}
