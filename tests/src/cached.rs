//! A reader as a storage: writes go to the storage behind it, every read to the reader, which has a cache or has none.
//!
//! It is right when the conformance suite cannot tell it from the storage itself.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use ringwatch_core::{
    revision::{Revision, StartFrom},
    transition::EventKind,
};
use ringwatch_server::{
    cache::{
        CacheError, Capacity, Format, ListRequest, Object, Options, WatchEvent, WatchRequest,
        WatchStart, everything,
    },
    reader::{Reader, Watch},
    storage::{
        ChangeSender, Changes, Condition, Got, KeyChange, KeyValue, List, Outcome, Page, Storage,
        StorageError, WatchItem, Write,
    },
};

/// A reader of everything, and the storage behind it.
pub struct Cached {
    reader: Reader,
    storage: Arc<dyn Storage>,
}

impl Cached {
    /// Puts a cache on a storage and waits until it is filled.
    pub async fn new(storage: Arc<dyn Storage>) -> Self {
        let capacity = Some(Capacity::fixed(10_000));
        Self::with(storage, capacity, Options::default()).await
    }

    /// The same without a cache.
    pub async fn without_cache(storage: Arc<dyn Storage>) -> Self {
        let options = Options {
            // How progress is learned of.
            bookmark_every: Duration::from_millis(20),
            ..Options::default()
        };
        Self::with(storage, None, options).await
    }

    async fn with(storage: Arc<dyn Storage>, capacity: Option<Capacity>, options: Options) -> Self {
        let reader = Reader::start(storage.clone(), "/", Format::Opaque, capacity, options);
        let reader = reader.expect("there are no paths");
        reader.ready().await;
        Self { reader, storage }
    }

    async fn objects(&self, start: StartFrom) -> Result<(Vec<Object>, Revision), StorageError> {
        let request = ListRequest {
            predicate: everything(),
            start,
            limit: 0,
            after: None,
        };
        let listing = self.reader.list(&request).await.map_err(storage_error)?;
        Ok((listing.items, listing.revision))
    }
}

#[async_trait]
impl Storage for Cached {
    async fn get(&self, key: &str) -> Result<Got, StorageError> {
        let (objects, revision) = self.objects(StartFrom::Newest).await?;
        let found = objects.iter().find(|object| object.storage_key() == key);
        Ok(Got {
            found: found.map(key_value),
            revision,
        })
    }

    async fn list(&self, list: &List) -> Result<Page, StorageError> {
        let start = list.at.map_or(StartFrom::Newest, StartFrom::Exact);
        let (objects, revision) = self.objects(start).await?;
        let wanted = |object: &&Object| {
            let key = object.storage_key();
            key.starts_with(&list.prefix) && list.after.as_deref().is_none_or(|after| key > after)
        };
        let mut items: Vec<_> = objects.iter().filter(wanted).map(key_value).collect();
        let all = items.len();
        if list.limit > 0 {
            items.truncate(list.limit);
        }
        Ok(Page {
            remaining: (all - items.len()) as u64,
            items,
            revision,
        })
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<Outcome, StorageError> {
        self.storage.commit(writes).await
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<Changes, StorageError> {
        let floor = self.compacted();
        if after < floor {
            return Err(StorageError::Compacted { floor: Some(floor) });
        }
        let newest = self.revision().await?;
        if after > newest {
            return Err(StorageError::Future {
                newest: Some(newest),
            });
        }
        // What was there before the first change, to tell previous values from.
        let (objects, _) = self.objects(StartFrom::Exact(after)).await?;
        let request = WatchRequest {
            predicate: everything(),
            start: WatchStart::After(after),
            bookmarks: matches!(self.reader, Reader::Direct(_)),
            timeout: None,
        };
        let watch = self.reader.watch(request).await.map_err(storage_error)?;
        let (sender, changes) = Changes::channel();
        let follower = Follower {
            watch,
            prefix: prefix.to_owned(),
            before: objects
                .iter()
                .map(|o| (o.storage_key().into(), key_value(o)))
                .collect(),
            storage: self.storage.clone(),
            reader: self.reader.clone(),
            goal: None,
            sender,
        };
        tokio::spawn(follower.run());
        Ok(changes)
    }

    async fn revision(&self) -> Result<Revision, StorageError> {
        self.storage.revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), StorageError> {
        // Compaction leaves the last minutes alone, so in real life no cache is further behind. One that
        // were would have to list again and give its watchers the difference only.
        self.objects(StartFrom::Newest).await?;
        self.storage.compact(revision).await
    }

    fn compacted(&self) -> Revision {
        self.storage.compacted()
    }
}

/// Turns a watch of the reader into one of storage.
struct Follower {
    watch: Watch,
    prefix: String,
    before: BTreeMap<Arc<str>, KeyValue>,
    storage: Arc<dyn Storage>,
    reader: Reader,
    /// The first bookmark from here on is the progress that was asked for.
    goal: Option<Revision>,
    sender: ChangeSender,
}

impl Follower {
    async fn run(mut self) {
        loop {
            tokio::select! {
                event = self.watch.next() => {
                    let Ok(event) = event else {
                        let lost = StorageError::Compacted { floor: None };
                        self.sender.send(Err(lost)).await;
                        return;
                    };
                    if !self.pass_on(event).await {
                        return;
                    }
                }
                asked = self.sender.asked() => {
                    if !asked || !self.progress().await {
                        return;
                    }
                }
            }
        }
    }

    /// Sends an event and all others that are there, those of one revision together: the cache has
    /// all of a transaction or nothing.
    async fn pass_on(&mut self, first: WatchEvent) -> bool {
        let mut revision = Revision::ZERO;
        let mut changes = Vec::new();
        let mut next = Some(Ok(first));
        while let Some(Ok(event)) = next {
            next = self.watch.try_next();
            if let WatchEvent::Bookmark {
                revision: reached, ..
            } = event
            {
                let sent = self.send(revision, std::mem::take(&mut changes)).await;
                if !sent || !self.reached(reached).await {
                    return false;
                }
                continue;
            }
            let (another, change) = self.change(event);
            if another != revision && !self.send(revision, std::mem::take(&mut changes)).await {
                return false;
            }
            revision = another;
            changes.push(change);
        }
        self.send(revision, changes).await
    }

    async fn send(&self, revision: Revision, changes: Vec<KeyChange>) -> bool {
        let watched = changes
            .into_iter()
            .filter(|change| change.key.starts_with(&self.prefix));
        let changes: Vec<_> = watched.collect();
        changes.is_empty()
            || self
                .sender
                .send(Ok(WatchItem::Changes { revision, changes }))
                .await
    }

    fn change(&mut self, event: WatchEvent) -> (Revision, KeyChange) {
        let WatchEvent::Object {
            kind,
            object,
            revision,
        } = event
        else {
            panic!("bookmarks are dealt with before");
        };
        let key: Arc<str> = object.storage_key().into();
        let (current, previous) = if kind == EventKind::Deleted {
            (None, self.before.remove(&key))
        } else {
            let current = key_value(&object);
            let previous = self.before.insert(key.clone(), current.clone());
            (Some(current), previous)
        };
        // The events say whether there was one before; the suite compares what.
        assert_eq!(
            previous.is_none(),
            kind == EventKind::Added,
            "{kind:?} of {key}"
        );
        (
            revision,
            KeyChange {
                key,
                current,
                previous,
            },
        )
    }

    /// A bookmark is progress, if it was asked for.
    async fn reached(&mut self, revision: Revision) -> bool {
        match self.goal {
            Some(goal) if goal <= revision => {
                self.goal = None;
                self.sender.send(Ok(WatchItem::Progress(revision))).await
            }
            _ => true,
        }
    }

    /// Progress is what a reader has everything up to.
    async fn progress(&mut self) -> bool {
        if let Reader::Direct(_) = self.reader {
            self.goal = self.storage.revision().await.ok();
            return true;
        }
        let request = ListRequest {
            predicate: everything(),
            start: StartFrom::Newest,
            limit: 1,
            after: None,
        };
        if self.reader.list(&request).await.is_err() {
            return true;
        }
        while let Some(Ok(event)) = self.watch.try_next() {
            if !self.pass_on(event).await {
                return false;
            }
        }
        match self.watch.resume_from() {
            Some(revision) => self.sender.send(Ok(WatchItem::Progress(revision))).await,
            None => true,
        }
    }
}

fn key_value(object: &Object) -> KeyValue {
    KeyValue {
        key: object.storage_key().into(),
        value: Bytes::copy_from_slice(object.bytes()),
        mod_revision: object.revision(),
        create_revision: object.create_revision(),
        condition: Condition::Sound,
    }
}

fn storage_error(error: CacheError) -> StorageError {
    match error {
        CacheError::Expired { floor, .. } => StorageError::Compacted { floor: Some(floor) },
        CacheError::TooLarge { newest, .. } => StorageError::Future {
            newest: Some(newest),
        },
        CacheError::Storage(error) => error,
        other => StorageError::Unavailable(other.to_string()),
    }
}
