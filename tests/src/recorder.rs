//! Judges recorded watches by what really happened.
//!
//! ```text
//!   every commit, as storage tells it ──► History ─┐
//!   every relist of the cache ───────────► Bridge ─┴► Timeline ─┐
//!   each watcher's requests and events ──► Session ─────────────┴► check ──► Violation (property, watcher, revision)
//! ```
//!
//! It does no I/O and trusts nothing of the code under test: selections are [matched](Selection) by code of its own, on values
//! that it parses itself. What it knows of the cache is one thing: a relist replaces the changes of a stretch of
//! revisions by their difference. Where that happened is told by [`Bridge`]s; everywhere else every change counts.
//!
//! The nine properties that etcd's robustness tests ask of a watch are each a [`Property`] and a function in `checks`.

mod checks;
mod history;
mod run;
mod selection;
mod session;
mod timeline;

use std::collections::BTreeMap;
use std::fmt;

use ringwatch_core::revision::Revision;

pub use history::{History, Version};
pub use selection::{Demand, Selection};
pub use session::{End, Seen, Session, Start};
pub use timeline::{Bridge, Timeline};

use run::Contents;

/// What a watch promises. The first nine are those of etcd's robustness tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// Only what the selection wants is told.
    Filter,
    /// Revisions never fall, except inside the difference of a relist.
    Ordered,
    /// Nothing is told twice.
    Unique,
    /// The changes of one revision come together, and no bookmark or point to resume from lies between them.
    Atomic,
    /// After a bookmark nothing comes that it covers, and before it everything has.
    Bookmarkable,
    /// A watch after a revision begins with what follows it, or is refused for a reason.
    Resumable,
    /// Added if and only if the object entered the selection.
    IsCreate,
    /// No gap: what happened is told, and nothing else.
    Reliable,
    /// A deletion shows what was there before, at the revision of the change.
    PrevKv,
    /// The initial objects are what the selection wants of one state.
    InitialState,
    /// Who applies all events ends with what storage has.
    FinalState,
}

impl Property {
    /// The name that reports use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Ordered => "ordered",
            Self::Unique => "unique",
            Self::Atomic => "atomic",
            Self::Bookmarkable => "bookmarkable",
            Self::Resumable => "resumable",
            Self::IsCreate => "is-create",
            Self::Reliable => "reliable",
            Self::PrevKv => "prev-kv",
            Self::InitialState => "initial-state",
            Self::FinalState => "final-state",
        }
    }
}

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub property: Property,
    /// To whom.
    pub watcher: usize,
    /// Where in the history.
    pub revision: Revision,
    /// How.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            property,
            watcher,
            revision,
            detail,
        } = self;
        let property = property.as_str();
        write!(
            f,
            "{property}: watcher {watcher} at revision {revision}: {detail}"
        )
    }
}

/// Holds sessions against the timeline. The sessions of one watcher come in their order.
///
/// All watchers must have been given the time to read everything: who is still [open](End::Open) must have it all.
pub fn check(timeline: &Timeline, sessions: &[Session]) -> Vec<Violation> {
    let mut contents = Contents::default();
    let mut violations = Vec::new();
    let mut watchers: BTreeMap<usize, Vec<&Session>> = BTreeMap::new();
    for session in sessions {
        watchers.entry(session.watcher).or_default().push(session);
        violations.extend(checks::session(timeline, session, &mut contents));
    }
    for sessions in watchers.values() {
        violations.extend(checks::final_state(timeline, sessions));
    }
    violations
}

/// What to show of violations: how many of each property, and the first of each.
pub fn summary(violations: &[Violation]) -> String {
    let mut properties: BTreeMap<Property, Vec<&Violation>> = BTreeMap::new();
    for violation in violations {
        let found = properties.entry(violation.property).or_default();
        found.push(violation);
    }
    let lines = properties.values().map(|found| {
        let first: Vec<_> = found.iter().take(3).map(ToString::to_string).collect();
        let name = found.first().map_or("", |first| first.property.as_str());
        let count = found.len();
        format!("VIOLATED {name}: {count} times\n  {}", first.join("\n  "))
    });
    lines.collect::<Vec<_>>().join("\n")
}
