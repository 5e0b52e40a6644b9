//! Stored values that are not served because they cannot be decoded.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::decode::Undecodable;

/// How many keys one list may name in the log. With a lost encryption key it would be all of them.
const NAMED: usize = 10;

/// What is set aside, by its key in storage. Says in the log when a key comes in and when it goes, and nothing in between.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    held: Mutex<BTreeMap<Arc<str>, Undecodable>>,
    /// How many are held, so that the usual case, none, costs no lock.
    len: AtomicUsize,
}

impl Quarantine {
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    pub(super) fn all(&self) -> Vec<Undecodable> {
        self.held().values().cloned().collect()
    }

    /// Sets a value aside.
    pub(super) fn admit(&self, bad: Undecodable) {
        let mut held = self.held();
        let before = held.insert(bad.key.clone(), bad.clone());
        self.len.store(held.len(), Ordering::Relaxed);
        drop(held);
        if before.is_none_or(|before| before.why != bad.why) {
            tracing::warn!(key = %bad.key, why = %bad, "object set aside");
        }
    }

    /// The key can be read again, or is gone.
    pub(super) fn release(&self, key: &str) {
        if self.len() == 0 {
            return;
        }
        let mut held = self.held();
        let released = held.remove(key).is_some();
        self.len.store(held.len(), Ordering::Relaxed);
        drop(held);
        if released {
            tracing::info!(key, "object no longer set aside");
        }
    }

    /// A list has shown everything there is.
    pub(super) fn replace(&self, listed: Vec<Undecodable>) {
        let listed: BTreeMap<_, _> = listed.into_iter().map(|b| (b.key.clone(), b)).collect();
        let mut held = self.held();
        let fresh = listed
            .values()
            .filter(|bad| held.get(&bad.key) != Some(*bad));
        let fresh: Vec<_> = fresh.cloned().collect();
        let len = listed.len();
        *held = listed;
        self.len.store(len, Ordering::Relaxed);
        drop(held);
        for bad in fresh.iter().take(NAMED) {
            tracing::warn!(key = %bad.key, why = %bad, "object set aside");
        }
        if fresh.len() > NAMED {
            let more = fresh.len() - NAMED;
            tracing::warn!(more, "more objects set aside");
        }
    }

    // Entries are put in and taken out whole, so a panic elsewhere leaves nothing half done.
    fn held(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Undecodable>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
