//! The decision on one transaction: whether its conditions hold, and what it changes.

use std::sync::Arc;

use bytes::Bytes;
use ringwatch_core::revision::Revision;

use super::leases::{self, Leases};
use super::recent::{Change, Transaction};
use super::record::Record;
use super::shared::State;
use super::versions::{Held, Position, Version};
use crate::storage::{Ttl, Write};

/// How a transaction was decided. Nobody may hear of it before the log has it.
#[derive(Debug)]
pub(super) enum Decision {
    Committed(Revision),
    Conflict {
        /// Each write's key as it is.
        current: Vec<Option<(Arc<str>, Held)>>,
        revision: Revision,
    },
}

/// What decisions are made on, and where they lead.
#[derive(Debug)]
pub(super) struct Decider<'a> {
    pub(super) state: &'a mut State,
    pub(super) leases: &'a mut Leases,
    /// The revision of the last transaction that changed something.
    pub(super) newest: &'a mut Revision,
    /// What the log is to get.
    pub(super) records: &'a mut Vec<(Position, Bytes)>,
    /// The time, in milliseconds since 1970.
    pub(super) now: u64,
}

impl Decider<'_> {
    /// Decides a transaction of somebody.
    pub(super) fn decide(&mut self, writes: Vec<Write>) -> Decision {
        let index = &self.state.index;
        let as_expected = writes.iter().all(|write| {
            let current = index.newest(&write.key);
            current.map_or(Revision::ZERO, |held| held.version.position.revision) == write.expected
        });
        if !as_expected {
            let current = writes.into_iter().map(|write| {
                let held = index.newest(&write.key)?.clone();
                Some((write.key, held))
            });
            return Decision::Conflict {
                current: current.collect(),
                revision: *self.newest,
            };
        }
        self.apply(writes);
        Decision::Committed(*self.newest)
    }

    /// Deletes keys that are due, at a revision of their own.
    pub(super) fn expire(&mut self, keys: Vec<Arc<str>>) {
        let deletion = |key| Write::delete(key, Revision::ZERO);
        self.apply(keys.into_iter().map(deletion).collect());
    }

    /// Does the writes, whatever they expect.
    fn apply(&mut self, writes: Vec<Write>) {
        let revision = Revision::new(self.newest.get() + 1);
        let mut changes = Vec::with_capacity(writes.len());
        for write in writes {
            let place = changes.len() as u32;
            let position = Position { revision, place };
            if let Some(change) = self.write(position, write) {
                changes.push(change);
            }
        }
        // As with etcd, what changes nothing takes no revision.
        if !changes.is_empty() {
            *self.newest = revision;
            self.state.recent.push(Transaction { revision, changes });
            self.state.index.shrink();
        }
    }

    fn write(&mut self, position: Position, write: Write) -> Option<Change> {
        let index = &mut self.state.index;
        let current = index.newest(&write.key);
        if current.is_none() && write.value.is_none() {
            return None;
        }
        let created = match (&write.value, current) {
            (None, _) => Revision::ZERO,
            (Some(_), Some(current)) => current.version.created,
            (Some(_), None) => position.revision,
        };
        let key = index.key(&write.key).cloned().unwrap_or(write.key);
        let deadline = match (&write.value, write.ttl) {
            (None, _) | (_, Ttl::None) => None,
            (_, Ttl::After(ttl)) => Some(leases::deadline(self.now, ttl)),
            // A key that does not exist has no deadline.
            (_, Ttl::Keep) => self.leases.of(&key),
        };
        let bytes = write.value.as_deref().unwrap_or_default();
        let (record, value) = Record::encode(&key, created, deadline, bytes);
        self.records.push((position, record));
        self.leases.set(&key, deadline);
        let current = Held {
            version: Version { position, created },
            value: write.value.map(|_| value),
        };
        let previous = index.push(key.clone(), current.clone());
        Some(Change {
            key,
            current,
            previous,
        })
    }
}
