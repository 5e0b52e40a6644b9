//! Compressed lists that several clients ask for: compressed once, and shared while they stay the same.
//!
//! Whether a list is the same is not a matter of keys and revisions, which would have to name everything that it depends
//! on: it is the same if it begins with the same bytes and holds the very same objects.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::OnceCell;

use crate::cache::Object;
use crate::status::Failure;

/// Lists that are kept: the same few are asked for by many. With each, the objects that it holds stay in memory, most of
/// which are in the cache anyway.
const LISTS: usize = 4;

/// Lists that were compressed lately, the last one used at the end.
#[derive(Default)]
pub(in crate::api) struct Compressed {
    /// A lock, since it is held to compare pointers and never while compressing.
    lists: Mutex<VecDeque<Kept>>,
}

struct Kept {
    content: Arc<Content>,
    /// Filled by whoever comes first; the others wait for it.
    bytes: Arc<OnceCell<Bytes>>,
}

/// What a list consists of, besides its end.
pub(super) struct Content {
    pub(super) head: Vec<u8>,
    pub(super) items: Vec<Object>,
}

impl Content {
    /// Whether the bytes are the same. The objects are alive in both, so one address is one object.
    fn is(&self, other: &Self) -> bool {
        self.head == other.head
            && self.items.len() == other.items.len()
            && self
                .items
                .iter()
                .zip(&other.items)
                .all(|(one, other)| std::ptr::eq(one.bytes(), other.bytes()))
    }
}

impl Compressed {
    /// The list, compressed: by `compress` if it has not been yet.
    pub(super) async fn list(
        &self,
        content: Content,
        compress: impl FnOnce(&Content) -> Vec<u8> + Send + 'static,
    ) -> Result<Bytes, Failure> {
        let (content, cell) = self.place(content);
        // Away from the threads that serve everybody: it takes tens of milliseconds.
        let bytes = cell.get_or_try_init(|| async {
            let work = tokio::task::spawn_blocking(move || Bytes::from(compress(&content)));
            work.await
        });
        bytes.await.cloned().map_err(Failure::internal)
    }

    /// Where the list is, or is to be.
    fn place(&self, content: Content) -> (Arc<Content>, Arc<OnceCell<Bytes>>) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lists.iter().position(|kept| kept.content.is(&content));
        let kept = match known.and_then(|place| lists.remove(place)) {
            Some(kept) => kept,
            None => Kept {
                content: Arc::new(content),
                bytes: Arc::default(),
            },
        };
        let place = (kept.content.clone(), kept.bytes.clone());
        if lists.len() == LISTS {
            lists.pop_front();
        }
        lists.push_back(kept);
        place
    }
}
