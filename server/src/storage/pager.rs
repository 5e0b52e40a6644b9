//! Reading a range page by page, all pages of one revision.

use ringwatch_core::revision::Revision;

use super::{KeyValue, List, Page, Storage, StorageError};

/// Keys asked for at once when all are wanted.
pub(crate) const PAGE: usize = 10_000;

/// The pages of a list. The first decides on the revision, if the list does not.
pub(crate) struct Pager<'a> {
    storage: &'a dyn Storage,
    list: List,
    done: bool,
}

impl<'a> Pager<'a> {
    /// Reads `list`, whose limit is the size of a page; 0 for one page with everything.
    pub(crate) fn new(storage: &'a dyn Storage, list: List) -> Self {
        Self {
            storage,
            list,
            done: false,
        }
    }

    /// The next page; `None` after the last. There is at least one, and only the first may be empty.
    pub(crate) async fn next(&mut self) -> Result<Option<Page>, StorageError> {
        if self.done {
            return Ok(None);
        }
        let page = self.storage.list(&self.list).await?;
        self.list.at = Some(page.revision);
        match page.items.last() {
            Some(last) if page.remaining > 0 => self.list.after = Some(last.key.to_string()),
            _ => self.done = true,
        }
        Ok(Some(page))
    }

    /// Reads twice as much at a time from now on, within reason: who skips most of what is read should not
    /// have to ask often.
    pub(crate) fn grow(&mut self) {
        self.list.limit = (self.list.limit * 2).min(PAGE);
    }
}

/// Every key below `prefix` at one revision, the newest.
pub(crate) async fn read_all(
    storage: &dyn Storage,
    prefix: &str,
) -> Result<(Revision, Vec<KeyValue>), StorageError> {
    let read = async |limit| {
        let list = List {
            prefix: prefix.to_owned(),
            limit,
            ..List::default()
        };
        let mut pages = Pager::new(storage, list);
        let (mut revision, mut items) = (Revision::ZERO, Vec::new());
        while let Some(page) = pages.next().await? {
            revision = page.revision;
            items.extend(page.items);
        }
        Ok((revision, items))
    };
    match read(PAGE).await {
        // The first page's revision was compacted before the last was read: all at once, then.
        Err(StorageError::Compacted { .. }) => read(0).await,
        read => read,
    }
}
