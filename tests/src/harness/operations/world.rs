//! The truth, which remembers every state, and the store and ring that keep up with it.

use std::collections::BTreeMap;

use ringwatch_core::{
    history::{self, History},
    key::Key,
    object::{Change, Object},
    revision::Revision,
    slots::Place,
    store::{Difference, Entry, Slot, Store, Update},
};

use crate::input::Input;

const KEYS: [&str; 6] = ["a/x", "a/y", "a-b/x", "b/x", "b/z", "c"];
const COLOURS: [&str; 3] = ["red", "green", "blue"];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Thing {
    pub(super) key: &'static str,
    pub(super) colour: &'static str,
    pub(super) level: u8,
    pub(super) revision: Revision,
}

impl Thing {
    pub(super) fn text(&self) -> String {
        let Self { key, level, .. } = self;
        format!(r#"{{"metadata":{{"name":"{key}"}},"spec":{{"level":{level}}}}}"#)
    }
}

impl Object for Thing {
    fn key(&self) -> Key<'_> {
        Key::parse(self.key).expect("one of KEYS")
    }

    fn revision(&self) -> Revision {
        self.revision
    }

    fn label(&self, key: &str) -> Option<&str> {
        (key == "colour").then_some(self.colour)
    }

    fn field(&self, path: &str) -> Option<&str> {
        (path == "spec.colour").then_some(self.colour)
    }
}

pub(super) type State = BTreeMap<&'static str, Thing>;
pub(super) type Things = Store<&'static str, Thing, Vec<Slot<&'static str, Thing>>>;
type Slots = Vec<Place<history::Entry<Change<Thing>>>>;

pub(super) struct World {
    /// The state at each revision.
    states: Vec<State>,
    pub(super) store: Things,
    pub(super) ring: History<Change<Thing>, Slots>,
}

impl World {
    pub(super) fn new(places: u8) -> Self {
        Self {
            states: vec![State::new()],
            store: empty_store(),
            ring: History::new(slots(places)),
        }
    }

    pub(super) fn newest(&self) -> Revision {
        Revision::new(self.states.len() as u64 - 1)
    }

    pub(super) fn at(&self, revision: Revision) -> &State {
        &self.states[revision.get() as usize]
    }

    /// One transaction, seen by everybody.
    pub(super) fn write(&mut self, input: &mut Input<'_>) {
        let before = self.newest();
        self.write_unseen(input);
        let revision = self.newest();
        let changes = changes(self.at(before), self.at(revision));
        for change in &changes {
            let update = match change {
                Change::Put { current, .. } => Update::Put(current.key, current.clone()),
                Change::Delete { previous } => Update::Delete(previous.key),
            };
            let previous = self.store.apply(revision, update).expect("room for KEYS");
            assert_eq!(previous.as_ref(), change.previous());
        }
        self.store.advance(revision);
        self.ring.push_all(revision, changes).expect("newer");
    }

    /// A revision that changed something else.
    pub(super) fn progress(&mut self) {
        self.states.extend(self.states.last().cloned());
        self.store.advance(self.newest());
        self.ring.advance(self.newest());
    }

    /// The world moves on unseen and is then listed. Watches go on, or everything begins anew.
    pub(super) fn relist(&mut self, input: &mut Input<'_>) {
        let before = self.newest();
        let choice = input.below(16);
        (0..=choice % 3).for_each(|_| self.write_unseen(input));
        let revision = self.newest();
        let mut found = Vec::new();
        let report = |difference: Difference<'_, _, Thing>| found.push(change(difference));
        self.store
            .replace(revision, list(self.states.last()), report)
            .expect("sorted, and room for KEYS");
        assert_eq!(found, changes(self.at(before), self.at(revision)));
        if choice < 12 {
            self.ring.bridge(revision, found).expect("newer");
        } else {
            self.ring.reset(revision);
        }
    }

    pub(super) fn resize(&mut self, places: u8) {
        self.ring.resize(slots(places));
    }

    /// A store of its own with the present state.
    pub(super) fn snapshot(&self) -> Things {
        let mut store = empty_store();
        store
            .replace(self.newest(), list(self.states.last()), |_| ())
            .expect("sorted, and room for KEYS");
        store
    }

    fn write_unseen(&mut self, input: &mut Input<'_>) {
        let revision = Revision::new(self.states.len() as u64);
        let mut state = self.at(self.newest()).clone();
        for _ in 0..=input.below(3) {
            let key = *input.one_of(&KEYS);
            match input.byte().unwrap_or(0) {
                0..64 => drop(state.remove(key)),
                level => {
                    let thing = Thing {
                        key,
                        colour: COLOURS[usize::from(level % 3)],
                        level,
                        revision,
                    };
                    state.insert(key, thing);
                }
            }
        }
        self.states.push(state);
    }
}

/// What changed, in the order in which [`Store::replace`] reports it.
fn changes(before: &State, after: &State) -> Vec<Change<Thing>> {
    let gone = before.values().filter(|old| !after.contains_key(old.key));
    let put = after
        .values()
        .filter(|new| before.get(new.key) != Some(new));
    let gone = gone.cloned().map(|previous| Change::Delete { previous });
    let put = put.cloned().map(|current| Change::Put {
        previous: before.get(current.key).cloned(),
        current,
    });
    gone.chain(put).collect()
}

fn change(difference: Difference<'_, &'static str, Thing>) -> Change<Thing> {
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

fn list(state: Option<&State>) -> impl Iterator<Item = Entry<&'static str, Thing>> + Clone {
    let things = state.into_iter().flat_map(BTreeMap::values).cloned();
    things.map(|value| Entry {
        key: value.key,
        revision: value.revision,
        value,
    })
}

fn empty_store() -> Things {
    Store::new(KEYS.map(|_| Slot::FREE).into())
}

fn slots(places: u8) -> Slots {
    (0..places).map(|_| Place::Free).collect()
}
