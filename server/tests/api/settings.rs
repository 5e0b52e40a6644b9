//! Settings that change what is answered.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::describe;
use crate::http::Request;
use crate::server::Server;

#[test]
fn a_body_may_be_as_long_as_it_was_set() {
    let server = Server::start(&["--max-body-bytes", "1KiB"]);
    let ask = |length: usize| {
        let object = json!({"metadata": {"generateName": "a-"}}).to_string();
        let mut request = Request::new("POST", "/api/v1/namespaces/default/configmaps");
        request.body = format!("{object:length$}").into_bytes();
        describe::answer(&server.send(&request))
    };
    assert_eq!(ask(1_024), "201 ConfigMap");
    let refused = "413 RequestEntityTooLarge: Request entity too large: limit is 1024";
    assert_eq!(ask(1_025), refused);
}

#[test]
fn a_watch_that_names_no_time_ends_as_it_was_set() {
    let server = Server::start(&["--min-request-timeout", "1s"]);
    let start = Instant::now();
    let watched = server.get("/api/v1/namespaces?watch=true&resourceVersion=1000000");
    assert_eq!((watched.status, watched.body.as_slice()), (200, &b""[..]));
    // Up to twice as long, and the machine may be slow; without the setting it would be half an hour.
    let took = start.elapsed();
    assert!(
        (Duration::from_secs(1)..Duration::from_secs(15)).contains(&took),
        "{took:?}"
    );
}

#[test]
fn events_are_kept_as_long_as_was_set() {
    let server = Server::start(&["--event-ttl", "1s"]);
    let events = "/api/v1/namespaces/default/events";
    let event = json!({
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
    });
    server.write("POST", events, &event);
    let mut tries = 0;
    while server.get(&format!("{events}/e")).status != 404 {
        tries += 1;
        assert!(tries < 1_000, "the event is not forgotten");
        std::thread::sleep(Duration::from_millis(10));
    }
}
