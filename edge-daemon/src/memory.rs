//! What the relay will use, structure by structure, before it runs.

use std::fmt::Write;
use std::mem::size_of;

use ringwatch_core::history;
use ringwatch_core::link::serve::Reported;
use ringwatch_core::object::Change;
use ringwatch_core::slots::Place;
use ringwatch_core::store::Slot;

use crate::config::Config;
use crate::downstream::link::{OUT, WholeSession};
use crate::downstream::serial::LONGEST;
use crate::engine::{Heap, KnownNode, Object, Shape, Stored};

type Kept = Object<<Heap as Shape>::Bytes>;

/// A table: each bounded structure, how many places it has, their size, and together.
pub fn table(config: &Config) -> String {
    let mut rows = Vec::new();
    for watch in &config.watches {
        let name = match &watch.namespace {
            Some(namespace) => format!("{}/{namespace}", watch.resource),
            None => watch.resource.clone(),
        };
        let slot = size_of::<Slot<Box<str>, Stored<<Heap as Shape>::Bytes>>>();
        rows.push((format!("{name}: places for objects"), watch.objects, slot));
        rows.push((
            format!("{name}: objects, at most"),
            watch.objects,
            watch.object_bytes,
        ));
        let entry = size_of::<Place<history::Entry<Change<Kept>>>>();
        rows.push((format!("{name}: places for changes"), watch.changes, entry));
        // A change may be the last to have an object as it was.
        rows.push((
            format!("{name}: objects as they were, at most"),
            watch.changes,
            watch.object_bytes,
        ));
        let pending = size_of::<Place<Change<Kept>>>();
        rows.push((format!("{name}: changes coming in"), watch.objects, pending));
    }
    let known = size_of::<Place<KnownNode>>() + 32;
    rows.push((
        "nodes that are known, with their keys".to_owned(),
        config.known,
        known,
    ));
    rows.push((
        "nodes whose last restart is known".to_owned(),
        Heap::NO_RESTARTS.len(),
        size_of::<Place<Reported>>(),
    ));
    // With every subscription, a packet in each direction, and what the node does not take. One subscription, and nothing under way, takes a quarter of it.
    rows.push((
        "nodes that are connected, at most".to_owned(),
        config.connections,
        size_of::<WholeSession>() + OUT,
    ));
    if config.http.is_some() {
        // A pointer for each object of a list, or of what a watch begins with, until it is written.
        let objects = config.watches.iter().map(|watch| watch.objects).max();
        rows.push((
            "lists that programs are being sent, at most".to_owned(),
            config.connections,
            objects.unwrap_or(0) * size_of::<Kept>(),
        ));
    }
    if !config.serial.is_empty() {
        rows.push((
            "nodes on serial lines".to_owned(),
            config.serial.len(),
            size_of::<WholeSession>() + OUT + LONGEST,
        ));
    }
    let mut out = String::new();
    let mut total = 0;
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "{:<64} {:>8} {:>10} {:>14}",
        "structure", "places", "bytes each", "bytes"
    );
    for (name, places, each) in rows {
        let bytes = places.saturating_mul(each);
        total += bytes;
        let _ = writeln!(out, "{name:<64} {places:>8} {each:>10} {bytes:>14}");
    }
    let _ = writeln!(
        out,
        "{:<64} {:>8} {:>10} {total:>14}",
        "in all, at most", "", ""
    );
    out
}
