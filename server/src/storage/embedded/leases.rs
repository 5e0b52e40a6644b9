//! Which keys go by themselves, and when.
//!
//! Each key has at most one deadline: its last write decides. The memory is bounded by the number of keys
//! that have one.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The deadlines of keys, in milliseconds since 1970, by a clock that goes on while the store is closed.
#[derive(Debug, Default)]
pub(super) struct Leases {
    by_key: HashMap<Arc<str>, u64>,
    by_deadline: BTreeSet<(u64, Arc<str>)>,
}

impl Leases {
    /// Gives a key a new deadline, or none.
    pub(super) fn set(&mut self, key: &Arc<str>, deadline: Option<u64>) {
        if deadline.is_none() && self.by_key.is_empty() {
            return;
        }
        let before = match deadline {
            Some(deadline) => self.by_key.insert(key.clone(), deadline),
            None => self.by_key.remove(key),
        };
        if let Some(before) = before {
            self.by_deadline.remove(&(before, key.clone()));
        }
        if let Some(deadline) = deadline {
            self.by_deadline.insert((deadline, key.clone()));
        }
    }

    /// The deadline of a key, if it has one.
    pub(super) fn of(&self, key: &str) -> Option<u64> {
        self.by_key.get(key).copied()
    }

    /// When the next key is due.
    pub(super) fn next(&self) -> Option<u64> {
        self.by_deadline.first().map(|(deadline, _)| *deadline)
    }

    /// At most `limit` keys that are due, the longest overdue first. They stay until they are [set](Self::set).
    pub(super) fn due(&self, now: u64, limit: usize) -> Vec<Arc<str>> {
        self.by_deadline
            .iter()
            .take_while(|(deadline, _)| *deadline <= now)
            .take(limit)
            .map(|(_, key)| key.clone())
            .collect()
    }
}

/// The time in milliseconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, milliseconds)
}

/// The deadline of something that lives from now for a while; never too early.
pub(super) fn deadline(now: u64, ttl: Duration) -> u64 {
    // Zero would be no deadline at all.
    now.saturating_add(milliseconds(ttl)).saturating_add(1)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_deadline_counts() {
        let mut leases = Leases::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        leases.set(&a, Some(10));
        leases.set(&b, Some(5));
        leases.set(&a, Some(20));
        assert_eq!(leases.due(10, 9), std::slice::from_ref(&b));
        leases.set(&b, None);
        assert_eq!(leases.next(), Some(20));
        leases.set(&a, None);
        assert_eq!(leases.next(), None);
        assert!(leases.due(u64::MAX, 9).is_empty());
    }

    #[test]
    fn a_deadline_is_never_early() {
        assert_eq!(deadline(5, Duration::from_micros(1500)), 7);
        assert_eq!(deadline(5, Duration::MAX), u64::MAX);
        assert_eq!(deadline(0, Duration::ZERO), 1);
    }
}
