//! A storage as the cache reads it: watched for relists, and cut when a test wants it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{
    Changes, Got, List, Outcome, Page, Storage, StorageError, WatchItem, Write,
};
use tokio::sync::watch;

use crate::recorder::Bridge;

/// Passes everything on. Clones are the same tap.
///
/// A cache that begins a watch after what it was last told knows the stretch in between from a list: that is a
/// [`Bridge`]. Nothing else of the cache has to be known to tell.
#[derive(Clone)]
pub struct Tap {
    storage: Arc<dyn Storage>,
    told: Arc<Mutex<Told>>,
    whole: Arc<watch::Sender<bool>>,
}

#[derive(Default)]
struct Told {
    /// Up to where the cache was told everything.
    until: Option<Revision>,
    bridges: Vec<Bridge>,
    /// How often it went back behind what it was told.
    setbacks: usize,
}

impl Tap {
    /// A tap on a storage.
    pub fn new(storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            told: Arc::default(),
            whole: Arc::new(watch::Sender::new(true)),
        }
    }

    /// The stretches that the cache knows from lists only.
    pub fn bridges(&self) -> Vec<Bridge> {
        self.told().bridges.clone()
    }

    /// How often the cache asked again for what it had been told.
    pub fn setbacks(&self) -> usize {
        self.told().setbacks
    }

    /// Ends watches, and lets nothing through.
    pub fn cut(&self) {
        self.whole.send_replace(false);
    }

    /// Lets everything through again.
    pub fn mend(&self) {
        self.whole.send_replace(true);
    }

    fn check(&self) -> Result<(), StorageError> {
        match *self.whole.borrow() {
            true => Ok(()),
            false => Err(StorageError::Unavailable("cut".to_owned())),
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begins(&self, after: Revision) {
        let mut told = self.told();
        let until = told.until.replace(after).unwrap_or(after);
        if after > until {
            told.bridges.push(Bridge {
                after: until,
                until: after,
            });
        } else if after < until {
            told.setbacks += 1;
        }
    }
}

#[async_trait]
impl Storage for Tap {
    fn compacted(&self) -> Revision {
        self.storage.compacted()
    }

    async fn get(&self, key: &str) -> Result<Got, StorageError> {
        self.check()?;
        self.storage.get(key).await
    }

    async fn list(&self, list: &List) -> Result<Page, StorageError> {
        self.check()?;
        self.storage.list(list).await
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<Outcome, StorageError> {
        self.check()?;
        self.storage.commit(writes).await
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<Changes, StorageError> {
        self.check()?;
        let mut inner = self.storage.watch(prefix, after).await?;
        self.begins(after);
        let (mut sender, outer) = Changes::channel();
        let tap = self.clone();
        tokio::spawn(async move {
            let mut whole = tap.whole.subscribe();
            loop {
                let item = tokio::select! {
                    biased;
                    _ = whole.wait_for(|whole| !whole) => {
                        Err(StorageError::Unavailable("cut".to_owned()))
                    }
                    asked = sender.asked() => match asked {
                        true => {
                            inner.request_progress();
                            continue;
                        }
                        false => return,
                    },
                    item = inner.next() => match item {
                        Some(item) => item,
                        None => return,
                    },
                };
                let revision = match &item {
                    Ok(WatchItem::Changes { revision, .. } | WatchItem::Progress(revision)) => {
                        Some(*revision)
                    }
                    Err(_) => None,
                };
                if !sender.send(item).await {
                    return;
                }
                match revision {
                    Some(revision) => {
                        let mut told = tap.told();
                        told.until = told.until.max(Some(revision));
                    }
                    None => return,
                }
            }
        });
        Ok(outer)
    }

    async fn revision(&self) -> Result<Revision, StorageError> {
        self.check()?;
        self.storage.revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), StorageError> {
        self.storage.compact(revision).await
    }

    async fn reports_progress(&self) -> bool {
        self.check().is_ok() && self.storage.reports_progress().await
    }
}
