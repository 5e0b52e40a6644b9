//! What the first start sets up and the next ones find: keys, settings, the kind `Device` and two devices.

use std::{fs, io::ErrorKind, path::Path, process::Command, time::Instant};

use super::{GATEWAY, HEATER, PATIENCE, Ports, RESOURCE, Site, local};
use crate::{
    command::{Context, Result, stdout},
    places,
};

/// Who may come in at the server, and at the relay.
pub(super) const SERVER_NODES: &str = "server-nodes.toml";
const RELAY_NODES: &str = "relay-nodes.toml";

pub(super) fn key_file(name: &str) -> String {
    format!("{name}.key")
}

/// Keys for relay and node, if they have none yet.
pub(super) fn prepare(site: &Site<'_>, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).context(folder.display())?;
    for (name, nodes) in [(GATEWAY, SERVER_NODES), (HEATER, RELAY_NODES)] {
        let (key, nodes) = (folder.join(key_file(name)), folder.join(nodes));
        // The key is written last.
        if key.exists() && nodes.exists() {
            continue;
        }
        for left in [&key, &nodes] {
            match fs::remove_file(left) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).context(left.display());
                }
                _ => {}
            }
        }
        stdout(
            site.edge()
                .args(["nodes", "add", name, "--allow", RESOURCE, "--file"])
                .arg(nodes)
                .arg("--key-file")
                .arg(key),
        )?;
    }
    Ok(())
}

pub(super) fn relay_settings(link: &str, ports: Ports) -> String {
    let key = key_file(GATEWAY);
    let (nodes, http) = (local(ports.relay), local(ports.http));
    format!(
        "[upstream]\nlink = \"{link}\"\nname = \"{GATEWAY}\"\nkey-file = \"{key}\"\n\
         [[watch]]\nresource = \"{RESOURCE}\"\n\
         [listen]\nlink = \"{nodes}\"\nhttp = \"{http}\"\n\
         [nodes]\nfile = \"{RELAY_NODES}\"\n\
         [state]\ndir = \"relay-state\"\n"
    )
}

/// The kind `Device`, and two devices unless there are some.
pub(super) fn install(site: &Site<'_>, kubeconfig: &Path) -> Result<()> {
    let kubectl = |arguments: &[&str]| {
        let mut command = Command::new(&site.kubectl);
        command.arg("--kubeconfig").arg(kubeconfig).args(arguments);
        stdout(command.current_dir(places::root()))
    };
    // Connections are taken a moment before all is ready.
    let end = Instant::now() + PATIENCE;
    while let Err(failure) = kubectl(&["get", "--raw", "/readyz"]) {
        if Instant::now() > end {
            return Err(failure);
        }
    }
    kubectl(&["apply", "-f", "examples/device.yaml"])?;
    let kind = format!("crd/{RESOURCE}");
    kubectl(&["wait", "--for=condition=Established", &kind])?;
    let devices = kubectl(&["get", "devices", "--all-namespaces", "--output", "name"])?;
    if devices.trim().is_empty() {
        kubectl(&["apply", "-f", "examples/devices.yaml"])?;
    }
    Ok(())
}
