//! A running watch on a store.

use std::sync::Arc;

use ringwatch_core::revision::Revision;
use tokio::sync::mpsc;

use super::{KeyValue, StorageError};

/// How many items may wait for the reader. A reader that is slower than that holds up its own watch
/// and nothing else.
const WAITING_ITEMS: usize = 256;

/// What a watch yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchItem {
    /// All changes of one revision to watched keys.
    Changes {
        /// The revision.
        revision: Revision,
        /// The changes; at least one.
        changes: Vec<KeyChange>,
    },
    /// Every change up to this revision has been yielded.
    Progress(Revision),
}

/// What happened to one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyChange {
    /// The key.
    pub key: Arc<str>,
    /// The key now; `None` if it was deleted.
    pub current: Option<KeyValue>,
    /// The key before; `None` if it did not exist.
    pub previous: Option<KeyValue>,
}

/// A running watch. Dropping it ends it.
///
/// The stream ends after an error. With [`StorageError::Unavailable`] a new watch from the last revision
/// continues; with [`StorageError::Compacted`] it would not.
#[derive(Debug)]
pub struct Changes {
    items: mpsc::Receiver<Result<WatchItem, StorageError>>,
    progress: mpsc::Sender<()>,
}

impl Changes {
    /// A watch and the end that feeds it, for implementations of storage.
    pub fn channel() -> (ChangeSender, Self) {
        let (sender, items) = mpsc::channel(WAITING_ITEMS);
        let (progress, asked) = mpsc::channel(1);
        (ChangeSender { sender, asked }, Self { items, progress })
    }

    /// The next item; `None` after the end.
    pub async fn next(&mut self) -> Option<Result<WatchItem, StorageError>> {
        self.items.recv().await
    }

    /// Waits for an item and adds all that are there, up to `limit`, to `items`. Gives how many; 0 after the end.
    ///
    /// A reader that cannot keep up pays for waking once in a while and not for every item.
    pub async fn next_many(
        &mut self,
        items: &mut Vec<Result<WatchItem, StorageError>>,
        limit: usize,
    ) -> usize {
        self.items.recv_many(items, limit).await
    }

    /// Asks for a [`WatchItem::Progress`] soon, although nothing may have happened. Asking again before
    /// it came changes nothing.
    pub fn request_progress(&self) {
        // Full means that a request is waiting, closed that the watch is over: either way there is
        // nothing to do.
        let _ = self.progress.try_send(());
    }
}

/// The feeding end of a [`Changes`].
#[derive(Debug)]
pub struct ChangeSender {
    sender: mpsc::Sender<Result<WatchItem, StorageError>>,
    asked: mpsc::Receiver<()>,
}

impl ChangeSender {
    /// Waits until there is room and sends. `false`: nobody watches any more.
    pub async fn send(&self, item: Result<WatchItem, StorageError>) -> bool {
        self.sender.send(item).await.is_ok()
    }

    /// As [`send`](Self::send), for several items that are there at once: sender and reader wait and wake once for many.
    pub async fn send_all<I>(&self, items: I) -> bool
    where
        I: IntoIterator<Item = WatchItem, IntoIter: ExactSizeIterator>,
    {
        let mut items = items.into_iter();
        while items.len() > 0 {
            // Half of the room: one half is read while the other is filled.
            let some = items.len().min(WAITING_ITEMS / 2);
            let Ok(places) = self.sender.reserve_many(some).await else {
                return false;
            };
            for (place, item) in places.zip(items.by_ref()) {
                place.send(Ok(item));
            }
        }
        true
    }

    /// Waits until the reader asks for progress (`true`) or is gone (`false`): both in one, since a task
    /// that waits for one of them only would miss the other.
    pub async fn asked(&mut self) -> bool {
        self.asked.recv().await.is_some()
    }
}
