//! Random writes, by some writers at once, the same each time.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use ringwatch_tests::random::Random;

use crate::http::Http;
use crate::programs::PATIENCE;

const WRITERS: usize = 4;
/// In each of two namespaces.
const NAMES: usize = 100;

/// Whether the server is to answer all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Stays,
    /// It is killed meanwhile: who gets no answer asks again.
    Falls,
}

/// Who writes some of the objects, and nobody else does, so that it knows which are there.
pub(crate) struct Writer {
    number: usize,
    random: Random,
    /// Paths of its objects.
    there: BTreeSet<String>,
}

pub(crate) fn all() -> Vec<Writer> {
    let writer = |number| Writer {
        number,
        random: Random::new(number as u64),
        there: BTreeSet::new(),
    };
    (0..WRITERS).map(writer).collect()
}

impl Writer {
    /// Its part of so many writes that the server takes. What it refuses, after a fall that left the writer in doubt, does not count.
    pub(crate) fn write(&mut self, port: u16, server: Server, writes: usize) {
        let mut http = Http::new(port);
        let mut taken = 0;
        while taken < writes.div_ceil(WRITERS) {
            taken += usize::from(self.one(&mut http, server));
        }
    }

    /// One write; whether the server has taken it.
    fn one(&mut self, http: &mut Http, server: Server) -> bool {
        let random = &mut self.random;
        let namespace = ["default", "yard"][random.below(2)];
        let number = random.below(NAMES / WRITERS) * WRITERS + self.number;
        let folder = format!("/api/v1/namespaces/{namespace}/configmaps");
        let path = format!("{folder}/thing-{number}");
        let color = ["red", "green", "blue"][random.below(3)];
        let value = random.below(1_000_000);
        let note = "x".repeat(random.below(900));
        let object = format!(
            r#"{{"metadata":{{"name":"thing-{number}","labels":{{"color":"{color}"}}}},"data":{{"value":"{value}","note":"{note}"}}}}"#
        );
        let (method, at, body) = match (self.there.contains(&path), random.below(4)) {
            (false, _) => ("POST", &folder, object.as_str()),
            (true, 0) => ("DELETE", &path, ""),
            (true, _) => ("PATCH", &path, object.as_str()),
        };
        let end = Instant::now() + PATIENCE;
        let status = loop {
            let status = http.ask(method, at, body).map(|(status, _)| status);
            if let Some(status) = status.filter(|status| *status < 500) {
                break status;
            }
            let may_wait = server == Server::Falls && Instant::now() < end;
            assert!(may_wait, "{method} {at}: {status:?}");
            thread::sleep(Duration::from_millis(20));
        };
        // It is there unless it was deleted, now or, if the writer was wrong, before.
        match (method, status) {
            ("DELETE", 200 | 404) | ("PATCH", 404) => self.there.remove(&path),
            (_, 200 | 201 | 409) => self.there.insert(path),
            _ => panic!("{method} {at}: {status}"),
        };
        status < 300
    }
}
