//! Server, relay, relay and a hundred nodes as real programs: whatever is killed or cut off in between, each node has in the end what
//! the server has, selected and projected, by digest and by value.
//!
//! `RINGWATCH_WRITES` says how many writes.

mod programs;

use std::fmt::Write;
use std::fs;

use programs::{Nodes, Relay, Server, until};
use ringwatch_core::digest::Digest;
use ringwatch_core::json::Limits;
use ringwatch_core::projection::Projection;
use ringwatch_core::revision::Revision;
use ringwatch_core::selector::LabelSelector;
use serde_json::Value;

const GATEWAY: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const NODES: &str = "2222222222222222222222222222222222222222222222222222222222222222";

/// What a group of nodes wants.
struct Group {
    name: &'static str,
    count: usize,
    labels: &'static str,
    namespace: Option<&'static str>,
    show: &'static str,
    nodes: Nodes,
}

/// Random enough, and the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

fn write(server: &Server, dice: &mut Dice) {
    let namespace = ["default", "yard"][dice.below(2) as usize];
    let name = format!("thing-{}", dice.below(100));
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let (color, value) = (
        ["red", "green", "blue"][dice.below(3) as usize],
        dice.below(1_000_000),
    );
    let object = format!(
        r#"{{"metadata":{{"name":"{name}","labels":{{"color":"{color}"}}}},"data":{{"value":"{value}","note":"{}"}}}}"#,
        "x".repeat(dice.below(900) as usize)
    );
    // What is there already is changed, what is not is made; either may be refused, which is as good.
    let done = match dice.below(5) {
        0 => server.ask("DELETE", &format!("{path}/{name}"), ""),
        1 | 2 => server.ask("PATCH", &format!("{path}/{name}"), &object),
        _ => server.ask("POST", &path, &object),
    };
    assert!(done.is_some_and(|(status, _)| status < 500));
}

/// The line that a node of the group would report when it has what the server has; without the revision, which goes on.
fn expected(server: &Server, group: &Group) -> String {
    let path = match group.namespace {
        Some(namespace) => format!("/api/v1/namespaces/{namespace}/configmaps"),
        None => "/api/v1/configmaps".to_owned(),
    };
    let (status, body) = server.ask("GET", &path, "").expect("the server answers");
    assert_eq!(status, 200);
    let list: Value = serde_json::from_str(&body).expect("a list");
    let labels = LabelSelector::<_>::parse(group.labels).expect("a selector");
    let fields = Projection::<_>::parse(group.show).expect("a projection");
    let (mut objects, mut digest, mut values) = (0, Digest::EMPTY, Digest::EMPTY);
    for item in list["items"].as_array().expect("items") {
        let metadata = &item["metadata"];
        if !labels.matches(|key| metadata["labels"][key].as_str()) {
            continue;
        }
        let key = format!(
            "{}/{}",
            metadata["namespace"].as_str().unwrap(),
            metadata["name"].as_str().unwrap()
        );
        let revision: u64 = metadata["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        let mut buffer = [0; 256];
        let projected =
            fields.project(item.to_string().as_bytes(), &Limits::default(), &mut buffer);
        let body = projected.expect("it fits").bytes;
        objects += 1;
        digest.add(&key, Revision::new(revision));
        values = values.plus(ringwatch_edge::node::values(
            [(key.as_str(), body)].into_iter(),
        ));
    }
    format!("objects {objects} digest {digest} values {values} ")
}

#[test]
fn every_node_ends_up_with_what_the_server_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let keys = path.join("keys.toml");
    fs::write(
        &keys,
        format!("[gateway]\nkey = \"{GATEWAY}\"\nallow = [\"configmaps\"]\n"),
    )
    .unwrap();
    let node_key = path.join("node.key");
    fs::write(&node_key, NODES).unwrap();
    let mut server = Server::start(path, &keys);
    let yard = r#"{"metadata":{"name":"yard"}}"#;
    assert_eq!(
        server.ask("POST", "/api/v1/namespaces", yard).unwrap().0,
        201
    );

    let wants = [
        ("all", 20, "", None, "data.value:text(8)"),
        (
            "red",
            20,
            "color=red",
            None,
            "data.value:text(8),data.note:text(4)",
        ),
        (
            "some",
            20,
            "color in (green,blue)",
            Some("yard"),
            "metadata.name:text(20)",
        ),
        (
            "rest",
            20,
            "color!=red",
            Some("default"),
            "data.value:text(8)",
        ),
        ("none", 20, "!color", None, "data.value:text(8)"),
    ];
    let mut known = format!("[gateway]\nkey = \"{GATEWAY}\"\nallow = [\"configmaps\"]\n");
    for (name, count, ..) in wants {
        for index in 0..count {
            writeln!(
                known,
                "[{name}-{index}]\nkey = \"{NODES}\"\nallow = [\"configmaps\"]"
            )
            .unwrap();
        }
    }
    let mut first = Relay::start(
        &path.join("first"),
        "gateway",
        GATEWAY,
        server.link,
        &known,
        "configmaps",
    );
    let mut second = Relay::start(
        &path.join("second"),
        "gateway",
        GATEWAY,
        first.link,
        &known,
        "configmaps",
    );
    let groups = wants.map(|(name, count, labels, namespace, show)| {
        let mut asks = vec![
            "--resource",
            "configmaps",
            "--labels",
            labels,
            "--show",
            show,
        ];
        if let Some(namespace) = namespace {
            asks.extend(["--namespace", namespace]);
        }
        // When one relay is gone they go to the other, with what they have.
        let nodes = Nodes::start(name, &node_key, count, &[second.link, first.link], &asks);
        Group {
            name,
            count,
            labels,
            namespace,
            show,
            nodes,
        }
    });

    let writes: u64 =
        std::env::var("RINGWATCH_WRITES").map_or(2_000, |text| text.parse().expect("a number"));
    let mut dice = Dice(0x5eed);
    let phases = 10;
    for phase in 0..phases {
        for _ in 0..writes / phases {
            write(&server, &mut dice);
        }
        match phase {
            1 | 6 => second.program.kill(),
            2 => second.program.start(),
            3 => first.program.kill(),
            4 => {
                first.program.start();
                first.program.signal("HUP");
            }
            5 => {
                server.program.kill();
                server.program.start();
                server.until_ready();
            }
            7 => {
                first.program.kill();
                second.program.start();
            }
            8 => first.program.start(),
            _ => {}
        }
    }
    for group in &groups {
        let expected = expected(&server, group);
        let count = group.count;
        until(
            &format!("{count} nodes of {} with {expected}", group.name),
            || {
                let last = group.nodes.last.lock().expect("not poisoned");
                let right = last
                    .values()
                    .filter(|line| line.contains(&expected))
                    .count();
                if right < count {
                    // What they have instead is of use when time is up.
                    let other = last.iter().find(|(_, line)| !line.contains(&expected));
                    fs::write(path.join("other"), format!("{right}: {other:?}")).unwrap();
                }
                (right == count).then_some(())
            },
        );
    }
}
