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

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::super::decode::Why;
    use super::*;

    /// Gathers the messages of a run.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            event.record(&mut self.clone());
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    impl Visit for Log {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            if field.name() == "message" {
                let mut lines = self.0.lock().unwrap();
                lines.push(format!("{value:?}"));
            }
        }
    }

    fn logged(run: impl FnOnce()) -> Vec<String> {
        let log = Log::default();
        tracing::subscriber::with_default(log.clone(), run);
        log.0.lock().unwrap().clone()
    }

    fn bad(key: &str, why: Why) -> Undecodable {
        let key = key.into();
        Undecodable { key, why }
    }

    const IN: &str = "object set aside";
    const OUT: &str = "object no longer set aside";

    #[test]
    fn only_changes_are_logged() {
        let quarantine = Quarantine::default();
        let lines = logged(|| {
            quarantine.release("/a");
            quarantine.admit(bad("/a", Why::Corrupt));
            quarantine.admit(bad("/a", Why::Corrupt));
            quarantine.admit(bad("/a", Why::Foreign));
            quarantine.replace(vec![bad("/a", Why::Foreign), bad("/b", Why::Corrupt)]);
            quarantine.release("/b");
            quarantine.release("/b");
        });
        assert_eq!(lines, [IN, IN, IN, OUT]);
        assert_eq!(quarantine.all(), [bad("/a", Why::Foreign)]);
        assert_eq!(quarantine.len(), 1);
    }

    #[test]
    fn a_list_of_nothing_but_trouble_is_summed_up() {
        let quarantine = Quarantine::default();
        let many = (0..1_000).map(|number| bad(&format!("/{number}"), Why::Corrupt));
        let lines = logged(|| quarantine.replace(many.collect()));
        assert_eq!(lines.len(), NAMED + 1);
        assert_eq!(quarantine.len(), 1_000);
    }
}
