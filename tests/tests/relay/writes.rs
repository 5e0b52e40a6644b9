//! Random writes, by some writers at once, the same each time.

use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use ringwatch_tests::random::Random;

use crate::http::Http;
use crate::programs::PATIENCE;

const WRITERS: u64 = 4;

/// Whether the server is to answer all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Stays,
    /// It is killed meanwhile: who gets no answer asks again.
    Falls,
}

/// Writers that are at it: together so many writes that the server takes, each its part. What it refuses, since it is there or is not, does not count.
pub(crate) fn begin<'scope>(
    scope: &'scope Scope<'scope, '_>,
    port: u16,
    server: Server,
    seed: u64,
    writes: u64,
) -> Vec<ScopedJoinHandle<'scope, ()>> {
    let writer = move |writer| {
        let mut random = Random::new(seed * WRITERS + writer);
        let mut http = Http::new(port);
        let mut taken = 0;
        while taken < writes.div_ceil(WRITERS) {
            taken += u64::from(one(&mut http, server, &mut random));
        }
    };
    (0..WRITERS)
        .map(|number| scope.spawn(move || writer(number)))
        .collect()
}

/// One write; whether the server has taken it.
fn one(http: &mut Http, server: Server, random: &mut Random) -> bool {
    let namespace = ["default", "yard"][random.below(2)];
    let name = format!("thing-{}", random.below(100));
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let color = ["red", "green", "blue"][random.below(3)];
    let value = random.below(1_000_000);
    let note = "x".repeat(random.below(900));
    let object = format!(
        r#"{{"metadata":{{"name":"{name}","labels":{{"color":"{color}"}}}},"data":{{"value":"{value}","note":"{note}"}}}}"#
    );
    let (method, path, body) = match random.below(5) {
        0 => ("DELETE", format!("{path}/{name}"), ""),
        1 | 2 => ("PATCH", format!("{path}/{name}"), object.as_str()),
        _ => ("POST", path, object.as_str()),
    };
    let end = Instant::now() + PATIENCE;
    loop {
        let status = http.ask(method, &path, body).map(|(status, _)| status);
        match status {
            Some(status) if status < 300 => return true,
            Some(status) if status < 500 => return false,
            _ => {}
        }
        let may_wait = server == Server::Falls && Instant::now() < end;
        assert!(may_wait, "{method} {path}: {status:?}");
        thread::sleep(Duration::from_millis(20));
    }
}
