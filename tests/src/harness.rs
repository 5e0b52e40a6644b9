//! The fuzz harnesses: functions that take any bytes and must not panic.
//!
//! A harness feeds the bytes to one decoder, or reads operations from them and compares the outcome
//! with a plain model. [`TARGETS`] lists them all. To add one: a file here, a line in the list, a
//! program of the same name in `tests/fuzz`, and a seed in `tests/fuzz/corpus`; a test compares the four.

pub mod compact_event;
pub mod field_selector;
pub mod input;
pub mod json_scan;
pub mod label_selector;
pub mod link_frame;
pub mod link_peer;
pub mod link_sessions;
pub mod operations;
pub mod projection;
mod selector;

/// A harness and its name in `tests/fuzz`.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the fuzz target and of its corpus folder.
    pub name: &'static str,
    /// The harness.
    pub run: fn(&[u8]),
    /// How many inputs of each kind an ordinary test run tries.
    pub inputs: u64,
}

/// Harnesses that take a millisecond at most, unoptimised.
const QUICK: u64 = 5_000;
/// Those that take some dozens.
const SLOW: u64 = 150;

/// Every harness.
pub const TARGETS: &[Target] = &[
    Target {
        name: "compact_event",
        run: compact_event::run,
        inputs: QUICK,
    },
    Target {
        name: "field_selector",
        run: field_selector::run,
        inputs: QUICK,
    },
    Target {
        name: "input",
        run: input::run,
        inputs: QUICK,
    },
    Target {
        name: "json_scan",
        run: json_scan::run,
        inputs: QUICK,
    },
    Target {
        name: "label_selector",
        run: label_selector::run,
        inputs: QUICK,
    },
    Target {
        name: "link_frame",
        run: link_frame::run,
        inputs: QUICK,
    },
    Target {
        name: "link_node",
        run: link_peer::node,
        inputs: QUICK,
    },
    Target {
        name: "link_serve",
        run: link_peer::serve,
        inputs: QUICK,
    },
    Target {
        name: "link_sessions",
        run: link_sessions::run,
        inputs: SLOW,
    },
    Target {
        name: "operations",
        run: operations::run,
        inputs: QUICK,
    },
    Target {
        name: "projection",
        run: projection::run,
        inputs: QUICK,
    },
];
