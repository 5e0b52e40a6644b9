//! Restarts of nodes: logged by name, counted by cause, the last one of each node kept so that one that is told twice counts once.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use ringwatch_core::link::frame::Restart;
use ringwatch_core::link::serve::{Reported, Restarts};
use ringwatch_core::slots::Place;

/// Nodes whose last restart is kept.
const NODES: usize = 128;

/// What nodes have reported since the start.
#[derive(Debug)]
pub(crate) struct NodeRestarts(Mutex<Restarts<Box<[Place<Reported>]>>>);

impl Default for NodeRestarts {
    fn default() -> Self {
        let places = std::iter::repeat_with(|| Place::Free).take(NODES);
        Self(Mutex::new(Restarts::new(places.collect())))
    }
}

impl NodeRestarts {
    /// A node tells of a restart; whether it is noted, which it is.
    pub(super) fn note(&self, from: &str, restart: &Restart<'_>) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.count();
        let noted = known.note(from, restart);
        for reported in known.since(before) {
            let Restart {
                node,
                boot,
                cause,
                detail,
            } = reported.restart();
            tracing::warn!(node, boot, %cause, detail, "a node has restarted");
        }
        noted
    }

    /// What was counted, in the text form of Prometheus.
    pub(crate) fn write(&self, text: &mut String) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = "ringwatch_node_restarts_total";
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "# HELP {name} Restarts that nodes have reported, and why.\n# TYPE {name} counter"
        );
        for (cause, count) in known.by_cause() {
            let _ = writeln!(
                text,
                "{name}{{listener=\"link\",cause=\"{cause}\"}} {count}"
            );
        }
    }
}
