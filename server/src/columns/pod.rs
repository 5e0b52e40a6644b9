//! Pods: the one table where much is decided, since a pod's phase says little of its state.

use std::borrow::Cow;

use jiff::Timestamp;

use super::format::{self, NONE};
use super::row::{Cell, Condition, Row};
use super::tree::{Object, Tree};
use super::{BuiltIn, Column, SPEC_AND_STATUS, age};

pub(super) static POD: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text(
            "Ready",
            "How many of the pod's containers are ready, of how many.",
        ),
        Column::text("Status", "The state of the pod in one word."),
        Column::text(
            "Restarts",
            "How often containers of the pod were restarted, and when the last time was.",
        ),
        Column::age(),
        Column::wide("IP", "The pod's first address."),
        Column::wide("Node", "The node the pod runs on."),
        Column::wide(
            "Nominated Node",
            "The node that is being cleared for the pod.",
        ),
        Column::wide(
            "Readiness Gates",
            "How many of the pod's own readiness conditions hold.",
        ),
    ],
    needs: SPEC_AND_STATUS,
    row,
};

static SUCCEEDED: [Condition; 1] = [Condition {
    kind: "Completed",
    reason: "Succeeded",
    message: "The pod has completed successfully.",
}];

static FAILED: [Condition; 1] = [Condition {
    kind: "Completed",
    reason: "Failed",
    message: "The pod failed.",
}];

fn row<'a>(pod: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let (spec, status) = (pod.spec(), pod.status());
    let summary = Summary::of(pod);
    let restarts = match summary.restarts.last {
        Some(last) if summary.restarts.count != 0 => {
            let ago = age::between(last, now);
            format!("{} ({ago} ago)", summary.restarts.count)
        }
        _ => summary.restarts.count.to_string(),
    };
    let address = match status.get("podIPs").items().first() {
        Some(first) => first.get("ip"),
        None => status.get("podIP"),
    };
    let mut row = Row::new([
        pod.name().into(),
        format!("{}/{}", summary.ready, summary.total).into(),
        summary.reason.into(),
        restarts.into(),
        age::of(pod, now).into(),
        address.text_or(NONE).into(),
        spec.get("nodeName").text_or(NONE).into(),
        status.get("nominatedNodeName").text_or(NONE).into(),
        gates(spec, status),
    ]);
    row.conditions = match phase(status) {
        "Succeeded" => &SUCCEEDED,
        "Failed" => &FAILED,
        _ => &[],
    };
    row
}

/// A pod that nothing is known of waits.
fn phase<'a>(status: &'a Tree<'_>) -> &'a str {
    status.get("phase").text_or("Pending")
}

/// What of a pod's state is shown.
struct Summary<'a> {
    ready: usize,
    total: usize,
    reason: Cow<'a, str>,
    restarts: Restarts,
}

/// Restarts of some containers, and the last time one of them ended before a restart.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Tree<'_>) {
        self.count = self
            .count
            .saturating_add(container.get("restartCount").integer());
        let ended = container.at(&["lastState", "terminated", "finishedAt"]);
        self.last = self.last.max(age::parse(ended.text()));
    }
}

impl<'a> Summary<'a> {
    fn of(pod: &'a Object<'_>) -> Self {
        let (spec, status) = (pod.spec(), pod.status());
        let reason = status.get("reason").text_or(phase(status));
        let mut summary = Self {
            ready: 0,
            total: spec.get("containers").items().len(),
            reason: Cow::Borrowed(reason),
            restarts: Restarts::default(),
        };
        let gated = status.get("conditions").items().iter().any(|condition| {
            condition.get("type").text() == "PodScheduled"
                && condition.get("reason").text() == GATED
        });
        if gated {
            summary.reason = Cow::Borrowed(GATED);
        }

        let sidecars = summary.initialize(spec, status);
        // Restarts of containers that only prepared the pod are forgotten once they are done.
        if let Some(sidecars) = sidecars {
            summary.restarts = sidecars;
            summary.run(status);
        }

        if pod.is_going() {
            if status.get("reason").text() == "NodeLost" {
                summary.reason = Cow::Borrowed("Unknown");
            } else if !matches!(phase(status), "Succeeded" | "Failed") {
                summary.reason = Cow::Borrowed("Terminating");
            }
        }
        summary
    }

    /// Takes the init containers into account. Gives the restarts of sidecars if the main
    /// containers may be looked at: all init containers have done their part.
    fn initialize(&mut self, spec: &'a Tree<'_>, status: &'a Tree<'_>) -> Option<Restarts> {
        let declared = spec.get("initContainers").items();
        let is_sidecar = |container: &Tree<'_>| container.get("restartPolicy").text() == "Always";
        self.total += declared.iter().filter(|one| is_sidecar(one)).count();

        let mut sidecars = Restarts::default();
        let mut initializing = false;
        let reported = status.get("initContainerStatuses").items();
        for (place, container) in reported.iter().enumerate() {
            let name = container.get("name").text();
            let sidecar = declared
                .iter()
                .any(|one| one.get("name").text() == name && is_sidecar(one));
            self.restarts.add(container);
            if sidecar {
                sidecars.add(container);
            }
            let (state, waiting) = (container.get("state"), container.at(&["state", "waiting"]));
            let ended = state.get("terminated");
            if !ended.is_null() && ended.get("exitCode").integer() == 0 {
                continue;
            }
            if sidecar && container.get("started").is_true() {
                self.ready += usize::from(container.get("ready").is_true());
                continue;
            }
            let waits_for = waiting.get("reason").text();
            self.reason = Cow::Owned(if !ended.is_null() {
                format!("Init:{}", ending(ended))
            } else if !matches!(waits_for, "" | "PodInitializing") {
                format!("Init:{waits_for}")
            } else {
                format!("Init:{place}/{}", declared.len())
            });
            initializing = true;
            break;
        }
        (!initializing || format::condition(status, "Initialized") == "True").then_some(sidecars)
    }

    /// Takes the main containers into account. The first of them has the last word.
    fn run(&mut self, status: &'a Tree<'_>) {
        let mut running = false;
        let mut failure = None;
        for container in status.get("containerStatuses").items().iter().rev() {
            self.restarts.add(container);
            let state = container.get("state");
            let waits_for = state.at(&["waiting", "reason"]).text();
            let ended = state.get("terminated");
            if !waits_for.is_empty() {
                self.reason = Cow::Borrowed(waits_for);
            } else if !ended.is_null() {
                self.reason = ending(ended);
                if ended.get("exitCode").integer() != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if container.get("ready").is_true() && !state.get("running").is_null() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            let ready = status.get("conditions").items().iter().any(|condition| {
                condition.get("type").text() == "Ready" && condition.get("status").text() == "True"
            });
            self.reason = match failure {
                _ if running && ready => Cow::Borrowed("Running"),
                Some(failure) => failure,
                None if running => Cow::Borrowed("NotReady"),
                None => return,
            };
        }
    }
}

/// The reason of a pod that may not be scheduled yet.
const GATED: &str = "SchedulingGated";

/// Why a container ended.
fn ending<'a>(ended: &'a Tree<'_>) -> Cow<'a, str> {
    match (ended.get("reason").text(), ended.get("signal").integer()) {
        ("", 0) => format!("ExitCode:{}", ended.get("exitCode").integer()).into(),
        ("", signal) => format!("Signal:{signal}").into(),
        (reason, _) => reason.into(),
    }
}

/// How many of the conditions that a pod's author demands are true.
fn gates<'a>(spec: &'a Tree<'_>, status: &'a Tree<'_>) -> Cell<'a> {
    let gates = spec.get("readinessGates").items();
    if gates.is_empty() {
        return NONE.into();
    }
    let open =
        |gate: &&Tree<'_>| format::condition(status, gate.get("conditionType").text()) == "True";
    format!("{}/{}", gates.iter().filter(open).count(), gates.len()).into()
}
