//! What the cache of one resource knows, and how it changes.
//!
//! Objects, ring and index change together, under one lock, so that whoever reads sees them agree.

use std::sync::Arc;

use ringwatch_core::history::{Entry as RingEntry, Expired, History, NotNewer};
use ringwatch_core::object::Change;
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::time::Instant;
use smallvec::SmallVec;

use super::index::{Entry, WatcherIndex};
use super::map::ObjectMap;
use super::metrics::Gauges;
use super::object::Object;
use super::sizing::{Capacity, Sizing};

pub(super) type Ring = History<Change<Object>, Box<[Place<RingEntry<Change<Object>>>]>>;

/// A change to one key, as it comes from storage; the cache knows itself what was there before.
#[derive(Debug, Clone)]
pub(super) enum Update {
    Put(Object),
    /// The key in the resource.
    Delete(Box<str>),
}

/// What a change leaves to be done when the state is no longer locked: nobody who was woken should find the
/// door shut, and freeing memory takes its time.
#[derive(Debug, Default)]
pub(super) struct Aftermath {
    displaced: Vec<RingEntry<Change<Object>>>,
    called: Vec<Arc<Entry>>,
}

impl Aftermath {
    /// Does it. Whether anybody was woken.
    pub(super) fn settle(&mut self) -> bool {
        let woken = !self.called.is_empty();
        self.called.drain(..).for_each(|entry| entry.wake.ring());
        self.displaced.clear();
        woken
    }
}

/// Everything about one resource.
#[derive(Debug)]
pub(super) struct State {
    pub(super) objects: ObjectMap,
    pub(super) ring: Ring,
    pub(super) index: WatcherIndex,
    sizing: Sizing,
    /// Changes that were ever entered into the ring.
    entered: u64,
    /// How often the ring was made larger and smaller.
    resized: (u64, u64),
    closing: bool,
}

impl State {
    pub(super) fn new(capacity: Capacity) -> Self {
        Self {
            objects: ObjectMap::default(),
            ring: Ring::new(places(capacity.lower)),
            index: WatcherIndex::new(),
            sizing: Sizing::new(capacity),
            entered: 0,
            resized: (0, 0),
            closing: false,
        }
    }

    /// The newest revision known.
    pub(super) fn revision(&self) -> Revision {
        self.ring.newest()
    }

    /// Begins with a list, whatever was there before. Who watched is told.
    pub(super) fn begin(&mut self, revision: Revision, objects: ObjectMap, after: &mut Aftermath) {
        self.objects = objects;
        self.forget(revision, after);
    }

    /// Applies the updates of one revision.
    pub(super) fn apply(
        &mut self,
        revision: Revision,
        updates: impl IntoIterator<Item = Update>,
        now: Instant,
        after: &mut Aftermath,
    ) -> Result<(), NotNewer> {
        let newest = self.ring.newest();
        if revision <= newest {
            return Err(NotNewer { newest });
        }
        self.fit(now);
        let mark = self.ring.mark();
        let mut changes = SmallVec::<[_; 1]>::new();
        for update in updates {
            changes.extend(self.update(update));
        }
        for (number, change) in changes.iter().enumerate() {
            let mark = mark.plus(number);
            self.index.call(change, mark, &mut after.called);
        }
        self.entered += changes.len() as u64;
        let displaced = |entry| after.displaced.push(entry);
        self.ring.push_evicting(revision, changes, displaced)
    }

    /// Notes that nothing else happened up to `revision`.
    pub(super) fn progress(&mut self, revision: Revision) {
        self.ring.advance(revision);
    }

    /// Replaces everything by a list and enters the difference, so that watchers stay. Gives how many
    /// objects were different.
    pub(super) fn relist(
        &mut self,
        revision: Revision,
        objects: ObjectMap,
        now: Instant,
        after: &mut Aftermath,
    ) -> Result<usize, NotNewer> {
        let newest = self.ring.newest();
        if revision < newest {
            return Err(NotNewer { newest });
        }
        let changes = difference(&self.objects, &objects);
        let count = changes.len();
        self.objects = objects;
        if revision == newest {
            if changes.is_empty() {
                return Ok(0);
            }
            // The same revision with another content: what was known was wrong, and nobody can be told
            // how. Who watches has to begin again.
            self.forget(revision, after);
            return Ok(count);
        }
        self.fit(now);
        let mark = self.ring.mark();
        for (number, change) in changes.iter().enumerate() {
            let mark = mark.plus(number);
            self.index.call(change, mark, &mut after.called);
        }
        self.entered += count as u64;
        self.ring.bridge(revision, changes)?;
        Ok(count)
    }

    /// Tells every watcher to end when it has everything.
    pub(super) fn close(&mut self, after: &mut Aftermath) {
        self.closing = true;
        self.index.call_all(self.ring.mark(), &mut after.called);
    }

    /// Whether watchers are to end when they have everything.
    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// What there is to measure.
    pub(super) fn gauges(&self, quarantined: usize) -> Gauges {
        Gauges {
            revision: self.revision(),
            objects: self.objects.len(),
            quarantined,
            capacity: self.ring.capacity(),
            entered: self.entered,
            grown: self.resized.0,
            shrunk: self.resized.1,
        }
    }

    /// The objects as they were at `revision`, if the ring reaches back so far.
    pub(super) fn objects_at(&self, revision: Revision) -> Result<ObjectMap, Expired> {
        let mut objects = self.objects.clone();
        let mut cursor = self.ring.since(revision)?;
        // The first change of a key after the revision knows what the key was at it. Undoing from the newest back would
        // do as well, but then every change would touch the map.
        let mut seen = std::collections::HashSet::new();
        while let Some(entry) = self.ring.next(&mut cursor)? {
            let key = entry.change.subject().key();
            if seen.insert(key) {
                match entry.change.previous() {
                    Some(previous) => drop(objects.insert(previous.clone())),
                    None => drop(objects.remove(key)),
                }
            }
        }
        Ok(objects)
    }

    fn update(&mut self, update: Update) -> Option<Change<Object>> {
        match update {
            Update::Put(current) => {
                let previous = self.objects.insert(current.clone());
                Some(Change::Put { previous, current })
            }
            Update::Delete(key) => {
                let previous = self.objects.remove(&key)?;
                Some(Change::Delete { previous })
            }
        }
    }

    /// Empties the ring, and sends everyone to where it ended: nobody can go on from there.
    fn forget(&mut self, revision: Revision, after: &mut Aftermath) {
        let mark = self.ring.mark();
        self.ring.reset(revision);
        self.index.call_all(mark, &mut after.called);
    }

    /// Gives the ring another size if its last minutes ask for it.
    fn fit(&mut self, now: Instant) {
        let (held, capacity) = (self.ring.len(), self.ring.capacity());
        if let Some(capacity) = self.sizing.advise(self.ring.mark(), now, held, capacity) {
            let times = if capacity > self.ring.capacity() {
                &mut self.resized.0
            } else {
                &mut self.resized.1
            };
            *times += 1;
            self.ring.resize(places(capacity));
        }
    }
}

fn places(capacity: usize) -> Box<[Place<RingEntry<Change<Object>>>]> {
    (0..capacity).map(|_| Place::Free).collect()
}

/// What changed from one state to another: what is gone, then what was put, by revision; see
/// [`History::bridge`].
fn difference(before: &ObjectMap, after: &ObjectMap) -> Vec<Change<Object>> {
    let (mut gone, mut put) = (Vec::new(), Vec::new());
    let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.key().cmp(new.key()),
        };
        let previous = if order.is_le() {
            old.next().cloned()
        } else {
            None
        };
        let current = if order.is_ge() {
            new.next().cloned()
        } else {
            None
        };
        match (previous, current) {
            (Some(previous), Some(current)) if previous.revision() == current.revision() => {}
            (previous, Some(current)) => put.push(Change::Put { previous, current }),
            (Some(previous), None) => gone.push(Change::Delete { previous }),
            (None, None) => break,
        }
    }
    put.sort_by_key(|change| change.current().map(Object::revision));
    gone.append(&mut put);
    gone
}
