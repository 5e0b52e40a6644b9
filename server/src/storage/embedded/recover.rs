//! What a store is when it is opened: all of it follows from the log.

use std::collections::HashMap;
use std::sync::Arc;

use ringwatch_core::revision::Revision;

use super::index::Index;
use super::leases::Leases;
use super::log::Log;
use super::options::Options;
use super::recent::Recent;
use super::record::Record;
use super::shared::State;
use super::versions::{Held, Position};
use crate::storage::StorageError;

/// The revision of a store in which nothing has happened. It is 1, as with etcd, so that a list of an empty store has a
/// revision to watch from; 0 would mean "any".
pub(super) const FIRST: Revision = Revision::new(1);

/// How many records are read at a time.
const CHUNK: usize = 4096;

/// What the log says.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) state: State,
    pub(super) leases: Leases,
    pub(super) newest: Revision,
}

/// Reads the whole log.
pub(super) fn recover(
    log: &dyn Log,
    floor: Revision,
    options: &Options,
) -> Result<Recovered, StorageError> {
    let mut index = Index::new(options.values_in_memory);
    // The newest record may be gone if it was a deletion, but only up to the floor.
    let mut newest = FIRST.max(floor);
    let mut deadlines: HashMap<Arc<str>, u64> = HashMap::new();
    let mut from = Position::start_of(Revision::ZERO);
    loop {
        let records = log.scan(from, Revision::new(u64::MAX), CHUNK)?;
        let Some((last, _)) = records.last() else {
            break;
        };
        newest = newest.max(last.revision);
        from = last.next();
        for (position, bytes) in records {
            let record = Record::decode(position, &bytes)?;
            let known = index.key(record.key()).cloned();
            let key = known.unwrap_or_else(|| record.key().into());
            match record.deadline {
                Some(deadline) => deadlines.insert(key.clone(), deadline),
                None => deadlines.remove(&key),
            };
            let room = index.has_room(record.value.len());
            let held = Held {
                version: record.version,
                value: room.then_some(record.value),
            };
            index.push(key, held);
        }
    }
    let mut leases = Leases::default();
    for (key, deadline) in deadlines {
        leases.set(&key, Some(deadline));
    }
    Ok(Recovered {
        state: State {
            index,
            recent: Recent::new(options.history_in_memory),
            floor,
        },
        leases,
        newest,
    })
}
