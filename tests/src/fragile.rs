//! A storage that can be made to fail: watches cut off, or silently missing a change; everything put back to another state.

use std::sync::{
    Arc, RwLock,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{
    ChangeSender, Changes, Got, List, Outcome, Page, Storage, StorageError, WatchItem, Write,
};
use tokio::sync::watch;

/// Another storage, with a switch for each fault.
pub struct Fragile {
    /// Never held across an await.
    inner: RwLock<Arc<dyn Storage>>,
    /// How often the watches were cut.
    cuts: watch::Sender<usize>,
    /// How many changes are still to be kept from watches.
    hidden: Arc<AtomicUsize>,
}

impl Fragile {
    /// In front of `inner`; sound until told otherwise.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self {
            inner: RwLock::new(inner),
            cuts: watch::Sender::new(0),
            hidden: Arc::default(),
        }
    }

    /// Ends every running watch as if the connection were lost.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Puts another storage in its place, as a restored backup would be.
    pub fn replace(&self, inner: Arc<dyn Storage>) {
        *self.inner.write().expect("nobody panics with it") = inner;
        self.cut();
    }

    fn inner(&self) -> Arc<dyn Storage> {
        self.inner.read().expect("nobody panics with it").clone()
    }

    /// Keeps the next items with changes from whichever watch meets them first.
    pub fn hide(&self, items: usize) {
        self.hidden.store(items, Ordering::SeqCst);
    }
}

#[async_trait]
impl Storage for Fragile {
    async fn get(&self, key: &str) -> Result<Got, StorageError> {
        self.inner().get(key).await
    }

    async fn list(&self, list: &List) -> Result<Page, StorageError> {
        self.inner().list(list).await
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<Outcome, StorageError> {
        self.inner().commit(writes).await
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<Changes, StorageError> {
        let inner = self.inner().watch(prefix, after).await?;
        let (sender, outer) = Changes::channel();
        let mut cuts = self.cuts.subscribe();
        cuts.mark_unchanged();
        tokio::spawn(forward(inner, sender, cuts, self.hidden.clone()));
        Ok(outer)
    }

    async fn revision(&self) -> Result<Revision, StorageError> {
        self.inner().revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), StorageError> {
        self.inner().compact(revision).await
    }

    fn compacted(&self) -> Revision {
        self.inner().compacted()
    }

    async fn reports_progress(&self) -> bool {
        self.inner().reports_progress().await
    }
}

async fn forward(
    mut inner: Changes,
    mut sender: ChangeSender,
    mut cuts: watch::Receiver<usize>,
    hidden: Arc<AtomicUsize>,
) {
    loop {
        tokio::select! {
            _ = cuts.changed() => {
                let lost = StorageError::Unavailable("cut".to_owned());
                sender.send(Err(lost)).await;
                return;
            }
            asked = sender.asked() => {
                if !asked {
                    return;
                }
                inner.request_progress();
            }
            item = inner.next() => {
                let Some(item) = item else { return };
                let is_change = matches!(item, Ok(WatchItem::Changes { .. }));
                let less = |left: usize| left.checked_sub(1);
                let hide = is_change
                    && hidden.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
                if !hide && !sender.send(item).await {
                    return;
                }
            }
        }
    }
}
