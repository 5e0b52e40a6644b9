//! The watchers under one term.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringwatch_core::history::Mark;

use super::Entry;

/// The watchers under one term; with terms like a node's name mostly one. Never empty.
#[derive(Debug)]
pub(super) enum Bucket {
    One(Arc<Entry>),
    #[expect(
        clippy::box_collection,
        reason = "most are `One`, and there may be a hundred thousand"
    )]
    Many(Box<Vec<Arc<Entry>>>),
}

impl Bucket {
    pub(super) fn new(entry: Arc<Entry>) -> Self {
        entry.place.store(0, Ordering::Relaxed);
        Self::One(entry)
    }

    /// The hash of the term; every watcher here has it.
    pub(super) fn term(&self) -> u32 {
        self.entries().first().map_or(0, |entry| entry.term)
    }

    pub(super) fn insert(&mut self, entry: Arc<Entry>) {
        entry
            .place
            .store(self.entries().len() as u32, Ordering::Relaxed);
        match self {
            Self::One(first) => *self = Self::Many(Box::new(vec![first.clone(), entry])),
            Self::Many(entries) => entries.push(entry),
        }
    }

    /// Takes a watcher out; `true` if it was the last, and the bucket must go.
    pub(super) fn remove(&mut self, entry: &Arc<Entry>) -> bool {
        match self {
            Self::One(only) => Arc::ptr_eq(only, entry),
            Self::Many(entries) => {
                let place = entry.place.load(Ordering::Relaxed) as usize;
                let here = |held: &Arc<Entry>| Arc::ptr_eq(held, entry);
                if entries.get(place).is_some_and(here) {
                    entries.swap_remove(place);
                    if let Some(moved) = entries.get(place) {
                        moved.place.store(place as u32, Ordering::Relaxed);
                    }
                    if entries.len() * 4 < entries.capacity() {
                        entries.shrink_to(entries.len() * 2);
                    }
                }
                entries.is_empty()
            }
        }
    }

    pub(super) fn call(&self, mark: Mark, called: &mut Vec<Arc<Entry>>) {
        let entries = self.entries().iter();
        called.extend(entries.filter(|entry| entry.wake.call(mark)).cloned());
    }

    fn entries(&self) -> &[Arc<Entry>] {
        match self {
            Self::One(entry) => std::slice::from_ref(entry),
            Self::Many(entries) => entries,
        }
    }
}
