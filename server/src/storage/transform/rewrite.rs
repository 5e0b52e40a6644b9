//! Writes values again that are stored in a way that is on its way out.

use crate::storage::{Condition, KeyValue, List, Outcome, Storage, StorageError, Write};

/// How many keys are read at once: not more than fit into memory, should each be of the largest size.
const PAGE: usize = 100;

/// How far a [`rewrite_stale`] is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// Keys looked at.
    pub seen: u64,
    /// Values written again.
    pub rewritten: u64,
    /// Values that cannot be read, and are left as they are.
    pub corrupt: u64,
    /// Keys still to be looked at.
    pub remaining: u64,
    /// The last key looked at: from where to resume.
    pub last: Option<String>,
}

/// Writes every [stale](Condition::Stale) value below `prefix` again, unchanged, so that it is stored as
/// new values are.
///
/// Each write is a compare-and-swap: whoever changes a key at the same time wins, and has written it anew. `report` is called
/// after each page, in key order. After an error or a restart, pass what [`Rewrite::last`] was then as `after` to go on
/// from there; to begin again from the start does no harm either, since what is sound is not written.
///
/// A key that goes by itself still goes when it would have gone.
pub async fn rewrite_stale(
    storage: &dyn Storage,
    prefix: &str,
    after: Option<String>,
    mut report: impl FnMut(&Rewrite),
) -> Result<Rewrite, StorageError> {
    let mut rewrite = Rewrite {
        last: after,
        ..Rewrite::default()
    };
    loop {
        // Always the newest state: what came since is not stale, and no revision can be compacted meanwhile.
        let list = List {
            prefix: prefix.to_owned(),
            after: rewrite.last.clone(),
            limit: PAGE,
            at: None,
        };
        let page = storage.list(&list).await?;
        for item in page.items {
            let key = item.key.to_string();
            rewrite.seen += 1;
            match again(storage, item).await? {
                Done::Written => rewrite.rewritten += 1,
                Done::Corrupt => rewrite.corrupt += 1,
                Done::Nothing => {}
            }
            rewrite.last = Some(key);
        }
        rewrite.remaining = page.remaining;
        report(&rewrite);
        if page.remaining == 0 {
            return Ok(rewrite);
        }
    }
}

enum Done {
    Written,
    Corrupt,
    Nothing,
}

async fn again(storage: &dyn Storage, mut item: KeyValue) -> Result<Done, StorageError> {
    loop {
        match item.condition {
            Condition::Sound => return Ok(Done::Nothing),
            Condition::Corrupt => return Ok(Done::Corrupt),
            Condition::Stale => {}
        }
        let write = Write::update(item.key, item.mod_revision, item.value).keeping_ttl();
        match storage.commit(vec![write]).await? {
            Outcome::Committed(_) => return Ok(Done::Written),
            // Another server may have written it, one that still writes the old way.
            Outcome::Conflict { current, .. } => match current.into_iter().next().flatten() {
                Some(current) => item = current,
                None => return Ok(Done::Nothing),
            },
        }
    }
}
