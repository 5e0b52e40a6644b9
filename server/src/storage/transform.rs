//! Values on their way to and from a store: encryption at rest.
//!
//! ```text
//!   cache, requests ──► Transformed<S> ──► S (etcd, embedded)
//!        values          seals, opens       sealed values
//! ```
//!
//! [`Transformed`] is a storage around another one. What is written is sealed under the first entry of a key file; what is
//! read is opened under any of them. A value is bound to its key, so that it cannot be put in the place of another.
//! A value that cannot be opened has the condition [`Corrupt`](Condition::Corrupt), wherever it turns up: in a get, in a
//! list, in a conflict or in a watch, as the current value or the previous one. It never makes a failure of a list.
//!
//! - [`Transformer`]: seals and opens single values; its documentation has the stored format
//! - [`KeyFileError`]: what is wrong with a key file; its documentation has the file's format
//! - [`rewrite_stale`]: after a change of keys, writes old values again
//!
//! # Changing keys
//!
//! 1. Append the new key to the file of every server, so that all can read it; restart them.
//! 2. Move it to the first line everywhere; restart. New values are written under it, older ones are now
//!    [`Stale`](Condition::Stale) and are written again when they are next updated.
//! 3. Write the rest again with [`rewrite_stale`], then remove the old key.
//!
//! To begin with encryption, the line `plain` takes the part of the old key; to end it, that of the new one.

mod envelope;
mod key_file;
mod rewrite;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use ringwatch_core::revision::Revision;

use super::{
    ChangeSender, Changes, Condition, Got, KeyValue, List, Outcome, Page, Storage, StorageError,
    WatchItem, Write,
};

pub use envelope::Transformer;
pub use key_file::{Field, KeyFileError, Problem};
pub use rewrite::{Rewrite, rewrite_stale};

/// A storage whose values pass a [`Transformer`].
#[derive(Debug)]
pub struct Transformed<S> {
    inner: S,
    /// Shared with the running watches.
    transformer: Arc<Transformer>,
}

impl<S: Storage> Transformed<S> {
    /// Puts the transformer in front of `inner`.
    pub fn new(inner: S, transformer: Transformer) -> Self {
        Self {
            inner,
            transformer: Arc::new(transformer),
        }
    }

    /// The storage behind, whose values are as they are stored.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

#[async_trait]
impl<S: Storage> Storage for Transformed<S> {
    async fn get(&self, key: &str) -> Result<Got, StorageError> {
        let mut got = self.inner.get(key).await?;
        self.transformer.open_all(&mut got.found);
        Ok(got)
    }

    async fn list(&self, list: &List) -> Result<Page, StorageError> {
        let mut page = self.inner.list(list).await?;
        self.transformer.open_all(&mut page.items);
        Ok(page)
    }

    async fn commit(&self, mut writes: Vec<Write>) -> Result<Outcome, StorageError> {
        for write in &mut writes {
            if let Some(value) = &mut write.value {
                *value = self.transformer.seal(&write.key, value)?;
            }
        }
        let mut outcome = self.inner.commit(writes).await?;
        if let Outcome::Conflict { current, .. } = &mut outcome {
            self.transformer.open_all(current.iter_mut().flatten());
        }
        Ok(outcome)
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<Changes, StorageError> {
        let inner = self.inner.watch(prefix, after).await?;
        let (sender, outer) = Changes::channel();
        tokio::spawn(forward(inner, sender, self.transformer.clone()));
        Ok(outer)
    }

    async fn revision(&self) -> Result<Revision, StorageError> {
        self.inner.revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), StorageError> {
        self.inner.compact(revision).await
    }

    fn compacted(&self) -> Revision {
        self.inner.compacted()
    }

    fn is_writable(&self) -> bool {
        self.inner.is_writable()
    }

    async fn reports_progress(&self) -> bool {
        self.inner.reports_progress().await
    }
}

impl Transformer {
    fn open_all<'a>(&self, values: impl IntoIterator<Item = &'a mut KeyValue>) {
        for value in values {
            // What the storage behind says about a value is not made better here.
            if value.condition == Condition::Corrupt {
                continue;
            }
            let (opened, condition): (Bytes, _) = self.open(&value.key, &value.value);
            value.value = opened;
            if condition != Condition::Sound {
                value.condition = condition;
            }
        }
    }
}

/// Opens a watch's items on their way, until either end is gone.
async fn forward(mut inner: Changes, mut sender: ChangeSender, transformer: Arc<Transformer>) {
    loop {
        tokio::select! {
            asked = sender.asked() => {
                if !asked {
                    return;
                }
                inner.request_progress();
            }
            next = inner.next() => {
                let Some(mut next) = next else { return };
                if let Ok(WatchItem::Changes { changes, .. }) = &mut next {
                    for change in changes {
                        transformer.open_all(&mut change.current);
                        transformer.open_all(&mut change.previous);
                    }
                }
                if !sender.send(next).await {
                    return;
                }
            }
        }
    }
}
