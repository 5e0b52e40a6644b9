//! Storages with one deliberate fault each, to show that the conformance suite finds it.
//!
//! A [`Mutant`] is a [`Reference`] behind a wrapper that distorts what goes in or comes out.

mod stream;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{
    Changes, Condition, Got, KeyValue, List, Outcome, Page, Storage, StorageError, Ttl, Write,
};

use crate::reference::Reference;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say what is wrong")]
pub enum Fault {
    /// Nothing: the wrapper itself must not be what the suite finds.
    None,
    WatchLosesAnEvent,
    WatchRepeatsAnEvent,
    WatchSwapsEvents,
    WatchTearsTransactions,
    WatchShowsWrongPrevious,
    WatchShowsNoPreviousOfDeletions,
    WatchLosesEventsWhenFull,
    WatchLeaksPastThePrefix,
    WatchForgetsThePast,
    WatchRepeatsTheStart,
    WatchSkipsWhatIsCompacted,
    ProgressComesTooEarly,
    ProgressGoesTooFar,
    ListIsOffByOne,
    ListIgnoresItsRevision,
    ListRepeatsTheLastOfThePage,
    ListTakesZeroForNone,
    ListMiscountsTheRest,
    ListOrdersByFolder,
    ListLeaksPastThePrefix,
    ReadsAreOld,
    CreateRevisionIsForgotten,
    EverythingIsStale,
    CommitIsTorn,
    CommitTakesARevisionPerWrite,
    CommitIgnoresConditions,
    CommitChecksTooEarly,
    CommitTakesDuplicates,
    ConflictShowsNothing,
    TtlOutlivesAnUpdate,
    TtlEndsTooEarly,
    TtlIsNotKept,
    TtlBeginsAnewWhenKept,
    CompactionForgetsTooMuch,
    CompactionForgetsNothing,
    CompactionIsNotTold,
}

/// A storage with a fault.
#[derive(Debug)]
pub struct Mutant {
    inner: Reference,
    fault: Fault,
    /// The limits given to keys, for the faults that remember them.
    limits: Mutex<BTreeMap<Arc<str>, Duration>>,
}

impl Mutant {
    /// A new store with this fault.
    pub fn new(fault: Fault) -> Self {
        Self {
            inner: Reference::new(),
            fault,
            limits: Mutex::default(),
        }
    }

    fn distort(&self, found: &mut KeyValue) {
        match self.fault {
            Fault::CreateRevisionIsForgotten => found.create_revision = found.mod_revision,
            Fault::EverythingIsStale => found.condition = Condition::Stale,
            _ => {}
        }
    }

    /// The writes as they would have to be to fit the state now.
    async fn fitting(&self, mut writes: Vec<Write>) -> Result<Vec<Write>, StorageError> {
        for write in &mut writes {
            let found = self.inner.get(&write.key).await?.found;
            write.expected = found.map_or(Revision::ZERO, |found| found.mod_revision);
        }
        Ok(writes)
    }
}

#[async_trait]
impl Storage for Mutant {
    async fn get(&self, key: &str) -> Result<Got, StorageError> {
        let mut got = self.inner.get(key).await?;
        if self.fault == Fault::ReadsAreOld {
            let list = List {
                prefix: key.to_owned(),
                ..List::default()
            };
            let page = self.list(&list).await?;
            got.found = page.items.into_iter().find(|item| &*item.key == key);
        }
        got.found.iter_mut().for_each(|found| self.distort(found));
        Ok(got)
    }

    async fn list(&self, list: &List) -> Result<Page, StorageError> {
        let mut asked = list.clone();
        match (self.fault, list.at) {
            (Fault::ListIsOffByOne, Some(at)) => asked.at = Some(at.previous()),
            (Fault::ListIgnoresItsRevision, Some(_)) => asked.at = None,
            (Fault::ReadsAreOld, None) => {
                asked.at = Some(self.inner.revision().await?.previous());
            }
            (Fault::ListTakesZeroForNone, _) if list.limit == 0 => asked.limit = 1,
            (Fault::ListRepeatsTheLastOfThePage, _) => {
                // A text just before the key, so that the key comes after it.
                asked.after = list.after.clone().map(|mut after| {
                    after.pop();
                    after
                });
            }
            (Fault::ListLeaksPastThePrefix, _) => {
                asked.prefix = list.prefix.trim_end_matches('/').to_owned();
            }
            _ => {}
        }
        let mut page = self.inner.list(&asked).await?;
        page.revision = list.at.unwrap_or(page.revision);
        page.items.iter_mut().for_each(|item| self.distort(item));
        match self.fault {
            Fault::ListMiscountsTheRest if page.remaining > 0 => page.remaining += 1,
            Fault::ListOrdersByFolder => {
                let folders = |item: &KeyValue| -> Vec<String> {
                    item.key.split('/').map(str::to_owned).collect()
                };
                page.items.sort_by_key(folders);
            }
            _ => {}
        }
        Ok(page)
    }

    async fn commit(&self, mut writes: Vec<Write>) -> Result<Outcome, StorageError> {
        match self.fault {
            Fault::CommitIgnoresConditions => writes = self.fitting(writes).await?,
            Fault::CommitTakesDuplicates => {
                let last: BTreeMap<_, _> = writes.into_iter().map(|w| (w.key.clone(), w)).collect();
                writes = last.into_values().collect();
            }
            Fault::CommitChecksTooEarly => {
                let fitting = self.fitting(writes.clone()).await?;
                if writes == fitting {
                    // Time for someone else to get in between the check and the writes.
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    writes = self.fitting(writes).await?;
                }
            }
            Fault::CommitIsTorn => {
                let fitting = self.fitting(writes.clone()).await?;
                for (write, fits) in writes.iter().zip(&fitting) {
                    if writes != fitting && write == fits {
                        self.inner.commit(vec![write.clone()]).await?;
                    }
                }
            }
            Fault::CommitTakesARevisionPerWrite => {
                while writes.len() > 1 && self.fitting(writes.clone()).await? == writes {
                    self.inner.commit(vec![writes.remove(0)]).await?;
                }
            }
            Fault::TtlEndsTooEarly => {
                for write in &mut writes {
                    if let Ttl::After(ttl) = &mut write.ttl {
                        *ttl /= 4;
                    }
                }
            }
            Fault::TtlOutlivesAnUpdate => {
                let mut limits = self.limits.lock().expect("no one panics with it");
                for write in &mut writes {
                    match write.ttl {
                        Ttl::After(ttl) => drop(limits.insert(write.key.clone(), ttl)),
                        Ttl::None => write.ttl = limited(limits.get(&write.key)),
                        Ttl::Keep => {}
                    }
                }
            }
            Fault::TtlBeginsAnewWhenKept => {
                let mut limits = self.limits.lock().expect("no one panics with it");
                for write in &mut writes {
                    match write.ttl {
                        Ttl::After(ttl) => drop(limits.insert(write.key.clone(), ttl)),
                        Ttl::None => drop(limits.remove(&write.key)),
                        Ttl::Keep => write.ttl = limited(limits.get(&write.key)),
                    }
                }
            }
            Fault::TtlIsNotKept => {
                for write in &mut writes {
                    if write.ttl == Ttl::Keep {
                        write.ttl = Ttl::None;
                    }
                }
            }
            _ => {}
        }
        let mut outcome = self.inner.commit(writes).await?;
        if let Outcome::Conflict { current, .. } = &mut outcome {
            current.iter_mut().flatten().for_each(|it| self.distort(it));
            if self.fault == Fault::ConflictShowsNothing {
                current.fill(None);
            }
        }
        Ok(outcome)
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<Changes, StorageError> {
        let newest = self.inner.revision().await?;
        let (prefix, after) = match self.fault {
            Fault::WatchLeaksPastThePrefix => (prefix.trim_end_matches('/'), after),
            Fault::WatchForgetsThePast => (prefix, newest.max(after)),
            Fault::WatchRepeatsTheStart => (prefix, after.previous()),
            Fault::WatchSkipsWhatIsCompacted => {
                let list = List {
                    at: Some(after),
                    ..List::default()
                };
                match self.inner.list(&list).await {
                    Err(StorageError::Compacted { floor: Some(floor) }) => (prefix, floor),
                    _ => (prefix, after),
                }
            }
            _ => (prefix, after),
        };
        let changes = self.inner.watch(prefix, after).await?;
        Ok(stream::distorted(changes, self.fault, newest))
    }

    async fn revision(&self) -> Result<Revision, StorageError> {
        self.inner.revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), StorageError> {
        match self.fault {
            Fault::CompactionForgetsNothing => Ok(()),
            Fault::CompactionForgetsTooMuch => {
                let more = Revision::new(revision.get() + 1);
                self.inner.compact(more).await
            }
            _ => self.inner.compact(revision).await,
        }
    }

    fn compacted(&self) -> Revision {
        match self.fault {
            Fault::CompactionIsNotTold => Revision::ZERO,
            _ => self.inner.compacted(),
        }
    }
}

fn limited(limit: Option<&Duration>) -> Ttl {
    limit.map_or(Ttl::None, |limit| Ttl::After(*limit))
}
