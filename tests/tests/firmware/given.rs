//! What nodes and relays are given, on boards and simulated: a name, a key, where to connect and what to watch.
//!
//! The devices are leases: a built-in kind with a number and a text. The node's settings say where in them it finds what it reads.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use ringwatch_core::digest::Digest;
use ringwatch_core::revision::Revision;
use ringwatch_settings::provision;

use crate::board::{Machine, Node};
use crate::programs::{Nodes, free_port};

pub(crate) const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/// Where a lease has a setpoint, a mode and a site.
pub(crate) const PROJECTION: &str =
    "spec.leaseDurationSeconds:f32,spec.holderIdentity:text(8),metadata.namespace:text(16)";

/// The same for a relay, which keeps JSON, in the order of paths.
const KEPT: &str =
    "metadata.namespace:json(18),spec.holderIdentity:json(10),spec.leaseDurationSeconds:json(12)";

/// Starts a node with this name, that connects to a port of this machine.
pub(crate) fn boot_node(folder: &Path, machine: &Machine, name: &str, upstream: u16) -> Node {
    let image = fill(folder, &machine.node(), name, upstream, PROJECTION, "");
    Node::boot(machine, &image, None)
}

/// Starts a relay with this name, for nodes of these names; where it is.
pub(crate) fn boot_relay(
    folder: &Path,
    machine: &Machine,
    name: &str,
    upstream: u16,
    nodes: &[&str],
) -> (Node, u16) {
    let port = free_port();
    let mut serve = format!("[serve]\nport = {port}\n");
    for node in nodes {
        serve += &format!(
            "[[serve.node]]\nname = \"{node}\"\nkey-file = \"node.key\"\nnamespace = \"default\"\n"
        );
    }
    let image = fill(folder, &machine.relay(), name, upstream, KEPT, &serve);
    (Node::boot(machine, &image, Some(port)), port)
}

/// The names of simulated nodes.
pub(crate) fn simulated(name: &str, count: usize) -> Vec<String> {
    match count {
        1 => vec![name.to_owned()],
        count => (0..count)
            .map(|number| format!("{name}-{number}"))
            .collect(),
    }
}

/// Simulated nodes: `NAME`, or `NAME-0` and so on.
pub(crate) fn simulate(folder: &Path, name: &str, count: usize, upstream: u16) -> Nodes {
    let key = folder.join("node.key");
    fs::write(&key, KEY).expect("a key");
    let wants = [
        "--resource",
        "leases.coordination.k8s.io",
        "--namespace",
        "default",
        "--show",
        PROJECTION,
    ];
    Nodes::start(
        name,
        &key,
        count,
        &[format!("127.0.0.1:{upstream}")],
        &wants,
    )
}

/// A copy of an image with settings.
fn fill(
    folder: &Path,
    image: &Path,
    name: &str,
    upstream: u16,
    fields: &str,
    more: &str,
) -> PathBuf {
    fs::write(folder.join("node.key"), KEY).expect("a key");
    let settings = folder.join(format!("{name}.toml"));
    let text = format!(
        "name = \"{name}\"\nkey-file = \"node.key\"\nupstream = [\"10.0.2.2:{upstream}\"]\n\
         silence = \"3s\"\nsave-every = \"200ms\"\n\
         [watch]\nresource = \"leases.coordination.k8s.io\"\nnamespace = \"default\"\nprojection = \"{fields}\"\n{more}"
    );
    fs::write(&settings, text).expect("settings");
    let mut image = fs::read(image).expect("the image");
    provision::from_file(&mut image, &settings, seed(name)).expect("an image with settings");
    let filled = folder.join(format!("{name}.elf"));
    fs::write(&filled, image).expect("an image");
    filled
}

/// The entry of a node in a file of nodes.
pub(crate) fn admitted(name: &str) -> String {
    format!("[{name}]\nkey = \"{KEY}\"\nallow = [\"leases.coordination.k8s.io/default\"]\n")
}

/// How many devices a list in JSON has, and their digest.
pub(crate) fn state(list: &str) -> (usize, Digest) {
    let list: serde_json::Value = serde_json::from_str(list).expect("a list in JSON");
    let items = list["items"].as_array().expect("items");
    let mut digest = Digest::EMPTY;
    for item in items {
        let text = |name: &str| item["metadata"][name].as_str().expect("a text").to_owned();
        let key = format!("{}/{}", text("namespace"), text("name"));
        let revision = text("resourceVersion").parse().expect("a number");
        digest.add(&key, Revision::new(revision));
    }
    (items.len(), digest)
}

/// Another one for every test. It need not be secret here.
fn seed(name: &str) -> [u8; 32] {
    let mut seed = [1; 32];
    seed.iter_mut()
        .zip(name.bytes())
        .for_each(|(to, from)| *to = from);
    seed
}

/// What `cargo xtask test` has set.
pub(crate) fn variable(name: &str) -> PathBuf {
    let value = env::var_os(name);
    value
        .unwrap_or_else(|| panic!("{name} is not set: run `cargo xtask test`"))
        .into()
}
