//! The columns of kinds that every cluster has. Their API servers compute them and cannot be asked how, so the ones that are looked at most are
//! here, as kubectl's users know them; the states of a pod's init containers are not told apart.

use std::borrow::Cow;

use ringwatch_core::json::{Path, Value};
use ringwatch_core::time::Instant;

use super::{Cell, age};

/// A column whose cells are made of some values of the object.
pub(super) struct Made {
    pub(super) name: &'static str,
    /// Above 0: shown by `-o wide` only.
    pub(super) priority: i32,
    pub(super) paths: &'static [&'static str],
    pub(super) cell: for<'o> fn(&[Option<Value<'o>>], Instant) -> Cell<'o>,
}

const fn made(
    name: &'static str,
    paths: &'static [&'static str],
    cell: for<'o> fn(&[Option<Value<'o>>], Instant) -> Cell<'o>,
) -> Made {
    Made {
        name,
        priority: 0,
        paths,
        cell,
    }
}

const AGE: Made = made("Age", &["metadata.creationTimestamp"], ago);

/// For kinds of which nothing else is known.
pub(super) static AGE_ONLY: [Made; 1] = [AGE];

/// The columns of a kind, besides its name.
pub(super) fn columns(group: &str, plural: &str) -> &'static [Made] {
    match (group, plural) {
        ("", "configmaps") => &CONFIG_MAPS,
        ("", "events") => &EVENTS,
        ("", "namespaces") => &NAMESPACES,
        ("", "nodes") => &NODES,
        ("", "pods") => &PODS,
        ("", "podtemplates") => &POD_TEMPLATES,
        ("", "secrets") => &SECRETS,
        ("", "services") => &SERVICES,
        ("apps", "daemonsets") => &DAEMON_SETS,
        ("apps", "deployments") => &DEPLOYMENTS,
        ("apps", "replicasets") => &REPLICA_SETS,
        ("apps", "statefulsets") => &STATEFUL_SETS,
        ("coordination.k8s.io", "leases") => &LEASES,
        _ => &AGE_ONLY,
    }
}

static CONFIG_MAPS: [Made; 2] = [made("Data", &["data", "binaryData"], entries), AGE];

static SECRETS: [Made; 3] = [
    made("Type", &["type"], |found, _| text_or(found, "Opaque")),
    made("Data", &["data"], entries),
    AGE,
];

static NAMESPACES: [Made; 2] = [
    made("Status", &["status.phase"], |found, _| {
        text_or(found, "Active")
    }),
    AGE,
];

static LEASES: [Made; 2] = [
    made("Holder", &["spec.holderIdentity"], |found, _| {
        text_or(found, "")
    }),
    AGE,
];

static EVENTS: [Made; 5] = [
    made(
        "Last Seen",
        &["lastTimestamp", "eventTime", "metadata.creationTimestamp"],
        ago,
    ),
    made("Type", &["type"], |found, _| text_or(found, "")),
    made("Reason", &["reason"], |found, _| text_or(found, "")),
    made(
        "Object",
        &["involvedObject.kind", "involvedObject.name"],
        |found, _| {
            let [kind, name] = texts(found);
            Cell::Text(format!("{}/{name}", kind.to_lowercase()).into())
        },
    ),
    made("Message", &["message"], |found, _| text_or(found, "")),
];

static NODES: [Made; 4] = [
    made(
        "Status",
        &["status.conditions", "spec.unschedulable"],
        node_status,
    ),
    made("Roles", &["metadata.labels"], node_roles),
    AGE,
    made(
        "Version",
        &["status.nodeInfo.kubeletVersion"],
        |found, _| text_or(found, ""),
    ),
];

static PODS: [Made; 4] = [
    made(
        "Ready",
        &["spec.containers", "status.containerStatuses"],
        |found, _| {
            let [containers, statuses] = both(found);
            let ready = elements(statuses).filter(|status| {
                at(*status, "ready").and_then(|ready| ready.as_bool()) == Some(true)
            });
            Cell::Text(format!("{}/{}", ready.count(), elements(containers).count()).into())
        },
    ),
    made(
        "Status",
        &[
            "status.phase",
            "status.reason",
            "metadata.deletionTimestamp",
            "status.containerStatuses",
        ],
        pod_status,
    ),
    made("Restarts", &["status.containerStatuses"], |found, _| {
        let [statuses, _] = both(found);
        let restarts = elements(statuses)
            .filter_map(|status| at(status, "restartCount")?.as_i64())
            .sum();
        Cell::Integer(restarts)
    }),
    AGE,
];

static POD_TEMPLATES: [Made; 3] = [
    made("Containers", &["template.spec.containers"], |found, _| {
        joined(found, "name")
    }),
    made("Images", &["template.spec.containers"], |found, _| {
        joined(found, "image")
    }),
    made("Pod Labels", &["template.metadata.labels"], |found, _| {
        let [labels, _] = both(found);
        let labels = labels.iter().flat_map(Value::entries).map(|(name, value)| {
            let name: String = name.chars().collect();
            format!("{name}={}", text(Some(value)))
        });
        list(labels)
    }),
];

static SERVICES: [Made; 5] = [
    made("Type", &["spec.type"], |found, _| {
        text_or(found, "ClusterIP")
    }),
    made("Cluster-IP", &["spec.clusterIP"], |found, _| {
        text_or(found, "<none>")
    }),
    made(
        "External-IP",
        &["spec.externalIPs", "status.loadBalancer.ingress"],
        |found, _| {
            let [own, ingress] = both(found);
            let ingress = elements(ingress).map(|ingress| {
                let address = at(ingress, "ip").or_else(|| at(ingress, "hostname"));
                text(address).into_owned()
            });
            let own = elements(own).map(|own| text(Some(own)).into_owned());
            list(ingress.chain(own))
        },
    ),
    made("Port(s)", &["spec.ports"], |found, _| {
        let [ports, _] = both(found);
        list(elements(ports).map(|port| {
            let raw = |name| at(port, name).map_or("", |value| value.raw());
            let protocol =
                at(port, "protocol").map_or(Cow::Borrowed("TCP"), |value| text(Some(value)));
            match raw("nodePort") {
                "" | "0" => format!("{}/{protocol}", raw("port")),
                node => format!("{}:{node}/{protocol}", raw("port")),
            }
        }))
    }),
    AGE,
];

const READY: Made = made(
    "Ready",
    &["status.readyReplicas", "spec.replicas"],
    |found, _| {
        let [ready, wanted] = both(found).map(|value| value.and_then(|value| value.as_i64()));
        Cell::Text(format!("{}/{}", ready.unwrap_or(0), wanted.unwrap_or(1)).into())
    },
);

static STATEFUL_SETS: [Made; 2] = [READY, AGE];

static DEPLOYMENTS: [Made; 4] = [
    READY,
    made("Up-to-date", &["status.updatedReplicas"], count),
    made("Available", &["status.availableReplicas"], count),
    AGE,
];

static REPLICA_SETS: [Made; 4] = [
    made("Desired", &["spec.replicas"], count),
    made("Current", &["status.replicas"], count),
    made("Ready", &["status.readyReplicas"], count),
    AGE,
];

static DAEMON_SETS: [Made; 6] = [
    made("Desired", &["status.desiredNumberScheduled"], count),
    made("Current", &["status.currentNumberScheduled"], count),
    made("Ready", &["status.numberReady"], count),
    made("Up-to-date", &["status.updatedNumberScheduled"], count),
    made("Available", &["status.numberAvailable"], count),
    AGE,
];

/// How long ago the first time was that is there.
fn ago<'o>(found: &[Option<Value<'o>>], now: Instant) -> Cell<'o> {
    let time = found.iter().flatten().find_map(Value::as_text);
    Cell::Text(age::since(time.and_then(|time| time.plain()), now))
}

/// How many members there are in all.
fn entries<'o>(found: &[Option<Value<'o>>], _: Instant) -> Cell<'o> {
    let entries = found.iter().flatten().flat_map(Value::entries);
    Cell::Integer(i64::try_from(entries.count()).unwrap_or(i64::MAX))
}

/// A number, which is 0 if it is not there.
fn count<'o>(found: &[Option<Value<'o>>], _: Instant) -> Cell<'o> {
    let [value, _] = both(found);
    Cell::Integer(value.and_then(|value| value.as_i64()).unwrap_or(0))
}

/// A text, or another if it is not there.
fn text_or<'o>(found: &[Option<Value<'o>>], otherwise: &'static str) -> Cell<'o> {
    match both(found) {
        [Some(value), _] if value.as_text().is_some() => Cell::Json(value.raw()),
        _ => Cell::Text(otherwise.into()),
    }
}

fn node_status<'o>(found: &[Option<Value<'o>>], _: Instant) -> Cell<'o> {
    let [conditions, unschedulable] = both(found);
    let mut conditions = elements(conditions);
    let ready = conditions.find(|condition| text(at(*condition, "type")) == "Ready");
    let mut status = match ready.map(|ready| text(at(ready, "status"))) {
        Some(Cow::Borrowed("True")) => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if unschedulable.and_then(|value| value.as_bool()) == Some(true) {
        status.push_str(",SchedulingDisabled");
    }
    Cell::Text(status.into())
}

fn node_roles<'o>(found: &[Option<Value<'o>>], _: Instant) -> Cell<'o> {
    let [labels, _] = both(found);
    let labels = labels.iter().flat_map(Value::entries);
    list(labels.filter_map(|(name, value)| {
        let name: String = name.chars().collect();
        match name.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role.to_owned()),
            None if name == "kubernetes.io/role" => Some(text(Some(value)).into_owned()),
            None => None,
        }
    }))
}

/// What keeps a pod from running, or its phase.
fn pod_status<'o>(found: &[Option<Value<'o>>], _: Instant) -> Cell<'o> {
    let [phase, reason] = both(found);
    let deleted = found.get(2).copied().flatten();
    let statuses = elements(found.get(3).copied().flatten());
    let mut running = false;
    let mut trouble = None;
    for status in statuses {
        let reason = ["state.waiting.reason", "state.terminated.reason"]
            .iter()
            .find_map(|path| at(status, path));
        running |= at(status, "state.running").is_some();
        trouble = trouble.or(reason);
    }
    let shown = match trouble.map(|reason| text(Some(reason))) {
        // One that has done its work beside others that go on.
        Some(done) if done == "Completed" && running => "Running".into(),
        Some(trouble) => trouble,
        None if reason.is_some() => text(reason),
        None => text(phase),
    };
    Cell::Text(match deleted {
        Some(_) => "Terminating".into(),
        None => shown,
    })
}

/// The texts at a name of each element.
fn joined<'o>(found: &[Option<Value<'o>>], name: &str) -> Cell<'o> {
    let [values, _] = both(found);
    list(elements(values).map(|value| text(at(value, name)).into_owned()))
}

/// Some texts in one cell.
fn list<'o>(texts: impl Iterator<Item = String>) -> Cell<'o> {
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    match texts.as_slice() {
        [] => Cell::Text("<none>".into()),
        texts => Cell::Text(texts.join(",").into()),
    }
}

/// The first two of what was found.
fn both<'o>(found: &[Option<Value<'o>>]) -> [Option<Value<'o>>; 2] {
    let mut found = found.iter().copied();
    [found.next().flatten(), found.next().flatten()]
}

fn texts<'o>(found: &[Option<Value<'o>>]) -> [Cow<'o, str>; 2] {
    both(found).map(text)
}

fn elements<'o>(value: Option<Value<'o>>) -> impl Iterator<Item = Value<'o>> {
    value.into_iter().flat_map(|value| value.elements())
}

fn at<'o>(value: Value<'o>, path: &str) -> Option<Value<'o>> {
    value.get(&Path::parse(path).ok()?)
}

/// A text; empty if it is none.
fn text(value: Option<Value<'_>>) -> Cow<'_, str> {
    match value.and_then(|value| value.as_text()) {
        Some(text) => match text.plain() {
            Some(plain) => plain.into(),
            None => text.chars().collect::<String>().into(),
        },
        None => "".into(),
    }
}
