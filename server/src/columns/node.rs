//! Nodes.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::format::{self, NONE};
use super::row::Row;
use super::tree::{Object, Tree};
use super::{BuiltIn, Column, SPEC_AND_STATUS, age};

pub(super) static NODE: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text(
            "Status",
            "Whether the node is ready, and whether it takes new pods.",
        ),
        Column::text("Roles", "The roles in the node's labels."),
        Column::age(),
        Column::text("Version", "The version of the node's kubelet."),
        Column::wide("Internal-IP", "The node's address inside the cluster."),
        Column::wide("External-IP", "The node's address outside the cluster."),
        Column::wide("OS-Image", "The node's operating system."),
        Column::wide("Kernel-Version", "The node's kernel."),
        Column::wide("Container-Runtime", "What runs containers on the node."),
    ],
    needs: SPEC_AND_STATUS,
    row,
};

fn row<'a>(node: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let (status, info) = (node.status(), node.status().get("nodeInfo"));
    Row::new([
        node.name().into(),
        state(node).into(),
        roles(node.metadata().get("labels")).into(),
        age::of(node, now).into(),
        info.get("kubeletVersion").text().into(),
        address(status, "InternalIP").into(),
        address(status, "ExternalIP").into(),
        info.get("osImage").text_or(UNKNOWN).into(),
        info.get("kernelVersion").text_or(UNKNOWN).into(),
        info.get("containerRuntimeVersion").text_or(UNKNOWN).into(),
    ])
}

const UNKNOWN: &str = "<unknown>";

fn state(node: &Object<'_>) -> String {
    // A node with two conditions of a type is judged by the last.
    let mut conditions = node.status().get("conditions").items().iter().rev();
    let ready = conditions.find(|condition| condition.get("type").text() == "Ready");
    let mut state = match ready.map(|condition| condition.get("status").text()) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if node.spec().get("unschedulable").is_true() {
        state.push_str(",SchedulingDisabled");
    }
    state
}

/// A role is the end of one label's key or the value of another.
fn roles(labels: &Tree<'_>) -> String {
    let roles: BTreeSet<&str> = labels
        .entries()
        .iter()
        .filter_map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => Some(role),
                None => (key == "kubernetes.io/role").then(|| value.text()),
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    format::none_if_empty(format::join(roles.into_iter().map(str::to_owned)))
}

fn address<'a>(status: &'a Tree<'_>, kind: &str) -> &'a str {
    let mut addresses = status.get("addresses").items().iter();
    addresses
        .find(|address| address.get("type").text() == kind)
        .map_or(NONE, |address| address.get("address").text())
}
