//! A server with one node's key, and `kubectl` to write devices with.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use ringwatch_core::digest::Digest;
use ringwatch_tests::etcd::Folder;

use crate::board::{Machine, Node};
use crate::given::{KEY, admitted, boot_node, boot_relay, simulate, state, variable};
use crate::program::Program;
use crate::programs::{Nodes, Relay, free_port};

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
        Self::start_at(name, [127, 0, 0, 1])
    }

    /// The same, which nodes reach at an address of this machine's.
    pub(crate) fn start_at(name: &'static str, address: [u8; 4]) -> Self {
        let folder = Folder::new();
        let keys = folder.path().join("nodes.toml");
        fs::write(&keys, admitted(name)).expect("a key file");
        let port = free_port();
        let listen = SocketAddr::from((address, port)).to_string();
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

    /// Where files of this site can be.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the node link is.
    pub(crate) const fn port(&self) -> u16 {
        self.port
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
        simulate(self.folder.path(), name, count, upstream)
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
        state(&self.kubectl(&list, ""))
    }

    /// How many restarts for this reason nodes have reported to the server.
    pub(crate) fn restarts(&self, cause: &str) -> u32 {
        let metrics = self.kubectl(&["get", "--raw", "/metrics"], "");
        let counts = metrics
            .lines()
            .filter(|line| line.starts_with("ringwatch_node_restarts_total"));
        let counts = counts.filter(|line| line.contains(&format!("cause=\"{cause}\"")));
        let counts = counts.filter_map(|line| line.rsplit(' ').next()?.parse::<u32>().ok());
        counts.sum()
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

fn object(name: &str, setpoint: u32, mode: &str) -> String {
    format!(
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: {name}, namespace: default}}\n\
         spec: {{leaseDurationSeconds: {setpoint}, holderIdentity: {mode}}}\n"
    )
}
