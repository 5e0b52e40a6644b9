//! What nodes watch: requests, and whether an object is wanted, by code that has nothing to do with selectors.

use std::time::Duration;

use ringwatch_core::json::Limits;
use ringwatch_core::link::Framing;
use ringwatch_core::link::frame::Mode;
use ringwatch_core::link::node::Wanted;
use ringwatch_core::predicate::Scope;
use ringwatch_core::projection::{self, Projection};

use super::world::Thing;

/// The resource that everybody watches.
pub const RESOURCE: &str = "things";

/// What a node may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Everything.
    All,
    /// What is in namespace `a`.
    OnlyA,
}

impl Policy {
    /// Whether a node may have an object.
    pub fn allows(self, key: &str) -> bool {
        self == Self::All || key.starts_with("a/")
    }

    /// Whether a node may ask for this.
    pub fn permits(self, scope: &Scope<&str>) -> bool {
        match (self, scope) {
            (Self::All, _) | (Self::OnlyA, Scope::Namespace("a")) => true,
            (Self::OnlyA, Scope::Object(key)) => key.starts_with("a/"),
            (Self::OnlyA, _) => false,
        }
    }
}

/// What is wanted of one selection.
pub struct Selection {
    /// Whether it wants an object.
    pub wants: fn(&Thing) -> bool,
    /// How many objects the node has room for.
    pub places: usize,
    /// What it makes of a body.
    pub decode: fn(&[u8]) -> Option<u8>,
    /// Whether whole objects come, which may be too long.
    pub whole: bool,
}

/// Two subscriptions of a node.
pub struct Wish {
    /// What it asks for.
    pub wanted: [Wanted<'static>; 2],
    /// What that means.
    pub selections: [Selection; 2],
}

/// A kind of node.
pub struct Kind {
    /// What carries its bytes.
    pub framing: Framing,
    /// Whether they are sealed.
    pub sealed: bool,
    /// What it may have.
    pub policy: Policy,
    /// What it wants at first, and once its mind has changed.
    pub wishes: [Wish; 2],
}

const LEVEL: &str = "spec.level:u32";

fn packed(body: &[u8]) -> Option<u8> {
    let ((level,), _) = projection::read::<(Option<u32>,)>(body).ok()?;
    level?.try_into().ok()
}

fn whole(body: &[u8]) -> Option<u8> {
    let mut out = [0; 16];
    let projection = Projection::<_>::parse(LEVEL).ok()?;
    let projected = projection.project(body, &Limits::default(), &mut out);
    packed(projected.ok()?.bytes)
}

const SOON: Wanted<'static> = Wanted {
    projection: LEVEL,
    bookmark_every: Duration::from_secs(4),
    ..Wanted::all(RESOURCE)
};

const ALL: Selection = Selection {
    wants: |_| true,
    places: 10,
    decode: packed,
    whole: false,
};
/// Everything, whole.
pub const WHOLE: Selection = Selection {
    decode: whole,
    whole: true,
    ..ALL
};
const IN_A: Selection = Selection {
    wants: |thing| thing.key.starts_with("a/"),
    ..ALL
};
const GREEN: Selection = Selection {
    wants: |thing| thing.colour() == "green",
    ..ALL
};
const NOT_GREEN: Selection = Selection {
    wants: |thing| thing.colour() != "green",
    ..ALL
};

/// The kinds of nodes there are. Eight nodes are made of them.
pub static KINDS: [Kind; 4] = [
    // A node with everything, and one that takes the latest state when it is slow.
    Kind {
        framing: Framing::Stream,
        sealed: true,
        policy: Policy::All,
        wishes: [
            Wish {
                wanted: [
                    SOON,
                    Wanted {
                        labels: "colour in (red, blue)",
                        mode: Mode::Latest,
                        credit: 40,
                        ..SOON
                    },
                ],
                selections: [ALL, NOT_GREEN],
            },
            Wish {
                wanted: [
                    Wanted {
                        labels: "colour=green",
                        ..SOON
                    },
                    Wanted {
                        mode: Mode::Latest,
                        credit: 60,
                        ..SOON
                    },
                ],
                selections: [GREEN, ALL],
            },
        ],
    },
    // Whole objects on a serial line, some too long; and a view with too few places.
    Kind {
        framing: Framing::Serial,
        sealed: false,
        policy: Policy::All,
        wishes: [
            Wish {
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
                        decode: whole,
                        whole: true,
                        ..IN_A
                    },
                    Selection { places: 3, ..GREEN },
                ],
            },
            Wish {
                wanted: [
                    Wanted {
                        projection: "",
                        ..SOON
                    },
                    Wanted {
                        fields: "spec.colour!=green",
                        ..SOON
                    },
                ],
                selections: [
                    WHOLE,
                    Selection {
                        places: 6,
                        ..NOT_GREEN
                    },
                ],
            },
        ],
    },
    // Not sealed, on a stream: its frames can be read on their way.
    Kind {
        framing: Framing::Stream,
        sealed: false,
        policy: Policy::All,
        wishes: [
            Wish {
                wanted: [
                    Wanted {
                        projection: "",
                        credit: 400,
                        ..SOON
                    },
                    Wanted {
                        labels: "colour notin (green)",
                        credit: 64,
                        ..SOON
                    },
                ],
                selections: [WHOLE, NOT_GREEN],
            },
            Wish {
                wanted: [
                    Wanted {
                        labels: "colour=green",
                        credit: 100,
                        ..SOON
                    },
                    Wanted {
                        scope: Scope::Object("b/x"),
                        ..SOON
                    },
                ],
                selections: [
                    GREEN,
                    Selection {
                        wants: |thing| thing.key == "b/x",
                        places: 1,
                        ..ALL
                    },
                ],
            },
        ],
    },
    // A node that may have one namespace only; once it asks for more.
    Kind {
        framing: Framing::Serial,
        sealed: true,
        policy: Policy::OnlyA,
        wishes: [
            Wish {
                wanted: [
                    Wanted {
                        scope: Scope::Namespace("a"),
                        ..SOON
                    },
                    Wanted {
                        scope: Scope::Object("a/y"),
                        mode: Mode::Latest,
                        ..SOON
                    },
                ],
                selections: [
                    IN_A,
                    Selection {
                        wants: |thing| thing.key == "a/y",
                        places: 1,
                        ..ALL
                    },
                ],
            },
            Wish {
                wanted: [
                    SOON,
                    Wanted {
                        scope: Scope::Namespace("a"),
                        labels: "colour=red",
                        ..SOON
                    },
                ],
                selections: [
                    ALL,
                    Selection {
                        wants: |thing| thing.key.starts_with("a/") && thing.colour() == "red",
                        places: 10,
                        ..ALL
                    },
                ],
            },
        ],
    },
];
