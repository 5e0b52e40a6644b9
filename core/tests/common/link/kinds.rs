//! What nodes watch, and how they are connected.

use std::time::Duration;

use ringwatch_core::json::Limits;
use ringwatch_core::link::Framing;
use ringwatch_core::link::frame::Mode;
use ringwatch_core::link::node::Wanted;
use ringwatch_core::predicate::Scope;
use ringwatch_core::projection::{self, Projection};

use super::world::Thing;

/// One thing that a node watches.
pub(crate) struct Selection {
    pub(crate) wants: fn(&Thing) -> bool,
    /// How many objects the node has room for.
    pub(crate) places: usize,
    pub(crate) decode: fn(&[u8]) -> Option<u8>,
}

/// A kind of node.
pub(crate) struct Kind {
    pub(crate) framing: Framing,
    pub(crate) sealed: bool,
    pub(crate) wanted: [Wanted<'static>; 2],
    pub(crate) selections: [Selection; 2],
}

const LEVEL: &str = "spec.level:u32";

fn packed(body: &[u8]) -> Option<u8> {
    let ((level,), _) = projection::read::<(Option<u32>,)>(body).ok()?;
    level?.try_into().ok()
}

fn whole(body: &[u8]) -> Option<u8> {
    let mut out = [0; 16];
    let projection = Projection::<_>::parse(LEVEL).expect("a field list");
    packed(
        projection
            .project(body, &Limits::default(), &mut out)
            .ok()?
            .bytes,
    )
}

const SOON: Wanted<'static> = Wanted {
    projection: LEVEL,
    bookmark_every: Duration::from_secs(4),
    ..Wanted::all("things")
};

pub(crate) static KINDS: [Kind; 3] = [
    Kind {
        framing: Framing::Stream,
        sealed: true,
        wanted: [
            SOON,
            Wanted {
                labels: "colour in (red, blue)",
                mode: Mode::Latest,
                credit: 40,
                ..SOON
            },
        ],
        selections: [
            Selection {
                wants: |_| true,
                places: 6,
                decode: packed,
            },
            Selection {
                wants: |thing| thing.colour() != "green",
                places: 6,
                decode: packed,
            },
        ],
    },
    Kind {
        framing: Framing::Serial,
        sealed: false,
        wanted: [
            Wanted {
                scope: Scope::Namespace("a"),
                projection: "",
                credit: 200,
                ..SOON
            },
            Wanted {
                fields: "spec.colour=green",
                ..SOON
            },
        ],
        selections: [
            Selection {
                wants: |thing| thing.key.starts_with("a/"),
                places: 6,
                decode: whole,
            },
            Selection {
                wants: |thing| thing.colour() == "green",
                // Sometimes too few.
                places: 2,
                decode: packed,
            },
        ],
    },
    Kind {
        framing: Framing::Serial,
        sealed: true,
        wanted: [
            Wanted {
                projection: "",
                ..SOON
            },
            Wanted {
                scope: Scope::Object("b/x"),
                mode: Mode::Latest,
                ..SOON
            },
        ],
        selections: [
            Selection {
                wants: |_| true,
                places: 6,
                decode: whole,
            },
            Selection {
                wants: |thing| thing.key == "b/x",
                places: 1,
                decode: packed,
            },
        ],
    },
];
