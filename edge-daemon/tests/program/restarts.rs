//! Restarts that nodes report: kept by name, counted once, and passed on through relays that are killed and upstreams that are away.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant as Wall};

use ringwatch_core::link::frame::{Cause, Restart};
use ringwatch_core::link::node::{Config, Security, Session};
use ringwatch_core::link::{PresharedKey, Seed};
use ringwatch_core::time::Instant;

use crate::support::{PATIENCE, Site, free_port, until};

const PANIC: Restart<'static> = Restart {
    node: "",
    boot: 3,
    cause: Cause::Panic,
    detail: "panicked at src/main.rs:40:9",
};
const COUNTED: &str = "ringwatch_edge_node_restarts_total{listener=\"link\",cause=\"panic\"}";

/// A node that wants nothing, and says goodbye when its restart is noted.
fn tell(site: &Site, name: &str, key_file: &Path, restart: &Restart<'_>) {
    let hex = fs::read_to_string(key_file).unwrap();
    let bytes = (0..32).map(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap());
    let key: [u8; 32] = bytes.collect::<Vec<_>>().try_into().unwrap();
    let key = PresharedKey::new(key);
    let begun = Wall::now();
    let now = || Instant::from_millis(begun.elapsed().as_millis() as u64);
    let config = Config::new(name, Security::Sealed(&key));
    let mut session = Session::<1, 512, 0, 0>::new(config, &[], [], Seed::new([5; 32]), now());
    let mut stream = until("the relay listens", || {
        TcpStream::connect(("127.0.0.1", site.link)).ok()
    });
    let patience = Some(Duration::from_millis(20));
    stream.set_read_timeout(patience).unwrap();
    let mut wire = [0; 600];
    while !session.noted() {
        assert!(begun.elapsed() < PATIENCE, "not noted");
        assert_eq!(session.ended(), None);
        while let Some(bytes) = session.poll_output(&[], now(), &mut wire) {
            stream.write_all(bytes).unwrap();
        }
        if let Some(bytes) = session.report(restart, &mut wire) {
            stream.write_all(bytes).unwrap();
        }
        match stream.read(&mut wire) {
            Ok(0) => panic!("closed"),
            Ok(len) => session.receive(&wire[..len], &mut [], now()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// What `/nodes` says of a node, its name left out.
fn listed(site: &Site, name: &str) -> Option<String> {
    let body = site.get("/nodes")?.body;
    let line = body.lines().find(|line| line.starts_with(name))?;
    Some(line[name.len()..].trim().to_owned())
}

#[test]
fn they_are_kept_counted_and_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let watch = "resource = \"devices.example.com\"";
    // Whoever is above the upper one is never there.
    let nowhere = format!(
        "link = \"127.0.0.1:{}\"\nname = \"upper\"\nkey-file = \"any.key\"",
        free_port()
    );
    let upper = Site::new(&folder.path().join("upper"), &nowhere, watch);
    fs::write(upper.folder.join("any.key"), "07".repeat(32)).unwrap();
    let key = upper.add("gateway", "*");
    let upstream = format!(
        "link = \"127.0.0.1:{}\"\nname = \"gateway\"\nkey-file = {key:?}",
        upper.link
    );
    let lower = Site::new(&folder.path().join("lower"), &upstream, watch);
    let key = lower.add("heater", "*");
    lower.add("quiet", "*");

    let running = lower.run();
    tell(&lower, "heater", &key, &PANIC);
    let last = listed(&lower, "heater").unwrap();
    assert!(
        last.ends_with("panic, boot 3: panicked at src/main.rs:40:9"),
        "{last}"
    );
    assert!(listed(&lower, "quiet").unwrap().ends_with('-'));
    // It has not heard that it was noted, and says it again.
    tell(&lower, "heater", &key, &PANIC);
    assert_eq!(lower.metric(COUNTED), 1);

    // Nobody above has heard of it. What is on disk outlives the relay.
    let saved = lower.folder.join("state/restarts");
    let passed_on = || Some(*fs::read(&saved).ok()?.first()? == 1);
    until("it is saved", || (passed_on() == Some(false)).then_some(()));
    running.kill();
    let running = lower.run();
    let above = upper.run();
    let line = until("it is passed on", || listed(&upper, "gateway/heater"));
    assert!(
        line.ends_with("panic, boot 3: panicked at src/main.rs:40:9"),
        "{line}"
    );
    assert_eq!(upper.metric(COUNTED), 1);
    until("that is saved too", || {
        (passed_on() == Some(true)).then_some(())
    });

    // Once is enough, and the next one is another.
    running.kill();
    let _running = lower.run();
    let next = Restart {
        boot: 4,
        cause: Cause::Watchdog,
        detail: "",
        ..PANIC
    };
    tell(&lower, "heater", &key, &next);
    until("the next is passed on", || {
        listed(&upper, "gateway/heater")?
            .ends_with("watchdog, boot 4")
            .then_some(())
    });
    assert_eq!(upper.metric(COUNTED), 1);
    drop(above);
}
