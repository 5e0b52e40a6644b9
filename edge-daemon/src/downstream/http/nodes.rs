//! `/nodes`: what an operator sees of the nodes.

use std::fmt::Write;

use ringwatch_core::link::frame::Restart;
use ringwatch_core::link::serve::Reported;

use crate::downstream::link::Present;
use crate::hub::Hub;

/// The nodes: how far each is, how far that is behind, how long ago it was heard, and why it last restarted by itself. Then those that another relay has told of.
pub(super) fn table(hub: &Hub, present: &Present) -> String {
    let relay = hub.relay.borrow();
    let now = hub.clock.now();
    let newest = relay
        .tracks()
        .iter()
        .map(|track| track.revision())
        .max()
        .unwrap_or_default();
    let mut out = format!(
        "{:<32} {:<10} {:>12} {:>10} {:>12}  {}\n",
        "NODE", "CONNECTED", "REVISION", "BEHIND", "HEARD", "LAST RESTART"
    );
    let restarts = relay.restarts();
    let present = present.borrow();
    for name in relay.policy().names() {
        let here = present
            .iter()
            .map(|here| here.borrow())
            .find(|here| here.node == name);
        let known = relay.nodes().get(name);
        let revision = match &here {
            Some(here) => here.revision,
            None => known.map(|known| known.revision),
        };
        let heard = match (&here, known) {
            (Some(_), _) => "now".to_owned(),
            (None, Some(known)) => format!("{}s ago", now.since(known.seen).as_secs()),
            (None, None) => "never".to_owned(),
        };
        let connected = if here.is_some() { "yes" } else { "no" };
        let number = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
        let behind = number(revision.map(|revision| newest.get().saturating_sub(revision.get())));
        let revision = number(revision.map(|revision| revision.get()));
        let restart = restarts.get(name).map_or("-".to_owned(), restarted);
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{name:<32} {connected:<10} {revision:>12} {behind:>10} {heard:>12}  {restart}"
        );
    }
    let behind = restarts
        .iter()
        .filter(|reported| reported.restart().node.contains('/'));
    for reported in behind {
        let (name, restart) = (reported.restart().node, restarted(reported));
        let _ = writeln!(
            out,
            "{name:<32} {:<10} {:>12} {:>10} {:>12}  {restart}",
            "-", "-", "-", "-"
        );
    }
    out
}

/// A restart in a few words: `panic, boot 3: panicked at src/main.rs:40:9`.
fn restarted(reported: &Reported) -> String {
    let Restart {
        boot,
        cause,
        detail,
        ..
    } = reported.restart();
    match detail {
        "" => format!("{cause}, boot {boot}"),
        detail => format!("{cause}, boot {boot}: {detail}"),
    }
}
