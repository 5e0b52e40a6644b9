//! WATCH: how streams begin, and what they then bring.

use std::sync::{Barrier, Mutex};

use serde_json::{Value, json};

use crate::describe::{self, text, token};
use crate::http::{Opened, Request, Response, open};
use crate::names::Names;
use crate::rows;
use crate::server::Server;

/// Where rows that name no path are asked.
const COLLECTION: &str = "/api/v1/namespaces/w/configmaps";

#[test]
fn watches_begin_as_the_table_says() {
    let server = Server::start(&[]);
    let names = fill(&server);
    let rows = rows::rows(include_str!("../golden/api/watch-start.txt"), 70);
    rows::check(&rows, &names, |query| {
        let opened = begin(&server, query, 1);
        describe(&opened.finish().expect("an answer that ends"))
    });
}

#[test]
fn watches_go_on_as_the_table_says() {
    let server = Server::start(&[]);
    let names = fill(&server);
    let rows = rows::rows(include_str!("../golden/api/watch-live.txt"), 25);
    let found = Mutex::new(vec![String::new(); rows.len()]);
    // Everybody watches before anything happens. A watch that has answered misses nothing.
    let watching = Barrier::new(rows.len() + 1);
    std::thread::scope(|scope| {
        for (index, (query, _)) in rows.iter().enumerate() {
            let (watching, found, server, names) = (&watching, &found, &server, &names);
            scope.spawn(move || {
                let opened = begin(server, &names.fill(query), 3);
                watching.wait();
                let answer = describe(&opened.finish().expect("an answer that ends"));
                found.lock().expect("no panic")[index] = answer;
            });
        }
        watching.wait();
        change(&server);
    });
    rows::compare(&rows, &names, &found.into_inner().expect("no panic"));
}

#[test]
fn watches_from_before_the_ring_are_told_so() {
    let server = Server::start(&["--watch-cache-size", "configmaps=100"]);
    let mut names = Names::default();
    server.write(
        "POST",
        "/api/v1/namespaces",
        &json!({"metadata": {"name": "w"}}),
    );
    for count in 0..149 {
        let made = server.write("POST", COLLECTION, &object(&format!("b-{count}"), "odd"));
        if count == 0 {
            names.set("first", revision(&made));
        }
    }
    let last = revision(&server.write("POST", COLLECTION, &object("a", "odd")));
    names.set("last", last);
    names.set("floor", last - 100);
    let rows = rows::rows(include_str!("../golden/api/watch-expired.txt"), 8);
    rows::check(&rows, &names, |query| {
        let opened = begin(&server, query, 1);
        describe(&opened.finish().expect("an answer that ends"))
    });
}

/// What happens while all watch: see the table.
fn change(server: &Server) {
    let patch = |name: &str, place: &str| {
        let body = json!({"metadata": {"labels": {"place": place}}});
        let request = Request {
            body: body.to_string().into_bytes(),
            ..Request::new("PATCH", &format!("{COLLECTION}/{name}"))
                .header("content-type", "application/merge-patch+json")
        };
        assert_eq!(server.send(&request).status, 200);
    };
    server.write("POST", COLLECTION, &object("f", "even"));
    patch("a", "even");
    patch("d", "odd");
    server.write("DELETE", &format!("{COLLECTION}/c"), &Value::Null);
    let elsewhere = "/api/v1/namespaces/w-b/configmaps";
    server.write("POST", elsewhere, &object("y", "odd"));
}

fn begin(server: &Server, query: &str, seconds: u8) -> Opened {
    let (path, query) = match query.split_once('?') {
        Some((path, query)) => (path, query),
        None if query.starts_with('/') => (query, ""),
        None => (COLLECTION, query),
    };
    let mut target = format!("{path}?{query}");
    if !query.contains("timeoutSeconds") {
        target += &format!("&timeoutSeconds={seconds}");
    }
    open(server.address, &Request::new("GET", &target)).expect("an answer")
}

/// The events in order, or why there are none.
fn describe(response: &Response) -> String {
    if response.status != 200 {
        return describe::answer(response);
    }
    let mut events = vec!["200".to_owned()];
    let body = str::from_utf8(&response.body).expect("UTF-8");
    for line in body.lines() {
        let event: Value = serde_json::from_str(line).expect("one JSON object per line");
        let object = &event["object"];
        let kind = text(&event, "/type");
        let version = text(object, "/metadata/resourceVersion");
        let name = text(object, "/metadata/name");
        events.push(match kind {
            "ERROR" => {
                let code = object["code"]
                    .as_u64()
                    .and_then(|code| u16::try_from(code).ok());
                format!("ERROR {}", describe::failure(code.expect("a code"), object))
            }
            "BOOKMARK" => {
                let end = &object["metadata"]["annotations"]["k8s.io/initial-events-end"];
                let end = if end == "true" { " end of state" } else { "" };
                format!("BOOKMARK {version}{end}")
            }
            "DELETED" => format!("DELETED {name} at {version}"),
            kind => format!("{kind} {name}"),
        });
    }
    events.join(", ").replacen("200,", "200:", 1)
}

/// Config maps a (odd), b (even), c (odd) at `abc`; then b is odd, d (even) comes, b goes: `now`.
fn fill(server: &Server) -> Names {
    let mut names = Names::default();
    for name in ["w", "w-b"] {
        server.write(
            "POST",
            "/api/v1/namespaces",
            &json!({"metadata": {"name": name}}),
        );
    }
    server.write(
        "POST",
        "/api/v1/namespaces/w-b/configmaps",
        &object("z", "odd"),
    );
    let first = server.write("POST", COLLECTION, &object("a", "odd"));
    names.set("none", revision(&first) - 1);
    server.write("POST", COLLECTION, &object("b", "even"));
    let third = server.write("POST", COLLECTION, &object("c", "odd"));
    names.set("abc", revision(&third));
    let changed = server.write("PUT", &format!("{COLLECTION}/b"), &object("b", "odd"));
    names.set("b-odd", revision(&changed));
    let fourth = server.write("POST", COLLECTION, &object("d", "even"));
    names.set("abcd", revision(&fourth));
    server.write("DELETE", &format!("{COLLECTION}/b"), &Value::Null);
    let now = revision(&fourth) + 1;
    names.set("now", now);
    // Nobody else writes: revisions follow each other.
    names.set("a-even", now + 2);
    names.set("d-odd", now + 3);
    names.set("c-gone", now + 4);
    names.set("y-made", now + 5);
    names.set("token", token("/a", revision(&third)));
    names
}

fn object(name: &str, place: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"place": place}}})
}

fn revision(object: &Value) -> i64 {
    text(object, "/metadata/resourceVersion")
        .parse()
        .expect("a revision")
}
