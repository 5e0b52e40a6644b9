//! A relay that has lost its memory and its upstream, and has its disk.

use std::time::Duration;

use crate::bodies::{PODS, bookmark, event, pod, site};
use crate::nodes::Nodes;
use crate::replay::{Play, Replay};
use crate::support::until;

#[test]
fn killed_and_without_upstream_it_serves_what_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let replay = Replay::start(vec![(
        "sendInitialEvents",
        Play::Stream(vec![
            event("ADDED", &pod("a", 10, "Running")),
            event("ADDED", &pod("b", 11, "Running")),
            bookmark(12, true),
            event("DELETED", &pod("b", 13, "Running")),
            event("ADDED", &pod("c", 14, "Running")),
        ]),
    )]);
    let site = site(&folder, &replay);
    let key = site.add("dev", "pods");
    let relay = site.run();
    let nodes = Nodes::start(&key, "dev", &[site.link], &[]);
    let before = nodes.until_at(14);
    let image = site.folder.join("state/pods.image");
    until("the image has it", || {
        let bytes = std::fs::read(&image).ok()?;
        bytes.windows(3).any(|part| part == b"u-c").then_some(())
    });
    drop(nodes);
    relay.kill();
    // The upstream is there, but has nothing to say from now on.
    let began = std::time::Instant::now();
    let relay = site.run();
    let answer = site.until_listed(PODS, 2);
    let took = began.elapsed();
    assert!(
        answer.body.contains(r#"{"resourceVersion":"14"}"#),
        "{}",
        answer.body
    );
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(site.get("/readyz").unwrap().status, 200);
    let nodes = Nodes::start(&key, "dev", &[site.link], &[]);
    let after = nodes.until_at(14);
    let digests = |line: &str| {
        line.split(" objects ")
            .nth(1)
            .unwrap()
            .split(" events")
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(digests(&before), digests(&after));
    // A watch resumes at a revision from before the crash.
    let watched = site
        .get(&format!(
            "{PODS}?watch=true&resourceVersion=12&timeoutSeconds=1"
        ))
        .unwrap();
    assert!(
        watched.body.contains("DELETED") && watched.body.contains(r#""name":"c""#),
        "{}",
        watched.body
    );
    let old = site
        .get(&format!(
            "{PODS}?watch=true&resourceVersion=3&timeoutSeconds=1"
        ))
        .unwrap();
    assert!(old.body.contains(r#""code":410"#), "{}", old.body);
    // Older each second, and it says so.
    until("age", || {
        site.get(PODS)?
            .header("ringwatch-age")?
            .parse::<u64>()
            .ok()
            .filter(|age| *age >= 1)
    });
    drop(nodes);
    relay.kill();
    // A damaged image is set aside, and nothing of the damage is served.
    let mut bytes = std::fs::read(&image).unwrap();
    let middle = bytes.windows(3).position(|part| part == b"u-c").unwrap();
    bytes[middle] ^= 1;
    bytes.extend_from_slice(&[1, 2, 3]);
    std::fs::write(&image, &bytes).unwrap();
    let _relay = site.run();
    let answer = until("an answer", || site.get(PODS));
    assert!(!answer.body.contains("t-c"), "{}", answer.body);
    assert!(site.folder.join("state/pods.damaged").exists());
}
