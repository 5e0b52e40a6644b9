//! Reads a watch and checks, with each item, what holds for every watch.

use std::collections::BTreeSet;

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{Changes, KeyChange, StorageError, WatchItem};

use super::{
    recorder::Commit,
    wait::{PATIENCE, within},
};

/// The reading end of a watch.
pub(crate) struct Reader {
    changes: Changes,
    prefix: String,
    /// Up to where everything has been yielded, by the watch's own word.
    reached: Revision,
    progress: Revision,
}

impl Reader {
    pub(crate) fn new(changes: Changes, prefix: String, after: Revision) -> Self {
        Self {
            changes,
            prefix,
            reached: after,
            progress: Revision::ZERO,
        }
    }

    /// The next item or error.
    pub(crate) async fn next(&mut self, what: &str) -> Result<WatchItem, StorageError> {
        let next = within(PATIENCE, what, self.changes.next()).await;
        let item = next.unwrap_or_else(|| panic!("expected {what}, but the watch ended"))?;
        match &item {
            WatchItem::Changes { revision, changes } => {
                assert!(
                    *revision > self.reached,
                    "expected changes after {}, up to which all had been yielded: {item:?}",
                    self.reached
                );
                self.reached = *revision;
                self.check(*revision, changes);
            }
            WatchItem::Progress(revision) => {
                assert!(
                    *revision >= self.progress,
                    "expected progress not to go back from {} to {revision}",
                    self.progress
                );
                self.progress = *revision;
                self.reached = self.reached.max(*revision);
            }
        }
        Ok(item)
    }

    /// The next changes, in key order.
    pub(crate) async fn commit(&mut self, what: &str) -> Commit {
        loop {
            match self.next(what).await {
                Ok(WatchItem::Changes { revision, changes }) => {
                    return Commit::new(revision, changes);
                }
                Ok(WatchItem::Progress(_)) => {}
                Err(error) => panic!("expected {what}, but the watch failed: {error:?}"),
            }
        }
    }

    /// Expects these commits, and no others in between.
    pub(crate) async fn expect(&mut self, commits: &[Commit]) {
        for expected in commits {
            let what = format!("the changes of revision {}", expected.revision);
            let seen = self.commit(&what).await;
            assert_eq!(&seen, expected, "expected {what} (right), not (left)");
        }
    }

    /// Asks for progress once, and expects it, up to `target` at least; gives back what came before, and how
    /// far it is now.
    pub(crate) async fn progress(&mut self, target: Revision) -> (Vec<Commit>, Revision) {
        let what = format!("progress to {target}");
        let mut before = Vec::new();
        self.changes.request_progress();
        loop {
            match self.next(&what).await {
                Ok(WatchItem::Progress(revision)) if revision >= target => {
                    return (before, self.reached);
                }
                // The store may report of itself; the answer is still to come.
                Ok(WatchItem::Progress(_)) => {}
                Ok(WatchItem::Changes { revision, changes }) => {
                    before.push(Commit::new(revision, changes));
                }
                Err(error) => panic!("expected {what}, but the watch failed: {error:?}"),
            }
        }
    }

    pub(crate) fn request_progress(&self) {
        self.changes.request_progress();
    }

    fn check(&self, revision: Revision, changes: &[KeyChange]) {
        assert!(!changes.is_empty(), "expected an item to hold changes");
        let keys: BTreeSet<_> = changes.iter().map(|change| &change.key).collect();
        assert_eq!(
            keys.len(),
            changes.len(),
            "expected each key once: {changes:?}"
        );
        for change in changes {
            let KeyChange {
                key,
                current,
                previous,
            } = change;
            assert!(
                key.starts_with(&self.prefix),
                "expected a watch of {:?} not to see {key:?}",
                self.prefix
            );
            assert!(
                current.is_some() || previous.is_some(),
                "expected a key before or after the change: {change:?}"
            );
            if let Some(current) = current {
                assert_eq!(&current.key, key, "expected the changed key");
                assert_eq!(
                    current.mod_revision, revision,
                    "expected the revision of the change: {change:?}"
                );
                let created = previous.as_ref().map_or(revision, |p| p.create_revision);
                assert_eq!(
                    current.create_revision, created,
                    "expected the create revision to be kept, or new: {change:?}"
                );
            }
            if let Some(previous) = previous {
                assert_eq!(&previous.key, key, "expected the changed key");
                assert!(
                    previous.mod_revision < revision,
                    "expected the previous value to be older than {revision}: {change:?}"
                );
            }
        }
    }
}
