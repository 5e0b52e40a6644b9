//! Which watchers a change may concern.
//!
//! Each watcher is entered under one term: the most telling one that its predicate demands. A change is looked
//! up by the terms of the object before *and* after it, since a watcher must hear when an object leaves
//! its selection. What is found is a superset: every watcher still applies its whole predicate. So the cost of a
//! change follows the number of watchers that may care, not of all, and terms can be kept as mere hashes: two
//! that meet cost a look and nothing else.

mod bucket;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use hashbrown::HashTable;
use ringwatch_core::history::Mark;
use ringwatch_core::object::{Change, Object as _};
use smallvec::SmallVec;

use super::alarm::Queued;
use super::object::Object;
use super::stage::StageCell;
use super::wake::Wake;
use bucket::Bucket;

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
    /// Keyed anew in every process: nobody outside can aim at one bucket.
    hasher: RandomState,
    buckets: HashTable<Bucket>,
    /// How many watchers there are of each class. Terms that nobody asks for are not looked up.
    counts: SmallVec<[u32; 8]>,
}

/// A kind of term. Fields come last, as many as there are.
type Class = u32;
const ANYTHING: Class = 0;
const KEY: Class = 1;
const NAMESPACE: Class = 2;
const LABEL: Class = 3;
const FIELD: Class = 4;

/// A watcher's place in the index.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) wake: Wake,
    pub(super) queued: Queued,
    pub(super) stage: StageCell,
    class: Class,
    /// The hash of the term.
    term: u32,
    /// Where in its bucket it is, so that it can be taken out without a search. Only changed with the
    /// index in hand.
    place: AtomicU32,
}

impl WatcherIndex {
    /// Enters a watcher.
    pub(super) fn insert(&mut self, term: &Term) -> Arc<Entry> {
        let (class, term) = match term {
            Term::Anything => (ANYTHING, self.hash(ANYTHING, "", "")),
            Term::Key(key) => (KEY, self.hash(KEY, key, "")),
            Term::Namespace(name) => (NAMESPACE, self.hash(NAMESPACE, name, "")),
            Term::Label(label, value) => (LABEL, self.hash(LABEL, label, value)),
            Term::Field(place, value) => {
                let class = FIELD + *place as Class;
                (class, self.hash(class, value, ""))
            }
        };
        let entry = Arc::new(Entry {
            wake: Wake::new(),
            queued: Queued::new(),
            stage: StageCell::default(),
            class,
            term,
            place: AtomicU32::new(u32::MAX),
        });
        let count = class as usize;
        self.counts.resize(self.counts.len().max(count + 1), 0);
        if let Some(count) = self.counts.get_mut(count) {
            *count += 1;
        }
        let found = self
            .buckets
            .find_mut(spread(term), |bucket| bucket.term() == term);
        match found {
            Some(bucket) => bucket.insert(entry.clone()),
            None => {
                let bucket = Bucket::new(entry.clone());
                self.buckets
                    .insert_unique(spread(term), bucket, |bucket| spread(bucket.term()));
            }
        }
        entry
    }

    /// Takes a watcher out.
    pub(super) fn remove(&mut self, entry: &Arc<Entry>) {
        let found = self
            .buckets
            .find_entry(spread(entry.term), |bucket| bucket.term() == entry.term);
        let Ok(mut found) = found else {
            return;
        };
        if let Some(count) = self.counts.get_mut(entry.class as usize) {
            *count = count.saturating_sub(1);
        }
        if found.get_mut().remove(entry) {
            found.remove();
            // A crowd that has left leaves no empty room behind.
            if self.buckets.len() * 8 < self.buckets.capacity() {
                let hash = |bucket: &Bucket| spread(bucket.term());
                self.buckets.shrink_to(self.buckets.len() * 2, hash);
            }
        }
    }

    /// Calls every waiting watcher that may care to `mark`; their bells are left to be rung.
    pub(super) fn call(&self, change: &Change<Object>, mark: Mark, called: &mut Vec<Arc<Entry>>) {
        self.call_one(ANYTHING, "", "", mark, called);
        let (before, now) = (change.previous(), change.current());
        let subject = change.subject();
        // Key and namespace are the same before and after.
        if self.wanted(KEY) {
            self.call_one(KEY, subject.key(), "", mark, called);
        }
        if self.wanted(NAMESPACE)
            && let Some((namespace, _)) = subject.key().split_once('/')
        {
            self.call_one(NAMESPACE, namespace, "", mark, called);
        }
        for class in FIELD..self.counts.len() as Class {
            if self.wanted(class) {
                let place = (class - FIELD) as usize;
                let [before, now] = [before, now].map(|object| object?.field_at(place));
                let before = before.filter(|before| Some(*before) != now);
                for value in now.into_iter().chain(before) {
                    self.call_one(class, value, "", mark, called);
                }
            }
        }
        if self.wanted(LABEL) {
            for (label, value) in now.into_iter().flat_map(Object::labels) {
                self.call_one(LABEL, label, value, mark, called);
            }
            for (label, value) in before.into_iter().flat_map(Object::labels) {
                if now.is_none_or(|now| now.label(label) != Some(value)) {
                    self.call_one(LABEL, label, value, mark, called);
                }
            }
        }
    }

    /// Calls everyone: the state has jumped, or is about to end.
    pub(super) fn call_all(&self, mark: Mark, called: &mut Vec<Arc<Entry>>) {
        for bucket in &self.buckets {
            bucket.call(mark, called);
        }
    }

    fn wanted(&self, class: Class) -> bool {
        self.counts
            .get(class as usize)
            .is_some_and(|count| *count > 0)
    }

    fn call_one(
        &self,
        class: Class,
        name: &str,
        value: &str,
        mark: Mark,
        called: &mut Vec<Arc<Entry>>,
    ) {
        if !self.wanted(class) {
            return;
        }
        let term = self.hash(class, name, value);
        let found = self
            .buckets
            .find(spread(term), |bucket| bucket.term() == term);
        if let Some(bucket) = found {
            bucket.call(mark, called);
        }
    }

    fn hash(&self, class: Class, name: &str, value: &str) -> u32 {
        self.hasher.hash_one((class, name, value)) as u32
    }
}

/// A term's hash for the table, which looks at the highest bits too.
fn spread(term: u32) -> u64 {
    u64::from(term).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
