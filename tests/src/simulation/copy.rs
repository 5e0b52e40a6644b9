//! What a node has of one subscription: a mirror, and a handler that takes every word for true.

use std::collections::BTreeMap;

use ringwatch_core::informer::{Handler, Held, Informer};
use ringwatch_core::link::node::{Mirror, View};
use ringwatch_core::revision::Revision;
use ringwatch_core::store::Slot;
use ringwatch_core::time::Instant;

use super::findings::Property;
use super::judge::{Holding, Record};
use super::wish::Selection;
use super::world::{Thing, World};

/// Believes what it is told, and notes what makes no sense.
#[derive(Debug, Default)]
struct Listener {
    told: BTreeMap<String, u8>,
    wrong: Option<(Property, String)>,
}

impl Listener {
    fn object(&mut self, property: Property, detail: String) {
        self.wrong.get_or_insert((property, detail));
    }
}

impl Handler<u8> for Listener {
    fn on_add(&mut self, key: &str, new: &u8) {
        if self.told.insert(key.to_owned(), *new).is_some() {
            self.object(Property::IsCreate, format!("{key} is added again"));
        }
    }
    fn on_update(&mut self, key: &str, old: Option<&u8>, new: &u8) {
        match self.told.insert(key.to_owned(), *new) {
            None => self.object(
                Property::IsCreate,
                format!("{key} is updated before it is added"),
            ),
            Some(had) if old != Some(&had) => {
                self.object(Property::PrevKv, format!("{key} was {had}, not {old:?}"));
            }
            Some(_) => {}
        }
    }
    fn on_delete(&mut self, key: &str, old: &u8) {
        let had = self.told.remove(key);
        if had.as_ref() != Some(old) {
            self.object(Property::PrevKv, format!("{key} was {had:?}, not {old}"));
        }
    }
}

type Slots = Vec<Slot<String, Held<u8>>>;

/// What a node has of one subscription. It outlives connections.
pub struct Copy {
    mirror: Mirror<String, u8, Slots>,
    listener: Listener,
    decode: fn(&[u8]) -> Option<u8>,
    /// What its judge remembers.
    pub record: Record,
}

impl Copy {
    /// Nothing yet.
    pub fn new(selection: &Selection) -> Self {
        let slots: Slots = (0..selection.places).map(|_| Slot::FREE).collect();
        Self {
            mirror: Mirror::new(Informer::new(slots, Default::default())),
            listener: Listener::default(),
            decode: selection.decode,
            record: Record::default(),
        }
    }

    /// What is judged, and what the judge remembers.
    pub fn parts(&mut self) -> (Mirrored<'_>, &mut Record) {
        let mirrored = Mirrored {
            mirror: &mut self.mirror,
            listener: &mut self.listener,
            decode: self.decode,
        };
        (mirrored, &mut self.record)
    }

    /// Something else is wanted, for which there are as many places.
    pub fn reselect(&mut self, selection: &Selection) {
        self.decode = selection.decode;
        self.mirror.reselect();
    }

    /// Whether it is all there is now, as far as there is room for it.
    pub fn is_in_step(&mut self, world: &World, selection: &Selection) -> bool {
        let (mirrored, _) = self.parts();
        let (informer, newest) = (mirrored.mirror.informer(), world.newest());
        let digest = || world.digest(newest, selection.wants);
        informer.revision() == Some(newest)
            && !informer.needs_repair()
            && mirrored.agrees_with(world, newest, selection)
            && (!mirrored.is_complete() || informer.digest() == digest())
    }

    /// The story so far, for a failure.
    pub fn describe(&mut self, world: &World, selection: &Selection) -> String {
        let newest = world.newest();
        let truth = world.selected(newest, selection.wants);
        let truth: BTreeMap<_, _> = truth.map(|thing| (thing.key, thing.level)).collect();
        let (mirrored, _) = self.parts();
        format!("has {}, should have {truth:?} at {newest}", mirrored.show())
    }

    /// Whether its knowledge is no older than it says.
    pub fn is_honest(&self, world: &World, clock: Instant, now: u64, doubt: u64) -> bool {
        let informer = self.mirror.informer();
        let (Some(stale), Some(revision)) = (informer.staleness(clock), informer.revision()) else {
            return true;
        };
        if self.record.origin != Some(world.origin) {
            return true;
        }
        let outdated = world.outdated_at(revision).unwrap_or(now);
        let stale = u64::try_from(stale.as_millis()).unwrap_or(u64::MAX);
        outdated.saturating_add(stale) + doubt + self.record.lag >= now
    }
}

/// The mirror with its handler.
pub struct Mirrored<'c> {
    mirror: &'c mut Mirror<String, u8, Slots>,
    listener: &'c mut Listener,
    decode: fn(&[u8]) -> Option<u8>,
}

impl Holding for Mirrored<'_> {
    fn with<T>(&mut self, call: impl FnOnce(&mut dyn View) -> T) -> T {
        call(&mut self.mirror.feed(self.decode, self.listener))
    }
    fn revision(&self) -> Option<Revision> {
        self.mirror.informer().revision()
    }
    fn is_complete(&self) -> bool {
        self.mirror.is_complete()
    }
    fn has(&self, thing: &Thing) -> bool {
        self.mirror.informer().get(thing.key) == Some(&thing.level)
    }
    fn count(&self) -> usize {
        self.mirror.informer().len()
    }
    fn show(&self) -> String {
        let informer = self.mirror.informer();
        let objects: BTreeMap<_, _> = informer.iter().collect();
        let complete = self.mirror.is_complete();
        format!(
            "{objects:?} at {:?}, complete: {complete}",
            informer.revision()
        )
    }
    fn objection(&mut self) -> Option<(Property, String)> {
        self.listener.wrong.take()
    }
}
