//! The node as a program of this machine, on a TAP device.
//!
//! Making one takes rights. So that nobody need have them, and nothing of this machine's network is touched, the test runs itself once more in a network of its own, in which it may do
//! anything. Where that is not allowed it fails: `cargo xtask test` looks before, leaves it out there, and says so.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::given::{KEY, PROJECTION};
use crate::said::Said;
use crate::site::Site;

const INSIDE: &str = "RINGWATCH_IN_OWN_NETWORK";
const TAP: &str = "tap0";
/// This machine, at the other end of the cable.
const HERE: [u8; 4] = [10, 0, 3, 2];

#[test]
fn the_node_on_this_machine_sees_what_kubectl_wrote() {
    if env::var_os(INSIDE).is_none() {
        return enter("host::the_node_on_this_machine_sees_what_kubectl_wrote");
    }
    for command in [
        "link set lo up",
        &format!("tuntap add dev {TAP} mode tap"),
        &format!("address add 10.0.3.2/24 dev {TAP}"),
        &format!("link set {TAP} up"),
    ] {
        assert!(succeeds(Command::new("ip").args(command.split(' '))));
    }
    let site = Site::start_at("heater", HERE);
    site.write("boiler", 70, "auto");
    let mut node = Host::start(&site);
    node.said.until("set default/boiler 70 auto default");
    node.said.until(&site.in_step());
    site.write("boiler", 71, "hold");
    node.said.until("set default/boiler 71 hold default");
    node.said.until(&site.in_step());
}

/// Runs a test again, as root of a network of its own.
fn enter(test: &str) {
    let this = env::current_exe().expect("the test's own path");
    let again = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net"])
        .arg(this)
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .status();
    assert!(again.is_ok_and(|status| status.success()));
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

/// The program. It ends with this value.
struct Host {
    child: Child,
    said: Said,
}

impl Host {
    fn start(site: &Site) -> Self {
        let settings = site.folder().join("host.toml");
        fs::write(site.folder().join("node.key"), KEY).expect("a key");
        let [a, b, c, d] = HERE;
        let text = format!(
            "name = \"heater\"\nkey-file = \"node.key\"\nupstream = [\"{a}.{b}.{c}.{d}:{}\"]\nsilence = \"3s\"\nsave-every = \"200ms\"\n\
             [network]\naddress = \"10.0.3.15/24\"\n\
             [watch]\nresource = \"leases.coordination.k8s.io\"\nnamespace = \"default\"\nprojection = \"{PROJECTION}\"\n",
            site.port()
        );
        fs::write(&settings, text).expect("settings");
        let mut child = Command::new(program())
            .args(["node", TAP])
            .arg(settings)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program `host`, which `cargo xtask test` builds");
        let output = child.stdout.take().expect("its output");
        let said = Said::of(output, |_| {});
        Self { child, said }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where `cargo xtask test` has built it.
fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../boards/target/debug/host")
}
