//! A watch on one side, an informer on the other, and compact bytes between them.

use std::{collections::BTreeMap, time::Duration};

use ringwatch_core::{
    compact::CompactEvent,
    digest::Digest,
    informer::{Check, Held, Informer, Reason},
    json::Limits,
    predicate::{Predicate, Scope},
    projection::{self, Projection},
    revision::Revision,
    selector::{FieldSelector, LabelSelector},
    store::Slot,
    time::Instant,
    transition::{Event, EventKind},
    watcher::{Options, Start, Step, Watcher},
};

use super::{
    listener::Listener,
    world::{Thing, Things, World},
};

/// What a link asks for, and the same as a function.
pub(super) struct Selection {
    scope: Scope<&'static str>,
    labels: &'static str,
    fields: &'static str,
    /// How many objects the device has room for.
    places: usize,
    wants: fn(&Thing) -> bool,
}

pub(super) const SELECTIONS: [Selection; 4] = [
    Selection {
        scope: Scope::Resource,
        labels: "",
        fields: "",
        places: 6,
        wants: |_| true,
    },
    Selection {
        scope: Scope::Namespace("a"),
        labels: "",
        fields: "metadata.name!=z",
        places: 2,
        wants: |thing| thing.key.starts_with("a/"),
    },
    Selection {
        scope: Scope::Resource,
        labels: "colour in (red, blue)",
        fields: "",
        // Sometimes too few.
        places: 3,
        wants: |thing| thing.colour != "green",
    },
    Selection {
        scope: Scope::Resource,
        labels: "",
        fields: "spec.colour=green",
        places: 6,
        wants: |thing| thing.colour == "green",
    },
];

type Wanted = Predicate<&'static str>;
type Slots = Vec<Slot<heapless::String<8>, Held<u8>>>;

pub(super) struct Link {
    selection: &'static Selection,
    watcher: Option<Watcher<Wanted, &'static str>>,
    /// What the initial objects come from, if not from the live store.
    snapshot: Option<Things>,
    informer: Informer<heapless::String<8>, u8, Slots>,
    pub(super) listener: Listener,
    loses_next: bool,
    /// Whether an event was lost since the view was last known to be right.
    has_lost: bool,
}

impl Link {
    pub(super) fn new(selection: &'static Selection) -> Self {
        Self {
            selection,
            watcher: None,
            snapshot: None,
            informer: Informer::new(
                (0..selection.places).map(|_| Slot::FREE).collect(),
                Default::default(),
            ),
            listener: Listener::default(),
            loses_next: false,
            has_lost: false,
        }
    }

    pub(super) fn lose_next(&mut self) {
        self.loses_next = true;
    }

    /// Connects anew and goes on where the informer was, if it can and `how` does not say otherwise.
    pub(super) fn connect(&mut self, world: &World, now: Instant, how: u8) {
        let known = self.informer.revision();
        let known = known.filter(|_| how < 6);
        self.snapshot = None;
        self.watcher = known.and_then(|known| {
            let watcher = self.start(Start::After(known), world, now);
            assert!(watcher.is_some() || known < world.newest());
            watcher
        });
        if self.watcher.is_none() {
            self.snapshot = how.is_multiple_of(2).then(|| world.snapshot());
            self.informer.begin_snapshot();
            self.watcher = self.start(Start::State, world, now);
            assert!(self.watcher.is_some(), "the present is always there");
            self.has_lost = false;
        }
    }

    /// Connects a device that got its view elsewhere, where every revision was known, some revisions ago.
    pub(super) fn roam(&mut self, world: &World, now: Instant, ago: u8) {
        let then = world.newest().get().saturating_sub(ago.into());
        let then = Revision::new(then);
        let (view, digest) = self.expected(world, then);
        if view.len() > self.selection.places {
            return;
        }
        let listener = &mut self.listener;
        listener.room = usize::MAX;
        self.informer.begin_snapshot();
        for (key, level) in view {
            let revision = world.at(then)[key].revision;
            let put = self.informer.put(key, revision, level, listener);
            put.expect("room for the view");
        }
        let check = self
            .informer
            .end_snapshot(then, Some(digest), Duration::ZERO, now, listener);
        assert_eq!(check, Check::Agrees);
        self.has_lost = false;
        self.connect(world, now, 0);
    }

    fn start(
        &self,
        start: Start,
        world: &World,
        now: Instant,
    ) -> Option<Watcher<Wanted, &'static str>> {
        let Selection {
            scope,
            labels,
            fields,
            ..
        } = *self.selection;
        let wanted = Predicate {
            scope,
            labels: LabelSelector::parse(labels).expect("a selector"),
            fields: FieldSelector::parse(fields).expect("a selector"),
        };
        let options = Options {
            bookmark_every: Some(Duration::from_millis(4)),
            initial_events_end: start == Start::State,
            deadline: None,
        };
        let state = self.snapshot.as_ref().unwrap_or(&world.store);
        Watcher::start(wanted, start, options, state, &world.ring, now).ok()
    }

    /// Carries some items over the link, if it has them.
    pub(super) fn poll_times(&mut self, more: u8, world: &World, now: Instant) {
        let mut polls = (0..=more).map(|_| self.poll(world, now));
        while polls.next() == Some(true) {}
    }

    /// Carries one item over the link. Returns whether there may be more.
    pub(super) fn poll(&mut self, world: &World, now: Instant) -> bool {
        let Some(watcher) = &mut self.watcher else {
            return false;
        };
        let state = self.snapshot.as_ref().unwrap_or(&world.store);
        match watcher.poll(state, &world.ring, now) {
            Step::Event(event) => {
                assert!((self.selection.wants)(event.object));
                if core::mem::take(&mut self.loses_next) {
                    self.has_lost = true;
                } else {
                    self.receive(&pack(event));
                }
                true
            }
            Step::Bookmark {
                revision,
                initial_events_end,
            } => {
                let digest = Some(self.expected(world, revision).1);
                let check = if initial_events_end {
                    let listener = &mut self.listener;
                    self.informer
                        .end_snapshot(revision, digest, Duration::ZERO, now, listener)
                } else {
                    self.informer
                        .bookmark(revision, digest, Duration::ZERO, now)
                };
                match check {
                    Check::Agrees => {
                        self.has_lost = false;
                        self.compare(world, revision);
                        assert_eq!(self.informer.revision(), Some(revision));
                    }
                    Check::Differs => {
                        assert!(self.has_lost, "the view differs, but nothing was lost");
                        self.watcher = None;
                    }
                    Check::NotCompared => panic!("there was a digest"),
                }
                true
            }
            Step::Idle { wake_at } => {
                assert!(wake_at.is_some_and(|at| at > now));
                let resume = watcher.resume_from(&world.ring);
                assert_eq!(resume, Ok(Some(world.newest())));
                if !self.has_lost {
                    self.compare(world, world.newest());
                }
                false
            }
            Step::Expired(expired) => {
                assert_eq!(expired.floor, world.ring.floor());
                self.watcher = None;
                false
            }
            Step::Finished => panic!("there is no deadline"),
        }
    }

    /// Everything arrives, and the listener has time for it.
    pub(super) fn finish(&mut self, world: &World, mut now: Instant) {
        self.loses_next = false;
        self.listener.room = usize::MAX;
        // At most: what is left of this watch, a resumption that ends in a refusal, a snapshot.
        for _ in 0..3 {
            // Late enough for a bookmark.
            now = now + Duration::from_secs(1);
            while self.poll(world, now) {}
            if self.watcher.is_some() && !self.has_lost {
                break;
            }
            self.connect(world, now, 0);
        }
        let (view, _) = self.expected(world, world.newest());
        if view.len() <= self.selection.places {
            assert_eq!(self.informer.flush(&mut self.listener), 0);
            self.compare(world, world.newest());
            assert!(
                self.listener
                    .told
                    .iter()
                    .map(|(key, level)| (&**key, *level))
                    .eq(view)
            );
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        let Err(reason) = self.take(bytes) else {
            return;
        };
        match reason {
            Reason::Full => {
                // Perhaps only because the listener was busy.
                self.listener.room = usize::MAX;
                self.informer.flush(&mut self.listener);
                if self.take(bytes).is_err() {
                    assert_eq!(self.informer.len(), self.selection.places);
                    *self = Self::new(self.selection);
                    self.listener.room = usize::MAX;
                }
            }
            Reason::IndexFull | Reason::KeyTooLong => panic!("{reason}"),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Reason> {
        let (event, rest) = CompactEvent::decode(bytes).expect("what was encoded");
        assert!(rest.is_empty());
        let (key, listener) = (event.key, &mut self.listener);
        if event.kind == EventKind::Deleted {
            self.informer.delete(key, event.revision, listener);
            return Ok(());
        }
        let ((level,), issues) =
            projection::read::<(Option<u32>,)>(event.body).expect("what was projected");
        assert!(issues.is_empty());
        let level = level.and_then(|level| level.try_into().ok());
        let level = level.expect("every thing has a level");
        let put = self.informer.put(key, event.revision, level, listener);
        put.map_err(|refused| refused.reason)
    }

    /// The view as it should be, and its digest.
    fn expected<'w>(&self, world: &'w World, at: Revision) -> (BTreeMap<&'w str, u8>, Digest) {
        let mut view = BTreeMap::new();
        let mut digest = Digest::EMPTY;
        let things = world.at(at).values();
        for thing in things.filter(|thing| (self.selection.wants)(thing)) {
            view.insert(thing.key, thing.level);
            digest.add(thing.key, thing.revision);
        }
        (view, digest)
    }

    fn compare(&self, world: &World, at: Revision) {
        let (view, digest) = self.expected(world, at);
        assert_eq!(self.informer.len(), view.len());
        assert_eq!(self.informer.digest(), digest);
        assert!(
            self.informer
                .iter()
                .map(|(key, level)| (key, *level))
                .eq(view)
        );
    }
}

fn pack(event: Event<'_, Thing>) -> Vec<u8> {
    let mut body = [0; 16];
    let body = match event.kind {
        EventKind::Deleted => &[],
        EventKind::Added | EventKind::Modified => {
            let projection = Projection::<_>::parse("spec.level:u32").expect("a list");
            let text = event.object.text();
            let projected = projection.project(text.as_bytes(), &Limits::default(), &mut body);
            projected.expect("an object that fits").bytes
        }
    };
    let event = CompactEvent {
        kind: event.kind,
        revision: event.revision,
        key: event.object.key,
        body,
    };
    let mut bytes = vec![0; event.len()];
    event.encode(&mut bytes).expect("room").to_vec()
}
