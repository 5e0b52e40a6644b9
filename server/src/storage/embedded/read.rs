//! One key, and lists, now and in the past.

use std::sync::Arc;

use ringwatch_core::revision::Revision;

use super::shared::{Shared, closed};
use super::versions::Held;
use crate::storage::{Got, KeyValue, List, Page, StorageError};

/// How many keys a list looks at before it lets go of the state.
const CHUNK: usize = 512;

/// One key, as it is now.
pub(super) async fn get(shared: &Arc<Shared>, key: &str) -> Result<Got, StorageError> {
    loop {
        let revision = shared.committed();
        let found = {
            let state = shared.state();
            let held = state.index.at(key, revision);
            held.map(|held| (state.index.key(key).cloned(), held))
        };
        let Some((key, held)) = found else {
            let found = None;
            return Ok(Got { found, revision });
        };
        let key = key.unwrap_or_default();
        match values(shared, vec![(key, held)], revision).await {
            // The key was changed and the state compacted in the meantime: look at the new one.
            Err(StorageError::Compacted { .. }) => {}
            Err(error) => return Err(error),
            Ok(mut items) => {
                return Ok(Got {
                    found: items.pop(),
                    revision,
                });
            }
        }
    }
}

/// Keys in byte order.
pub(super) async fn list(shared: &Arc<Shared>, list: &List) -> Result<Page, StorageError> {
    let Some(at) = list.at else {
        loop {
            match list_at(shared, list, shared.committed()).await {
                // As above.
                Err(StorageError::Compacted { .. }) => {}
                result => return result,
            }
        }
    };
    let newest = shared.committed();
    if at > newest {
        return Err(StorageError::Future {
            newest: Some(newest),
        });
    }
    list_at(shared, list, at).await
}

async fn list_at(
    shared: &Arc<Shared>,
    list: &List,
    revision: Revision,
) -> Result<Page, StorageError> {
    let limit = match list.limit {
        0 => usize::MAX,
        limit => limit,
    };
    let mut page = Page {
        items: Vec::new(),
        revision,
        remaining: 0,
    };
    let mut after: Option<Arc<str>> = list.after.as_deref().map(Into::into);
    loop {
        let mut chunk = Vec::new();
        after = {
            let state = shared.state();
            state.check(revision)?;
            let room = limit - page.items.len();
            let prefix = &list.prefix;
            let show = |key: &Arc<str>, version, value: Option<&bytes::Bytes>| {
                if chunk.len() < room {
                    let value = value.cloned();
                    chunk.push((key.clone(), Held { version, value }));
                } else {
                    page.remaining += 1;
                }
            };
            state
                .index
                .scan(prefix, after.as_deref(), revision, CHUNK, show)
        };
        page.items.extend(values(shared, chunk, revision).await?);
        if after.is_none() {
            return Ok(page);
        }
        tokio::task::yield_now().await;
    }
}

/// Adds the values of versions of a state.
async fn values(
    shared: &Arc<Shared>,
    found: Vec<(Arc<str>, Held)>,
    revision: Revision,
) -> Result<Vec<KeyValue>, StorageError> {
    let in_memory = found.iter().all(|(_, held)| held.value.is_some());
    let from = shared.clone();
    let read = move || {
        let items = found.into_iter().map(|(key, held)| {
            let value = from.value(&held, revision)?;
            Ok(held.version.with(key, value))
        });
        items.collect()
    };
    if in_memory {
        read()
    } else {
        blocking(read).await
    }
}

/// Runs what waits for the disk where it holds up nobody.
pub(super) async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, StorageError> {
    tokio::task::spawn_blocking(act)
        .await
        .unwrap_or_else(|_| Err(closed()))
}
