//! Watchers against a world that remembers every state it was ever in.
//!
//! A client applies what its watcher yields to a view of its own. The view must change exactly as
//! each event says, and equal the selected part of the remembered state at every bookmark.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use ringwatch_core::history::{Entry, History};
use ringwatch_core::key::Key;
use ringwatch_core::object::{Change, Object};
use ringwatch_core::predicate::Matches;
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::store::{Difference, Listed, Slot, Store};
use ringwatch_core::time::Instant;
use ringwatch_core::transition::EventKind;
use ringwatch_core::watcher::{Options, Phase, Start, Step, Watcher};

#[derive(Debug, Clone, PartialEq)]
struct Thing {
    key: String,
    colour: u8,
    revision: u64,
}

impl Object for Thing {
    fn key(&self) -> Key<'_> {
        Key::parse(&self.key).unwrap()
    }
    fn revision(&self) -> Revision {
        Revision::new(self.revision)
    }
    fn label(&self, _: &str) -> Option<&str> {
        None
    }
    fn field(&self, _: &str) -> Option<&str> {
        None
    }
}

type State = BTreeMap<String, Thing>;
type Things = Store<String, Thing, Vec<Slot<String, Thing>>>;
type Ring = History<Change<Thing>, Vec<Place<Entry<Change<Thing>>>>>;

/// Selects the things whose colour's bit is set.
#[derive(Debug, Clone, Copy)]
struct Colours(u8);

impl Matches<Thing> for Colours {
    fn matches(&self, thing: &Thing) -> bool {
        self.0 >> thing.colour & 1 == 1
    }
}

#[derive(Debug, Clone)]
enum Op {
    /// A transaction: keys and their new colours; `None` deletes.
    Write(BTreeMap<u8, Option<u8>>),
    Progress,
    /// The world moves on unseen, then is listed again.
    Relist(Vec<BTreeMap<u8, Option<u8>>>),
    Watch {
        colours: u8,
        start: StartAt,
        snapshot: bool,
    },
    /// A watcher is polled so many times.
    Poll {
        watcher: usize,
        times: usize,
    },
}

#[derive(Debug, Clone, Copy)]
enum StartAt {
    State,
    Back(u64),
    Now,
}

fn transaction() -> impl Strategy<Value = BTreeMap<u8, Option<u8>>> {
    prop::collection::btree_map(0..6u8, prop::option::weighted(0.8, 0..3u8), 1..4)
}

fn op() -> impl Strategy<Value = Op> {
    let start = prop_oneof![
        3 => Just(StartAt::State),
        2 => (0..12u64).prop_map(StartAt::Back),
        1 => Just(StartAt::Now)
    ];
    prop_oneof![
        8 => transaction().prop_map(Op::Write),
        1 => Just(Op::Progress),
        1 => prop::collection::vec(transaction(), 1..4).prop_map(Op::Relist),
        3 => (0..8u8, start, any::<bool>())
            .prop_map(|(colours, start, snapshot)| Op::Watch { colours, start, snapshot }),
        8 => (0..6usize, 1..5usize).prop_map(|(watcher, times)| Op::Poll { watcher, times }),
    ]
}

/// The truth, and the store and ring that are to keep up with it.
struct World {
    states: Vec<State>,
    store: Things,
    ring: Ring,
    /// The last stretch that was crossed by a relist.
    gap: Option<(u64, u64)>,
}

impl World {
    fn new(capacity: usize) -> Self {
        Self {
            states: vec![State::new()],
            store: Store::new((0..16).map(|_| Slot::FREE).collect()),
            ring: History::new((0..capacity).map(|_| Place::Free).collect()),
            gap: None,
        }
    }

    fn newest(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    /// Writes to the truth only.
    fn write_unseen(&mut self, writes: &BTreeMap<u8, Option<u8>>) {
        let mut state = self.states.last().unwrap().clone();
        let revision = self.states.len() as u64;
        for (key, colour) in writes {
            let key = format!("ns/{key}");
            match colour {
                Some(colour) => {
                    let thing = Thing {
                        key: key.clone(),
                        colour: *colour,
                        revision,
                    };
                    state.insert(key, thing);
                }
                None => drop(state.remove(&key)),
            }
        }
        self.states.push(state);
    }

    fn write(&mut self, writes: &BTreeMap<u8, Option<u8>>) {
        self.write_unseen(writes);
        let revision = Revision::new(self.newest());
        let mut changes = Vec::new();
        for key in writes.keys().map(|key| format!("ns/{key}")) {
            let current = self.states.last().unwrap().get(&key).cloned();
            let previous = match &current {
                Some(thing) => {
                    self.store
                        .put(key, revision, thing.clone())
                        .unwrap()
                        .previous
                }
                None => self.store.remove(key.as_str()),
            };
            let previous = previous.map(|entry| entry.value);
            changes.extend(match (previous, current) {
                (previous, Some(current)) => Some(Change::Put { previous, current }),
                (Some(previous), None) => Some(Change::Delete { previous }),
                (None, None) => None,
            });
        }
        self.store.advance(revision);
        self.ring.push_all(revision, changes).unwrap();
    }

    fn relist(&mut self) {
        let revision = Revision::new(self.newest());
        let mut changes = Vec::new();
        let list: Vec<_> = self
            .states
            .last()
            .unwrap()
            .values()
            .map(|thing| Listed {
                key: thing.key.clone(),
                revision: Revision::new(thing.revision),
                value: thing.clone(),
            })
            .collect();
        let report = |difference: Difference<'_, String, Thing>| {
            changes.push(match difference {
                Difference::Removed(entry) => Change::Delete {
                    previous: entry.value,
                },
                Difference::Added(entry) => Change::Put {
                    previous: None,
                    current: entry.value.clone(),
                },
                Difference::Changed { previous, current } => Change::Put {
                    previous: Some(previous.value),
                    current: current.value.clone(),
                },
            })
        };
        self.store.replace(revision, list, report).unwrap();
        changes.sort_by_key(|change| change.current().map(|thing| thing.revision));
        let newest = self.ring.newest().get();
        if newest < revision.get() {
            self.gap = Some((newest, revision.get()));
        }
        self.ring.bridge(revision, changes).unwrap();
    }

    fn selected(&self, revision: u64, colours: Colours) -> State {
        let state = &self.states[revision as usize];
        let wanted = state.iter().filter(|(_, thing)| colours.matches(thing));
        wanted
            .map(|(key, thing)| (key.clone(), thing.clone()))
            .collect()
    }

    /// A store of its own with the present content: what a server would hand out as a snapshot.
    fn snapshot(&self) -> Things {
        let mut store = Store::new((0..16).map(|_| Slot::FREE).collect());
        for entry in self.store.iter() {
            store
                .put(entry.key.clone(), entry.revision, entry.value.clone())
                .unwrap();
        }
        store.advance(self.store.revision());
        store
    }
}

struct Client {
    watcher: Watcher<Colours, String>,
    colours: Colours,
    snapshot: Option<Things>,
    view: State,
    /// The last revision shown after the initial objects; they never fall.
    last: u64,
    expired: bool,
    ended_initial: usize,
}

impl Client {
    /// Polls once. Returns whether there may be more.
    fn poll(&mut self, world: &World, now: Instant) -> bool {
        let before = self.watcher.phase();
        let state = self.snapshot.as_ref().unwrap_or(&world.store);
        match self.watcher.poll(state, &world.ring, now) {
            Step::Event(event) => {
                let key = event.object.key.clone();
                let held = self.view.get(&key);
                assert!(self.colours.matches(event.object));
                match event.kind {
                    EventKind::Added => assert!(held.is_none(), "added twice"),
                    EventKind::Modified => assert!(held.unwrap().revision < event.object.revision),
                    EventKind::Deleted => assert_eq!(held, Some(event.object)),
                }
                if event.kind == EventKind::Deleted {
                    // Shown under the revision that took it away, not under its own; or, if that is unknown,
                    // under the last before.
                    let shown = event.revision.get();
                    let gone = |at| !world.selected(at, self.colours).contains_key(&key);
                    let in_gap = |(after, until)| after == shown && gone(until);
                    assert!(gone(shown) || world.gap.is_some_and(in_gap));
                    self.view.remove(&key);
                } else {
                    assert_eq!(event.revision.get(), event.object.revision);
                    self.view.insert(key, event.object.clone());
                }
                assert!(event.revision.get() <= world.newest());
                true
            }
            Step::Bookmark {
                revision,
                initial_events_end,
            } => {
                assert_eq!(self.view, world.selected(revision.get(), self.colours));
                assert!(revision.get() >= self.last, "bookmarks went back");
                self.last = revision.get();
                assert_eq!(initial_events_end, before == Phase::Initial);
                self.ended_initial += usize::from(initial_events_end);
                true
            }
            Step::Idle { wake_at } => {
                assert!(wake_at.is_some_and(|at| at > now));
                let newest = world.newest();
                assert_eq!(self.watcher.phase(), Phase::Live);
                assert_eq!(
                    self.view,
                    world.selected(newest, self.colours),
                    "idle but behind"
                );
                let resume = self.watcher.resume_from(&world.ring);
                assert_eq!(resume, Ok(Some(Revision::new(newest))));
                false
            }
            Step::Finished => panic!("there is no deadline"),
            Step::Expired(_) => {
                self.expired = true;
                false
            }
        }
    }
}

fn start(
    world: &World,
    colours: Colours,
    start: Start,
    snapshot: bool,
    now: Instant,
) -> Option<Client> {
    let options = Options {
        bookmark_every: Some(Duration::from_millis(50)),
        initial_events_end: start == Start::State,
        deadline: None,
    };
    let snapshot = (snapshot && start == Start::State).then(|| world.snapshot());
    let state = snapshot.as_ref().unwrap_or(&world.store);
    let watcher = Watcher::start(colours, start, options, state, &world.ring, now);
    let view = match start {
        Start::State => State::new(),
        Start::After(revision) => world.selected(revision.get(), colours),
        Start::Now => world.selected(world.newest(), colours),
    };
    let watcher = watcher.ok()?;
    Some(Client {
        watcher,
        colours,
        snapshot,
        view,
        last: 0,
        expired: false,
        ended_initial: 0,
    })
}

proptest! {
    #[test]
    fn views_are_exact(capacity in 1..24usize, ops in prop::collection::vec(op(), 1..50)) {
        let mut world = World::new(capacity);
        let mut clients: Vec<Client> = Vec::new();
        let mut now = Instant::from_millis(0);
        // Relists: from where to where nobody saw the world move.
        let mut gaps: Vec<(u64, u64)> = Vec::new();
        for op in ops {
            now = now + Duration::from_millis(7);
            match op {
                Op::Write(writes) => world.write(&writes),
                Op::Progress => {
                    let state = world.states.last().unwrap().clone();
                    world.states.push(state);
                    let revision = Revision::new(world.newest());
                    world.store.advance(revision);
                    world.ring.advance(revision);
                }
                Op::Relist(unseen) => {
                    let after = world.newest();
                    unseen.iter().for_each(|writes| world.write_unseen(writes));
                    world.relist();
                    gaps.push((after, world.newest()));
                }
                Op::Watch { colours, start: at, snapshot } => {
                    let at = match at {
                        StartAt::State => Start::State,
                        StartAt::Back(back) => Start::After(Revision::new(world.newest().saturating_sub(back))),
                        StartAt::Now => Start::Now,
                    };
                    clients.extend(start(&world, Colours(colours), at, snapshot, now));
                }
                Op::Poll { watcher, times } => {
                    if let Some(client) = clients.get_mut(watcher) {
                        for _ in 0..times {
                            client.poll(&world, now);
                        }
                    }
                }
            }
        }
        // Everyone reads to the end.
        for client in &mut clients {
            while client.poll(&world, now) {}
            if !client.expired && client.watcher.phase() != Phase::Initial {
                prop_assert_eq!(&client.view, &world.selected(world.newest(), client.colours));
            }
            prop_assert!(client.ended_initial <= 1);
        }
        // A watch can be resumed at every revision that the ring still covers, and at no other.
        for revision in 0..=world.newest() {
            let at = Start::After(Revision::new(revision));
            let inside = gaps.iter().any(|(after, until)| *after < revision && revision < *until);
            match start(&world, Colours(5), at, false, now) {
                Some(mut client) => {
                    prop_assert!(!inside, "began inside a gap");
                    while client.poll(&world, now) {}
                    prop_assert!(!client.expired);
                    prop_assert_eq!(&client.view, &world.selected(world.newest(), Colours(5)));
                }
                None => prop_assert!(inside || revision < world.ring.floor().get()),
            }
        }
    }
}
