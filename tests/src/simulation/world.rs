//! The truth: each state that an origin had, and when it came to be.

use std::collections::BTreeMap;
use std::rc::Rc;

use ringwatch_core::digest::Digest;
use ringwatch_core::key::Key;
use ringwatch_core::link::frame::Origin;
use ringwatch_core::link::serve::Content;
use ringwatch_core::object::Object;
use ringwatch_core::revision::Revision;

/// Every key there can be. `a-b/x` sorts before `a/x`.
pub const KEYS: [&str; 10] = [
    "a/x",
    "a/y",
    "a/z",
    "a-b/x",
    "b/x",
    "b/y",
    "b/z",
    "c",
    "d",
    "e/long-name",
];
const COLOURS: [&str; 3] = ["red", "green", "blue"];

/// An object. Its level decides everything about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Thing {
    /// Where it lives.
    pub key: &'static str,
    /// What it is.
    pub level: u8,
    /// Since when.
    pub revision: Revision,
    json: Vec<u8>,
}

impl Thing {
    fn new(key: &'static str, level: u8, revision: Revision) -> Self {
        // Some are longer than a packet, and some longer than a node takes.
        let padding = match level % 16 {
            15 => 900,
            13 | 14 => 300,
            rest => usize::from(rest),
        };
        let (namespace, name) = key.rsplit_once('/').map_or(("", key), |parts| parts);
        let colour = colour(level);
        let padding = "x".repeat(padding);
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","resourceVersion":"{revision}","labels":{{"colour":"{colour}"}}}},"spec":{{"level":{level},"colour":"{colour}","pad":"{padding}"}}}}"#
        );
        Self {
            key,
            level,
            revision,
            json: json.into_bytes(),
        }
    }

    /// Its label `colour`, and its field `spec.colour`.
    pub fn colour(&self) -> &'static str {
        colour(self.level)
    }
}

fn colour(level: u8) -> &'static str {
    COLOURS[usize::from(level % 3)]
}

/// A thing that is shared: hops, rings and states hold the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared(pub Rc<Thing>);

impl Object for Shared {
    fn key(&self) -> Key<'_> {
        Key::checked_before(self.0.key)
    }
    fn revision(&self) -> Revision {
        self.0.revision
    }
    fn label(&self, key: &str) -> Option<&str> {
        (key == "colour").then_some(self.0.colour())
    }
    fn field(&self, path: &str) -> Option<&str> {
        (path == "spec.colour").then_some(self.0.colour())
    }
}

impl Content for Shared {
    fn json(&self) -> &[u8] {
        &self.0.json
    }
}

/// What there is, by key.
pub type State = BTreeMap<&'static str, Shared>;

/// A key, before and after.
#[derive(Debug, Clone)]
pub struct Edit {
    /// What was there.
    pub before: Option<Shared>,
    /// What is there now.
    pub after: Option<Shared>,
}

impl Edit {
    /// Whose.
    pub fn key(&self) -> &'static str {
        let thing = self.after.as_ref().or(self.before.as_ref());
        thing.expect("an edit of something").0.key
    }
}

/// An event as a reader is told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Told {
    /// The revision shown.
    pub revision: Revision,
    /// Of what.
    pub key: &'static str,
    /// Whether it is gone.
    pub deleted: bool,
}

/// One state, how it came to be, and when.
#[derive(Debug)]
struct Moment {
    state: State,
    edits: Vec<Edit>,
    at: u64,
}

/// All states of one origin.
#[derive(Debug)]
pub struct World {
    /// Whose revisions these are.
    pub origin: Origin,
    moments: Vec<Moment>,
}

impl World {
    /// An origin with nothing in it.
    pub fn new(origin: u8) -> Self {
        Self {
            origin: Origin([origin; 8]),
            moments: vec![Moment {
                state: State::new(),
                edits: Vec::new(),
                at: 0,
            }],
        }
    }

    /// The last revision.
    pub fn newest(&self) -> Revision {
        Revision::new(self.moments.len() as u64 - 1)
    }

    /// What there was at a revision; what there is, if it is yet to come.
    pub fn at(&self, revision: Revision) -> &State {
        &self.moment(revision).state
    }

    /// What a revision changed: deletions first, then what was put, by key.
    pub fn edits(&self, revision: Revision) -> &[Edit] {
        &self.moment(revision).edits
    }

    /// When the knowledge that ends with a revision became incomplete; `None` if it is complete.
    pub fn outdated_at(&self, revision: Revision) -> Option<u64> {
        let next = self.moments.get(revision.get() as usize + 1)?;
        Some(next.at)
    }

    fn moment(&self, revision: Revision) -> &Moment {
        let last = self.moments.len() - 1;
        &self.moments[(revision.get() as usize).min(last)]
    }

    /// One transaction: each key gets this level, or goes.
    pub fn write(&mut self, now: u64, edits: &[(&'static str, Option<u8>)]) {
        let revision = Revision::new(self.moments.len() as u64);
        let before = &self.moment(self.newest()).state;
        let mut state = before.clone();
        for (key, level) in edits {
            match level {
                None => drop(state.remove(key)),
                Some(level) => {
                    let thing = Thing::new(key, *level, revision);
                    state.insert(key, Shared(Rc::new(thing)));
                }
            }
        }
        let edits = difference(before, &state);
        self.moments.push(Moment {
            state,
            edits,
            at: now,
        });
    }

    /// What of a state is selected.
    pub fn selected(
        &self,
        revision: Revision,
        wants: fn(&Thing) -> bool,
    ) -> impl Iterator<Item = &Rc<Thing>> {
        let things = self.at(revision).values().map(|shared| &shared.0);
        things.filter(move |thing| wants(thing))
    }

    /// The digest of what of a state is selected.
    pub fn digest(&self, revision: Revision, wants: fn(&Thing) -> bool) -> Digest {
        let mut digest = Digest::EMPTY;
        for thing in self.selected(revision, wants) {
            digest.add(thing.key, thing.revision);
        }
        digest
    }

    /// What a watch must be told of the revisions in a range, by revision and key.
    pub fn events(&self, after: Revision, until: Revision, wants: fn(&Thing) -> bool) -> Vec<Told> {
        let mut told = Vec::new();
        for number in after.get() + 1..=until.get().min(self.newest().get()) {
            let revision = Revision::new(number);
            let begun = told.len();
            for edit in self.edits(revision) {
                let wanted = |thing: &Option<Shared>| thing.as_ref().is_some_and(|t| wants(&t.0));
                let deleted = match (wanted(&edit.before), wanted(&edit.after)) {
                    (false, false) => continue,
                    (true, false) => true,
                    (_, true) => false,
                };
                told.push(Told {
                    revision,
                    key: edit.key(),
                    deleted,
                });
            }
            told[begun..].sort_unstable();
        }
        told
    }
}

/// What changed between two states: deletions first, then what was put by revision and key, as a relist enters it.
pub fn difference(before: &State, after: &State) -> Vec<Edit> {
    let gone = before.iter().filter(|(key, _)| !after.contains_key(*key));
    let mut edits: Vec<_> = gone
        .map(|(_, thing)| Edit {
            before: Some(thing.clone()),
            after: None,
        })
        .collect();
    let put = after
        .iter()
        .filter(|(key, thing)| before.get(*key) != Some(thing));
    let mut put: Vec<_> = put
        .map(|(key, thing)| Edit {
            before: before.get(key).cloned(),
            after: Some(thing.clone()),
        })
        .collect();
    put.sort_by_key(|edit| edit.after.as_ref().map(|thing| thing.0.revision));
    edits.append(&mut put);
    edits
}
