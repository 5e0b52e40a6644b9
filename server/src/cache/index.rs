//! Which watchers a change may concern.
//!
//! Each watcher is entered under one term: the most telling one that its predicate demands. A change is looked
//! up by the terms of the object before *and* after it, since a watcher must hear when an object leaves
//! its selection. What is found is a superset: every watcher still applies its whole predicate. So the cost of a
//! change follows the number of watchers that may care, not of all, and terms can be kept as mere [hashes](super::term).

mod bucket;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use hashbrown::HashTable;
use ringwatch_core::history::Mark;
use ringwatch_core::object::Change;
use smallvec::SmallVec;

use super::alarm::Queued;
use super::object::Object;
use super::stage::StageCell;
use super::term::{TermHash, TermHasher};
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
#[derive(Debug)]
pub(super) struct WatcherIndex {
    hasher: TermHasher,
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
    pub(super) fn new() -> Self {
        Self {
            hasher: TermHasher::new(),
            buckets: HashTable::new(),
            counts: SmallVec::new(),
        }
    }

    /// Enters a watcher.
    pub(super) fn insert(&mut self, term: &Term) -> Arc<Entry> {
        let hasher = self.hasher;
        let (class, term) = match term {
            Term::Anything => (ANYTHING, hasher.anything()),
            Term::Key(key) => (KEY, hasher.key(key)),
            Term::Namespace(name) => (NAMESPACE, hasher.namespace(name)),
            Term::Label(label, value) => (LABEL, hasher.label(label.as_bytes(), value.as_bytes())),
            Term::Field(place, value) => {
                let term = hasher.field(*place, value.as_bytes());
                (FIELD + *place as Class, term)
            }
        };
        let term = term.low();
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
        let mut call = |term: TermHash| self.call_one(term.low(), mark, called);
        let (before, now) = (change.previous(), change.current());
        let subject = change.subject();
        // Key and namespace are the same before and after.
        if self.wanted(ANYTHING) {
            call(self.hasher.anything());
        }
        if self.wanted(KEY) {
            call(self.hasher.key(subject.key()));
        }
        if self.wanted(NAMESPACE)
            && let Some((namespace, _)) = subject.key().split_once('/')
        {
            call(self.hasher.namespace(namespace));
        }
        for class in FIELD..self.counts.len() as Class {
            if self.wanted(class) {
                let place = (class - FIELD) as usize;
                let [before, now] = [before, now].map(|object| object?.field_term(place));
                // Who is under the same term has been called.
                let before = before.filter(|before| Some(*before) != now);
                for term in now.into_iter().chain(before) {
                    self.call_one(term, mark, called);
                }
            }
        }
        if self.wanted(LABEL) {
            let [before, now] =
                [before, now].map(|object| object.map_or(&[][..], Object::label_terms));
            let before = before.iter().filter(|before| !now.contains(before));
            for term in now.iter().chain(before) {
                self.call_one(*term, mark, called);
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

    fn call_one(&self, term: u32, mark: Mark, called: &mut Vec<Arc<Entry>>) {
        let found = self
            .buckets
            .find(spread(term), |bucket| bucket.term() == term);
        if let Some(bucket) = found {
            bucket.call(mark, called);
        }
    }
}

/// A term's hash for the table, which looks at the highest bits too.
fn spread(term: u32) -> u64 {
    u64::from(term).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
