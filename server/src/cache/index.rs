//! Which watchers a change may concern.
//!
//! Each watcher is entered under one term: the most telling one that its predicate demands. A change is looked
//! up by the terms of the object before *and* after it, since a watcher must hear when an object leaves
//! its selection. What is found is a superset: every watcher still applies its whole predicate. So the cost of a
//! change follows the number of watchers that may care, not of all.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringwatch_core::history::Mark;
use ringwatch_core::object::{Change, Object as _};

use smallvec::SmallVec;

use super::object::Object;
use super::wake::Wake;

/// What a watcher's predicate demands of every object it wants; the first that applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Term {
    /// One object.
    Key(Box<str>),
    /// A value of the selectable field with this place in the resource's list.
    Field(usize, Box<str>),
    /// A value of a label.
    Label(Box<str>, Box<str>),
    /// A namespace.
    Namespace(Box<str>),
    /// Nothing that could be looked up.
    Anything,
}

/// The watchers of one resource by their terms.
#[derive(Debug, Default)]
pub(super) struct WatcherIndex {
    keys: Buckets,
    namespaces: Buckets,
    fields: HashMap<usize, Buckets>,
    labels: HashMap<Box<str>, Buckets>,
    anything: Bucket,
}

type Buckets = HashMap<Box<str>, Bucket>;

/// A watcher's place in the index.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) wake: Wake,
    /// Where in its bucket it is, so that it can be taken out without a search. Only changed with the
    /// index in hand.
    place: AtomicUsize,
}

impl Entry {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            wake: Wake::new(),
            place: AtomicUsize::new(usize::MAX),
        })
    }
}

impl WatcherIndex {
    pub(super) fn insert(&mut self, term: &Term, entry: &Arc<Entry>) {
        self.bucket_mut(term).insert(entry.clone());
    }

    pub(super) fn remove(&mut self, term: &Term, entry: &Arc<Entry>) {
        let bucket = self.bucket_mut(term);
        bucket.remove(entry);
        if bucket.0.is_empty() {
            self.forget(term);
        }
    }

    /// Sends every watcher that may care to `mark`, and wakes it.
    pub(super) fn announce(&self, change: &Change<Object>, mark: Mark) {
        self.anything.announce(mark);
        let (before, now) = (change.previous(), change.current());
        let subject = change.subject();
        // Key and namespace are the same before and after.
        announce(&self.keys, subject.key(), mark);
        if let Some((namespace, _)) = subject.key().split_once('/') {
            announce(&self.namespaces, namespace, mark);
        }
        for (field, buckets) in &self.fields {
            let [before, now] = [before, now].map(|object| object?.field_at(*field));
            announce_both(buckets, before, now, mark);
        }
        for (label, buckets) in &self.labels {
            let [before, now] = [before, now].map(|object| object?.label(label));
            announce_both(buckets, before, now, mark);
        }
    }

    /// Wakes everyone: the state has jumped, or is about to end.
    pub(super) fn announce_all(&self, mark: Mark) {
        let maps = [&self.keys, &self.namespaces].into_iter();
        let maps = maps.chain(self.fields.values()).chain(self.labels.values());
        maps.flat_map(HashMap::values)
            .for_each(|bucket| bucket.announce(mark));
        self.anything.announce(mark);
    }

    fn bucket_mut(&mut self, term: &Term) -> &mut Bucket {
        match term {
            Term::Key(key) => self.keys.entry(key.clone()).or_default(),
            Term::Namespace(name) => self.namespaces.entry(name.clone()).or_default(),
            Term::Field(field, value) => {
                let buckets = self.fields.entry(*field).or_default();
                buckets.entry(value.clone()).or_default()
            }
            Term::Label(label, value) => {
                let buckets = self.labels.entry(label.clone()).or_default();
                buckets.entry(value.clone()).or_default()
            }
            Term::Anything => &mut self.anything,
        }
    }

    /// Drops a bucket that has become empty, and the map it was the last of.
    fn forget(&mut self, term: &Term) {
        match term {
            Term::Key(key) => drop(self.keys.remove(key)),
            Term::Namespace(name) => drop(self.namespaces.remove(name)),
            Term::Field(field, value) => {
                if let Some(buckets) = self.fields.get_mut(field) {
                    buckets.remove(value);
                    if buckets.is_empty() {
                        self.fields.remove(field);
                    }
                }
            }
            Term::Label(label, value) => {
                if let Some(buckets) = self.labels.get_mut(label) {
                    buckets.remove(value);
                    if buckets.is_empty() {
                        self.labels.remove(label);
                    }
                }
            }
            Term::Anything => {}
        }
    }
}

fn announce(buckets: &Buckets, value: &str, mark: Mark) {
    if let Some(bucket) = buckets.get(value) {
        bucket.announce(mark);
    }
}

fn announce_both(buckets: &Buckets, before: Option<&str>, now: Option<&str>, mark: Mark) {
    if let Some(now) = now {
        announce(buckets, now, mark);
    }
    if let Some(before) = before.filter(|before| Some(*before) != now) {
        announce(buckets, before, mark);
    }
}

/// The watchers under one term; with terms like a node's name mostly one.
#[derive(Debug, Default)]
struct Bucket(SmallVec<[Arc<Entry>; 1]>);

impl Bucket {
    fn insert(&mut self, entry: Arc<Entry>) {
        entry.place.store(self.0.len(), Ordering::Relaxed);
        self.0.push(entry);
    }

    fn remove(&mut self, entry: &Arc<Entry>) {
        let place = entry.place.load(Ordering::Relaxed);
        if self
            .0
            .get(place)
            .is_some_and(|held| Arc::ptr_eq(held, entry))
        {
            self.0.swap_remove(place);
            if let Some(moved) = self.0.get(place) {
                moved.place.store(place, Ordering::Relaxed);
            }
        }
    }

    fn announce(&self, mark: Mark) {
        self.0.iter().for_each(|entry| entry.wake.announce(mark));
    }
}
