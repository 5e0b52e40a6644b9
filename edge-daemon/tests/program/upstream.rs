//! An API server as an upstream: bodies however they come, cuts, what is too old, and one that falls over.

use std::time::Duration;

use crate::bodies::{PODS, bookmark, event, item, list, live, pod, site};
use crate::nodes::Nodes;
use crate::replay::{Play, Replay};
use crate::support::until;

#[test]
fn bodies_of_a_real_api_server_are_read_however_they_come() {
    let folder = tempfile::tempdir().unwrap();
    // Borders of chunks inside of lines.
    let lines = [
        event("ADDED", &pod("a", 11, "Pending")),
        event("ADDED", &pod("ü", 12, "Running")),
        bookmark(20, true),
        event("MODIFIED", &pod("a", 21, "Running")),
        event("DELETED", &pod("ü", 22, "Running")),
        bookmark(30, false),
    ]
    .concat();
    let pieces: Vec<String> = {
        let letters: Vec<char> = lines.chars().collect();
        letters
            .chunks(97)
            .map(|piece| piece.iter().collect())
            .collect()
    };
    let replay = Replay::start(vec![("sendInitialEvents", Play::Stream(pieces))]);
    let site = site(&folder, &replay);
    let _relay = site.run();
    let answer = site.until_listed(PODS, 1);
    until("bookmark 30", || {
        site.get(PODS)?
            .body
            .contains(r#""resourceVersion":"30""#)
            .then_some(())
    });
    assert!(
        answer.body.contains(r#""resourceVersion":"21""#),
        "{}",
        answer.body
    );
    assert_eq!(answer.header("ringwatch-age"), Some("0"));
    assert_eq!(replay.count("limit="), 0);
}

#[test]
fn pages_compressed_in_several_members_then_a_watch_that_is_too_old() {
    let folder = tempfile::tempdir().unwrap();
    let first = list(40, "next-page", &[item("a", 31), item("b", 32)]);
    let (front, back) = first.split_at(first.len() / 2);
    let gone = event(
        "ERROR",
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 40 (99)","reason":"Expired","code":410}"#,
    );
    let replay = Replay::start(vec![
        (
            "sendInitialEvents",
            Play::Whole(422, "", r#"{"kind":"Status","code":422}"#.to_owned()),
        ),
        (
            "continue=next-page",
            Play::Zipped(vec![list(40, "", &[item("c", 33)])]),
        ),
        (
            "limit=",
            Play::Zipped(vec![front.to_owned(), back.to_owned()]),
        ),
        (
            "resourceVersion=40",
            Play::ZippedStream(vec![event("MODIFIED", &pod("b", 41, "Running")), gone]),
        ),
    ]);
    let site = site(&folder, &replay);
    let key = site.add("dev", "pods/default");
    let _relay = site.run();
    let nodes = Nodes::start(&key, "dev", &[site.link], &["--namespace", "default"]);
    let line = nodes.until_at(41);
    assert!(line.contains("objects 3"), "{line}");
    // What came and went in between is a difference for the node, which stays.
    replay.then(vec![
        (
            "limit=",
            Play::Whole(429, "Retry-After: 1\r\n", "{}".to_owned()),
        ),
        (
            "limit=",
            Play::Whole(200, "", list(99, "", &[item("b", 41), item("d", 90)])),
        ),
        (
            "resourceVersion=99",
            Play::Stream(vec![bookmark(100, false)]),
        ),
    ]);
    let line = nodes.until_at(100);
    assert!(line.contains("objects 2"), "{line}");
    let metrics = site.get("/metrics").unwrap().body;
    assert!(
        metrics.contains("ringwatch_edge_sessions_total 1\n"),
        "the node was dropped:\n{metrics}"
    );
    assert!(metrics.contains(r#"ringwatch_edge_revision{resource="pods",namespace=""} 100"#));
}

#[test]
fn after_a_cut_it_goes_on_without_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let half = event("ADDED", &pod("b", 12, "Running"));
    let replay = Replay::start(vec![
        (
            "sendInitialEvents",
            Play::Cut(vec![
                event("ADDED", &pod("a", 10, "Running")),
                bookmark(11, true),
                half[..60].to_owned(),
            ]),
        ),
        (
            "resourceVersion=11",
            Play::Whole(503, "Retry-After: 1\r\n", "{}".to_owned()),
        ),
        (
            "resourceVersion=11",
            Play::Stream(vec![half.clone(), bookmark(13, false)]),
        ),
    ]);
    let site = site(&folder, &replay);
    let _relay = site.run();
    site.until_listed(PODS, 2);
    assert_eq!(
        (replay.count("sendInitialEvents"), replay.count("limit=")),
        (1, 0)
    );
}

#[test]
fn the_upstream_is_there_while_one_watch_of_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let pieces = vec![event("ADDED", &pod("a", 10, "Running")), bookmark(11, true)];
    // The streams end when these are dropped.
    let (pods, stream) = live(&pieces);
    let (others, other_stream) = live(&pieces);
    let replay = Replay::start(vec![
        ("/pods?", Play::Live(stream)),
        ("/configmaps?", Play::Live(other_stream)),
    ]);
    let site = site(&folder, &replay);
    site.set("[listen]", "[[watch]]\nresource = \"configmaps\"\n[listen]");
    let _relay = site.run();
    site.until_listed(PODS, 1);
    site.until_listed("/api/v1/namespaces/default/configmaps", 1);
    let online = || site.metric("ringwatch_edge_upstream_online");
    assert_eq!(online(), 1);
    // One is cut off, and refused from now on; the other goes on.
    drop(others);
    until("another attempt", || {
        (replay.count("/configmaps?") > 1).then_some(())
    });
    assert_eq!(online(), 1);
    drop(pods);
    until("nothing of it is there", || (online() == 0).then_some(()));
}

#[test]
fn an_upstream_that_falls_over_again_and_again_is_left_in_peace() {
    let folder = tempfile::tempdir().unwrap();
    let first = vec![event("ADDED", &pod("a", 10, "Running")), bookmark(11, true)];
    let mut script = vec![("sendInitialEvents", Play::Cut(first))];
    // Each watch is taken, and is over at once.
    script.extend((0..200).map(|_| ("resourceVersion=11", Play::Cut(Vec::new()))));
    let replay = Replay::start(script);
    let site = site(&folder, &replay);
    let _relay = site.run();
    site.until_listed(PODS, 1);
    until("some attempts", || {
        (replay.count("resourceVersion=11") >= 5).then_some(())
    });
    // Waits are by now of up to six seconds and more; of up to a fifth of one, there would be some thirty.
    std::thread::sleep(Duration::from_secs(3));
    let attempts = replay.count("resourceVersion=11");
    assert!(attempts < 15, "{attempts}");
}
