//! A server that speaks as a kube-apiserver does, with one resource and one watch.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::support::until;

pub(crate) const OBJECTS: u64 = 20;

/// The server. Object `revision % OBJECTS` is what changes at each revision, so what is missed can be told again from its number.
#[derive(Clone, Default)]
pub(crate) struct Upstream(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    watch: Option<TcpStream>,
    lists: usize,
    /// Whether watches are refused, as by a server that is away.
    away: bool,
    /// The last revision, if there were changes since the list.
    latest: u64,
}

fn pod(revision: u64) -> String {
    let name = revision % OBJECTS;
    let mut text = format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"pod-{name}","namespace":"default","uid":"u-{name}","resourceVersion":"{revision}","labels":{{"app":"a"}}}},"spec":{{"what":"{revision:030}","note":""#
    );
    while text.len() < 1021 {
        text.push('x');
    }
    text + "\"}}"
}

/// A change, as it is sent.
fn chunk(revision: u64) -> String {
    let line = format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", pod(revision));
    format!("{:x}\r\n{line}\r\n", line.len())
}

impl Upstream {
    pub(crate) fn start(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let own = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let own = own.clone();
                std::thread::spawn(move || own.answer(stream));
            }
        });
        port
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("not poisoned")
    }

    fn answer(&self, mut stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
        let Some(Ok(first)) = lines.next() else {
            return;
        };
        let rest = lines.map_while(Result::ok);
        rest.take_while(|line| !line.is_empty()).for_each(drop);
        let whole = |body: &str| {
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        let status = |status: u16| format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
        let mut state = self.state();
        let answer = if first.contains("kube-system") {
            whole(
                r#"{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"0b6b6c2c-54c6-4d5d-8f6d-0c2d9c0c7e11","resourceVersion":"4"}}"#,
            )
        } else if first.contains("sendInitialEvents") {
            // It does not know the newer way to list.
            status(422)
        } else if state.away {
            status(503)
        } else if first.contains("watch=") {
            let from = first
                .split(['&', '?', ' '])
                .find_map(|part| part.strip_prefix("resourceVersion="));
            let from: u64 = from.and_then(|from| from.parse().ok()).expect("a revision");
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
            let missed: String = (from + 1..=state.latest).map(chunk).collect();
            let _ = stream.set_nodelay(true);
            let _ = stream.write_all((head.to_owned() + &missed).as_bytes());
            state.watch = Some(stream);
            return;
        } else {
            state.lists += 1;
            let items: Vec<_> = (1..=OBJECTS).map(pod).collect();
            whole(&format!(
                r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{OBJECTS}"}},"items":[{}]}}"#,
                items.join(",")
            ))
        };
        let _ = stream.write_all(answer.as_bytes());
    }

    /// So many changes, as fast as they are taken; the last revision.
    pub(crate) fn change(&self, count: u64) -> u64 {
        let (chunks, stream, latest) = {
            let mut state = self.state();
            let first = state.latest.max(OBJECTS) + 1;
            state.latest = first + count - 1;
            let chunks: String = (first..=state.latest).map(chunk).collect();
            let stream = state.watch.as_ref().map(TcpStream::try_clone);
            (chunks, stream, state.latest)
        };
        if let Some(stream) = stream {
            let mut stream = stream.expect("a socket");
            stream.write_all(chunks.as_bytes()).expect("it is read");
        }
        latest
    }

    pub(crate) fn until_watched(&self) {
        until("a watch", || self.state().watch.is_some().then_some(()));
    }

    /// How often everything was listed.
    pub(crate) fn lists(&self) -> usize {
        self.state().lists
    }

    /// It goes away.
    pub(crate) fn cut(&self) {
        let mut state = self.state();
        state.away = true;
        if let Some(stream) = state.watch.take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// It is there again.
    pub(crate) fn heal(&self) {
        self.state().away = false;
    }
}
