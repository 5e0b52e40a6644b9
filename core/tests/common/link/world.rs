//! The truth, and the hops that keep up with it.

use std::collections::BTreeMap;

use ringwatch_core::history::{self, History};
use ringwatch_core::key::Key;
use ringwatch_core::link::frame::Origin;
use ringwatch_core::link::serve::{Content, Local, Selecting};
use ringwatch_core::object::{Change, Object};
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::store::{Difference, Entry, Slot, Store, Update};
use ringwatch_core::time::Instant;
use ringwatch_core::transition::{EventKind, transition};

pub(crate) const KEYS: [&str; 6] = ["a/x", "a/y", "a-b/x", "b/x", "b/z", "c"];
const COLOURS: [&str; 3] = ["red", "green", "blue"];

/// An object. Its level decides everything about it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thing {
    pub(crate) key: String,
    pub(crate) level: u8,
    pub(crate) revision: Revision,
    json: Vec<u8>,
}

impl Thing {
    pub(crate) fn new(key: &str, level: u8, revision: Revision) -> Self {
        // Some are longer than a packet, and some longer than a node takes.
        let padding = match level % 8 {
            7 => 900,
            5 | 6 => 300,
            _ => usize::from(level % 16),
        };
        let padding = "x".repeat(padding);
        let json = format!(
            r#"{{"metadata":{{"name":"{key}"}},"spec":{{"level":{level},"pad":"{padding}"}}}}"#
        );
        Self {
            key: key.to_owned(),
            level,
            revision,
            json: json.into_bytes(),
        }
    }

    pub(crate) fn colour(&self) -> &'static str {
        COLOURS[usize::from(self.level % 3)]
    }
}

impl Object for Thing {
    fn key(&self) -> Key<'_> {
        Key::parse(&self.key).expect("one of KEYS")
    }
    fn revision(&self) -> Revision {
        self.revision
    }
    fn label(&self, key: &str) -> Option<&str> {
        (key == "colour").then_some(self.colour())
    }
    fn field(&self, path: &str) -> Option<&str> {
        (path == "spec.colour").then_some(self.colour())
    }
}

impl Content for Thing {
    fn json(&self) -> &[u8] {
        &self.json
    }
}

pub(crate) type State = BTreeMap<String, Thing>;
type Shelf = Vec<Slot<String, Thing>>;
type Things = Store<String, Thing, Shelf>;
type Places = Vec<Place<history::Entry<Change<Thing>>>>;
type Ring = History<Change<Thing>, Places>;

/// The truth: the state at each revision of the origin.
pub(crate) struct World {
    pub(crate) origin: Origin,
    states: Vec<State>,
}

impl World {
    pub(crate) fn new(origin: u8) -> Self {
        Self {
            origin: Origin([origin; 8]),
            states: vec![State::new()],
        }
    }

    pub(crate) fn newest(&self) -> Revision {
        Revision::new(self.states.len() as u64 - 1)
    }

    pub(crate) fn at(&self, revision: Revision) -> &State {
        &self.states[revision.get() as usize]
    }

    /// One transaction: each key gets this level, or goes.
    pub(crate) fn write<'k>(&mut self, edits: impl IntoIterator<Item = (&'k str, Option<u8>)>) {
        let revision = Revision::new(self.states.len() as u64);
        let mut state = self.at(self.newest()).clone();
        for (key, level) in edits {
            match level {
                None => drop(state.remove(key)),
                Some(level) => {
                    state.insert(key.to_owned(), Thing::new(key, level, revision));
                }
            }
        }
        self.states.push(state);
    }
}

/// What changed, in the order in which [`Store::replace`] reports it.
fn changes(before: &State, after: &State) -> Vec<Change<Thing>> {
    let gone = before.values().filter(|old| !after.contains_key(&old.key));
    let put = after
        .values()
        .filter(|new| before.get(&new.key) != Some(new));
    let gone = gone.cloned().map(|previous| Change::Delete { previous });
    let put = put.cloned().map(|current| Change::Put {
        previous: before.get(&current.key).cloned(),
        current,
    });
    gone.chain(put).collect()
}

/// An event as a node sees it: whether it is a deletion, the revision, the key.
pub(crate) type Seen = (bool, Revision, String);

/// One entry that went into a hop's ring, and the revision to show for a deletion in it.
struct Told {
    revision: Revision,
    change: Change<Thing>,
    before_gap: Option<Revision>,
}

/// A server or relay: it has followed the world up to some revision.
pub(crate) struct Hop {
    origin: Origin,
    store: Things,
    ring: Ring,
    /// Everything that ever went into the ring.
    told: Vec<Told>,
}

impl Hop {
    pub(crate) fn new(world: &World, places: usize) -> Self {
        Self {
            origin: world.origin,
            store: Store::new(KEYS.map(|_| Slot::FREE).into()),
            ring: History::new(slots(places)),
            told: Vec::new(),
        }
    }

    pub(crate) fn newest(&self) -> Revision {
        self.ring.newest()
    }

    /// Follows the world, transaction by transaction, for at most so many of them.
    pub(crate) fn follow(&mut self, world: &World, most: u64) {
        assert_eq!(self.origin, world.origin);
        let from = self.newest().get();
        for number in from + 1..=world.newest().get().min(from.saturating_add(most)) {
            let revision = Revision::new(number);
            let changes = changes(world.at(revision.previous()), world.at(revision));
            for change in &changes {
                let update = match change {
                    Change::Put { current, .. } => {
                        Update::Put(current.key.clone(), current.clone())
                    }
                    Change::Delete { previous } => Update::Delete(previous.key.clone()),
                };
                self.store.apply(revision, update).expect("room for KEYS");
                self.told.push(Told {
                    revision,
                    change: change.clone(),
                    before_gap: None,
                });
            }
            self.store.advance(revision);
            self.ring.push_all(revision, changes).expect("newer");
        }
    }

    /// Lists the world: its watches get the difference.
    pub(crate) fn relist(&mut self, world: &World) {
        let (before, revision) = (self.newest(), world.newest());
        if revision <= before {
            return;
        }
        let mut found = Vec::new();
        let list = world.at(revision).values().map(|thing| Entry {
            key: thing.key.clone(),
            revision: thing.revision,
            value: thing.clone(),
        });
        let report = |difference: Difference<'_, _, Thing>| found.push(change(difference));
        self.store
            .replace(revision, list, report)
            .expect("sorted, and room for KEYS");
        for change in &found {
            self.told.push(Told {
                revision,
                change: change.clone(),
                before_gap: Some(before),
            });
        }
        self.ring.bridge(revision, found).expect("newer");
    }

    /// Another origin takes the place of the one so far.
    pub(crate) fn reset(&mut self, world: &World) {
        let places = self.ring.capacity();
        *self = Self::new(world, places);
        self.follow(world, u64::MAX);
    }

    pub(crate) fn resize(&mut self, places: usize) {
        self.ring.resize(slots(places));
    }

    pub(crate) fn source(&self) -> Selecting<'_, Store<String, Thing, Shelf>, Places, 32> {
        Local {
            resource: "things",
            origin: self.origin,
            store: &self.store,
            history: &self.ring,
            in_step: Instant::from_millis(0),
        }
        .selecting()
    }

    /// What a watch that selects like this is told of the revisions in a range: whether it is a deletion, revision, key.
    pub(crate) fn events(
        &self,
        after: Revision,
        until: Revision,
        wants: fn(&Thing) -> bool,
    ) -> Vec<Seen> {
        let told = self.told.iter();
        let told = told.filter(|told| after < told.revision && told.revision <= until);
        told.filter_map(|told| {
            let revision = match told.before_gap {
                None => told.revision,
                Some(before) => told.change.current().map_or(before, Object::revision),
            };
            let event = transition(&told.change, revision, wants)?;
            let deleted = event.kind == EventKind::Deleted;
            Some((deleted, event.revision, event.object.key.clone()))
        })
        .collect()
    }
}

fn change(difference: Difference<'_, String, Thing>) -> Change<Thing> {
    let (previous, current) = match difference {
        Difference::Removed(entry) => {
            return Change::Delete {
                previous: entry.value,
            };
        }
        Difference::Added(entry) => (None, entry),
        Difference::Changed { previous, current } => (Some(previous.value), current),
    };
    let current = current.value.clone();
    Change::Put { previous, current }
}

fn slots(places: usize) -> Places {
    (0..places).map(|_| Place::Free).collect()
}
