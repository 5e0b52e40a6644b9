//! A server with one node's key, and `kubectl` to write devices with.
//!
//! The devices are leases: a built-in kind with a number and a text. The node's settings say where in them it finds what it reads.

use std::env;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ringwatch_core::digest::Digest;
use ringwatch_core::revision::Revision;
use ringwatch_settings::provision;
use ringwatch_tests::etcd::Folder;

use crate::board::{Machine, Node};
use crate::program::Program;

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/// Where a lease has a setpoint, a mode and a site.
const PROJECTION: &str =
    "spec.leaseDurationSeconds:f32,spec.holderIdentity:text(8),metadata.namespace:text(16)";

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

    /// Starts the node.
    pub(crate) fn boot(&self, machine: &Machine) -> Node {
        let folder = self.folder.path();
        let (name, port) = (self.name, self.port);
        fs::write(folder.join("node.key"), KEY).expect("a key");
        let settings = folder.join("node.toml");
        let text = format!(
            "name = \"{name}\"\nkey-file = \"node.key\"\nupstream = [\"10.0.2.2:{port}\"]\n\
             silence = \"3s\"\nsave-every = \"200ms\"\n\
             [watch]\nresource = \"leases.coordination.k8s.io\"\nnamespace = \"default\"\nprojection = \"{PROJECTION}\"\n"
        );
        fs::write(&settings, text).expect("settings");
        let mut image = fs::read(machine.image()).expect("the image");
        provision::from_file(&mut image, &settings, seed(name)).expect("an image with settings");
        let filled = folder.join("node.elf");
        fs::write(&filled, image).expect("an image");
        Node::boot(machine, &filled)
    }

    /// Writes a device.
    pub(crate) fn write(&self, name: &str, setpoint: u32, mode: &str) {
        let object = format!(
            "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: {name}, namespace: default}}\n\
             spec: {{leaseDurationSeconds: {setpoint}, holderIdentity: {mode}}}\n"
        );
        self.kubectl(&["apply", "-f", "-"], &object);
    }

    pub(crate) fn delete(&self, name: &str) {
        self.kubectl(&["delete", "lease", name, "--namespace", "default"], "");
    }

    /// What the node says when it has what the API has now.
    pub(crate) fn in_step(&self) -> String {
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
        format!(": {} devices, digest {digest}", items.len())
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

fn admitted(name: &str) -> String {
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
