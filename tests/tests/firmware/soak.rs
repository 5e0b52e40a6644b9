//! Fifty changes a second through a relay on a microcontroller to a node on another, of which none may be lost.
//!
//! 20 seconds among the other tests; ten minutes in the step `soak` and by `cargo xtask boards soak --minutes 10`.

use std::env;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use ringwatch_tests::etcd::Folder;

use crate::board::AN385;
use crate::given::{admitted, boot_node, boot_relay};
use crate::programs::Server;
use crate::writer::Writer;

const PER_SECOND: u64 = 50;

#[test]
fn fifty_changes_a_second_and_none_is_lost() {
    let seconds: u64 = match env::var("RINGWATCH_SOAK_SECONDS") {
        Ok(text) => text.parse().expect("a number of seconds"),
        Err(_) => 20,
    };
    let folder = Folder::new();
    let keys = folder.path().join("nodes.toml");
    fs::write(&keys, admitted("gateway")).expect("a key file");
    let server = Server::start(folder.path(), &keys, None);
    let mut writer = Writer::new(server.http);
    writer.create("boiler", 1);
    let (mut relay, port) = boot_relay(folder.path(), &AN385, "gateway", server.link, &["heater"]);
    let mut node = boot_node(folder.path(), &AN385, "heater", port);
    node.until("set default/boiler 1 auto default");

    let begin = Instant::now();
    let last = 1 + seconds * PER_SECOND;
    for setpoint in 2..=last {
        let due = begin + Duration::from_secs(1) * (setpoint - 1) as u32 / PER_SECOND as u32;
        // The pace of the writes, not a wait for something.
        thread::sleep(due.saturating_duration_since(Instant::now()));
        writer.set("boiler", setpoint);
    }
    let took = begin.elapsed();
    // In this order, and each of them.
    for setpoint in 2..=last {
        let line = node.next("set default/boiler");
        assert!(
            line.contains(&format!("boiler {setpoint} auto")),
            "{setpoint} is lost: {line}"
        );
    }
    node.until("in step at ");
    println!(
        "{} changes in {:.0} s, none lost; deepest stack: relay {}, node {}",
        last - 1,
        took.as_secs_f64(),
        relay.last("stack "),
        node.last("stack ")
    );
}
