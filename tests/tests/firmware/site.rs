//! A server with one node's key, and `kubectl` to write devices with.
//!
//! The devices are leases: a built-in kind with a number and a text. The node's settings say where in them it finds what it reads.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ringwatch_core::digest::Digest;
use ringwatch_core::revision::Revision;
use ringwatch_settings::provision;
use ringwatch_tests::etcd::Folder;

use crate::board::{Machine, Node};
use crate::program::Program;
use crate::programs::{Nodes, Relay};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/// Where a lease has a setpoint, a mode and a site.
const PROJECTION: &str =
    "spec.leaseDurationSeconds:f32,spec.holderIdentity:text(8),metadata.namespace:text(16)";

/// The same for a relay, which keeps JSON, in the order of paths.
const KEPT: &str =
    "metadata.namespace:json(18),spec.holderIdentity:json(10),spec.leaseDurationSeconds:json(12)";

pub(crate) struct Site {
    folder: Folder,
    server: Program,
    name: &'static str,
    /// Where the node link is.
    port: u16,
}

impl Site {
    /// A server that lets in a node of this name.
    pub(crate) fn start(name: &'static str) -> Self {
        let folder = Folder::new();
        let keys = folder.path().join("nodes.toml");
        fs::write(&keys, admitted(name)).expect("a key file");
        let port = free_port();
        let listen = format!("127.0.0.1:{port}");
        let flags = ["--link-listen", &listen, "--link-keys"];
        let keys = keys.to_str().expect("a path in UTF-8");
        let server = Program::start(&[&flags[..], &[keys]].concat());
        Self {
            folder,
            server,
            name,
            port,
        }
    }

    /// Starts the node that the server lets in.
    pub(crate) fn boot(&self, machine: &Machine) -> Node {
        self.boot_at(machine, self.name, self.port)
    }

    /// Starts a node that connects to a port of this machine.
    pub(crate) fn boot_at(&self, machine: &Machine, name: &str, upstream: u16) -> Node {
        boot_node(self.folder.path(), machine, name, upstream)
    }

    /// Starts a relay for nodes of these names, in place of the node; where it is.
    pub(crate) fn boot_relay(&self, machine: &Machine, nodes: &[&str]) -> (Node, u16) {
        boot_relay(self.folder.path(), machine, self.name, self.port, nodes)
    }

    /// Starts the relay for Linux in place of the node, for nodes of one name.
    pub(crate) fn start_relay(&self, node: &str) -> Relay {
        let folder = self.folder.path().join("relay");
        let (name, port) = (self.name, self.port);
        let upstream =
            format!("link = \"127.0.0.1:{port}\"\nname = \"{name}\"\nkey-file = \"key\"");
        let watch = "resource = \"leases.coordination.k8s.io\"\nnamespace = \"default\"";
        Relay::start(&folder, (&upstream, watch), KEY, &admitted(node), &[])
    }

    /// Simulated nodes, `NAME-0` and so on.
    pub(crate) fn simulate(&self, name: &str, count: usize, upstream: u16) -> Nodes {
        let key = self.folder.path().join("node.key");
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

    /// Writes a device.
    pub(crate) fn write(&self, name: &str, setpoint: u32, mode: &str) {
        self.kubectl(&["apply", "-f", "-"], &object(name, setpoint, mode));
    }

    /// Writes some devices, one change for each.
    pub(crate) fn write_many(&self, count: u32, setpoint: u32) {
        let objects = (0..count).map(|number| object(&format!("lamp-{number}"), setpoint, "auto"));
        let objects: Vec<_> = objects.collect();
        self.kubectl(&["apply", "-f", "-"], &objects.join("---\n"));
    }

    pub(crate) fn delete(&self, name: &str) {
        self.kubectl(&["delete", "lease", name, "--namespace", "default"], "");
    }

    /// What the node says when it has what the API has now.
    pub(crate) fn in_step(&self) -> String {
        let (devices, digest) = self.state();
        format!(": {devices} devices, digest {digest}")
    }

    /// The same of a relay.
    pub(crate) fn relay_in_step(&self) -> String {
        let (objects, digest) = self.state();
        format!(": {objects} objects, digest {digest}")
    }

    /// The same of a simulated node.
    pub(crate) fn simulated_in_step(&self) -> String {
        let (objects, digest) = self.state();
        format!("objects {objects} digest {digest} ")
    }

    /// How many devices the API has now, and their digest.
    fn state(&self) -> (usize, Digest) {
        let list = [
            "get",
            "leases",
            "--namespace",
            "default",
            "--output",
            "json",
        ];
        let list: serde_json::Value =
            serde_json::from_str(&self.kubectl(&list, "")).expect("a list in JSON");
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

    /// The node's key is no longer good.
    pub(crate) fn revoke(&self) {
        fs::write(self.folder.path().join("nodes.toml"), "").expect("a key file");
    }

    /// It is again.
    pub(crate) fn admit(&self) {
        fs::write(self.folder.path().join("nodes.toml"), admitted(self.name)).expect("a key file");
    }

    fn kubectl(&self, arguments: &[&str], input: &str) -> String {
        let mut child = Command::new(variable("RINGWATCH_KUBECTL_NEW"))
            .arg("--kubeconfig")
            .arg(self.server.kubeconfig())
            .args(arguments)
            .env("HOME", self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("kubectl");
        let mut stdin = child.stdin.take().expect("its input");
        stdin.write_all(input.as_bytes()).expect("it reads");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "kubectl {arguments:?}");
        String::from_utf8(output.stdout).expect("text")
    }
}

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

fn object(name: &str, setpoint: u32, mode: &str) -> String {
    format!(
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: {name}, namespace: default}}\n\
         spec: {{leaseDurationSeconds: {setpoint}, holderIdentity: {mode}}}\n"
    )
}

/// The entry of a node in a file of nodes.
pub(crate) fn admitted(name: &str) -> String {
    format!("[{name}]\nkey = \"{KEY}\"\nallow = [\"leases.coordination.k8s.io/default\"]\n")
}

/// Another one for every test. It need not be secret here.
fn seed(name: &str) -> [u8; 32] {
    let mut seed = [1; 32];
    seed.iter_mut()
        .zip(name.bytes())
        .for_each(|(to, from)| *to = from);
    seed
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// What `cargo xtask test` has set.
pub(crate) fn variable(name: &str) -> PathBuf {
    let value = env::var_os(name);
    value
        .unwrap_or_else(|| panic!("{name} is not set: run `cargo xtask test`"))
        .into()
}
