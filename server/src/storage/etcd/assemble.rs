//! From etcd's watch responses to items: one revision, one item.
//!
//! etcd splits what is too large for one message into fragments, and the cut may run through a
//! transaction. The last revision of a fragment is therefore held back until something later, or the last fragment, shows that it is
//! complete. What was handed out before, a reconnected watch may be sent again by some versions: it is dropped.
//!
//! No I/O here: responses in, items out.

use bytes::Bytes;
use ringwatch_core::revision::Revision;

use super::keys::Keys;
use crate::storage::{Condition, KeyChange, KeyValue, WatchItem};

/// A key as etcd sends it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) key: Vec<u8>,
    pub(super) value: Bytes,
    pub(super) mod_revision: Revision,
    pub(super) create_revision: Revision,
    /// How often the key was written since it was created.
    pub(super) version: i64,
}

impl Stored {
    /// In our terms; `None` if the key is not one of ours.
    pub(super) fn into_own(self, keys: &Keys) -> Option<KeyValue> {
        Some(KeyValue {
            key: keys.own(&self.key)?,
            value: self.value,
            mod_revision: self.mod_revision,
            create_revision: self.create_revision,
            condition: Condition::Sound,
        })
    }
}

/// A change to one key as etcd sends it.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) now: Stored,
    pub(super) deleted: bool,
    pub(super) before: Option<Stored>,
}

/// Events of one message.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) events: Vec<Event>,
    /// Whether more of the same batch follows.
    pub(super) fragment: bool,
}

/// Why nothing can be made of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The value before the change is gone: it was compacted.
    NoPrevious,
    /// Revisions do not ascend. Connecting anew gives another chance.
    Disorder,
}

/// Puts revisions together.
#[derive(Debug)]
pub(super) struct Assembler {
    keys: Keys,
    /// All changes up to here were handed out.
    position: Revision,
    /// A revision that may not be complete.
    open: Option<(Revision, Vec<KeyChange>)>,
}

impl Assembler {
    pub(super) fn new(keys: Keys, after: Revision) -> Self {
        Self {
            keys,
            position: after,
            open: None,
        }
    }

    /// Everything up to here has been handed out; a new connection starts after it.
    pub(super) fn position(&self) -> Revision {
        self.position
    }

    /// The connection is gone, and what it did not complete will come again.
    pub(super) fn disconnected(&mut self) {
        self.open = None;
    }

    pub(super) fn events(&mut self, batch: Batch) -> Result<Vec<WatchItem>, Unusable> {
        let mut items = Vec::new();
        for event in batch.events {
            let revision = event.now.mod_revision;
            if revision <= self.position {
                continue;
            }
            match &self.open {
                Some((open, _)) if revision < *open => return Err(Unusable::Disorder),
                Some((open, _)) if revision == *open => {}
                _ => {
                    self.close(&mut items);
                    self.open = Some((revision, Vec::new()));
                }
            }
            if let Some(change) = change(event, &self.keys)?
                && let Some((_, changes)) = &mut self.open
            {
                changes.push(change);
            }
        }
        if !batch.fragment {
            self.close(&mut items);
        }
        Ok(items)
    }

    /// etcd says that everything up to `revision` was sent.
    pub(super) fn progress(&mut self, revision: Revision) -> Option<WatchItem> {
        // In the middle of a batch, or older than what is known: nothing new.
        if self.open.is_some() || revision < self.position {
            return None;
        }
        self.position = revision;
        Some(WatchItem::Progress(revision))
    }

    fn close(&mut self, items: &mut Vec<WatchItem>) {
        let Some((revision, changes)) = self.open.take() else {
            return;
        };
        self.position = revision;
        if !changes.is_empty() {
            items.push(WatchItem::Changes { revision, changes });
        }
    }
}

/// The change in our terms; `None` if the key is not one of ours.
fn change(event: Event, keys: &Keys) -> Result<Option<KeyChange>, Unusable> {
    let Some(key) = keys.own(&event.now.key) else {
        return Ok(None);
    };
    let created = !event.deleted && event.now.create_revision == event.now.mod_revision;
    let previous = event.before.and_then(|before| before.into_own(keys));
    if previous.is_none() && !created {
        return Err(Unusable::NoPrevious);
    }
    Ok(Some(KeyChange {
        key,
        current: match event.deleted {
            true => None,
            false => event.now.into_own(keys),
        },
        previous,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str, revision: u64) -> Event {
        Event {
            now: Stored {
                key: format!("/registry{key}").into_bytes(),
                mod_revision: Revision::new(revision),
                create_revision: Revision::new(revision),
                ..Stored::default()
            },
            deleted: false,
            before: None,
        }
    }

    fn deleted(key: &str, revision: u64) -> Event {
        let before = put(key, revision - 1).now;
        Event {
            deleted: true,
            before: Some(before),
            ..put(key, revision)
        }
    }

    fn whole(events: Vec<Event>) -> Batch {
        Batch {
            events,
            fragment: false,
        }
    }

    fn part(events: Vec<Event>) -> Batch {
        Batch {
            events,
            fragment: true,
        }
    }

    fn assembler(after: u64) -> Assembler {
        Assembler::new(Keys::new("/registry"), Revision::new(after))
    }

    /// What was handed out, as revision and keys.
    fn shape(items: Vec<WatchItem>) -> Vec<(u64, Vec<String>)> {
        items
            .into_iter()
            .map(|item| match item {
                WatchItem::Changes { revision, changes } => (
                    revision.get(),
                    changes
                        .iter()
                        .map(|change| change.key.to_string())
                        .collect(),
                ),
                WatchItem::Progress(revision) => (revision.get(), Vec::new()),
            })
            .collect()
    }

    fn keys(keys: &[&str]) -> Vec<String> {
        keys.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_transaction_is_one_item() {
        let mut assembler = assembler(1);
        let items = assembler.events(whole(vec![put("/a", 2), put("/b", 2), put("/c", 3)]));
        assert_eq!(
            shape(items.unwrap()),
            [(2, keys(&["/a", "/b"])), (3, keys(&["/c"]))]
        );
        assert_eq!(assembler.position(), Revision::new(3));
    }

    #[test]
    fn a_revision_cut_by_fragments_is_held_back_until_it_is_whole() {
        let mut assembler = assembler(1);
        let items = assembler.events(part(vec![put("/a", 2), put("/b", 3)]));
        assert_eq!(shape(items.unwrap()), [(2, keys(&["/a"]))]);
        assert_eq!(assembler.position(), Revision::new(2));
        let items = assembler.events(part(vec![put("/c", 3)])).unwrap();
        assert_eq!(items, []);
        assert_eq!(assembler.progress(Revision::new(9)), None);
        let items = assembler.events(whole(vec![put("/d", 3)])).unwrap();
        assert_eq!(shape(items), [(3, keys(&["/b", "/c", "/d"]))]);
    }

    #[test]
    fn a_revision_that_a_lost_connection_cut_comes_again_as_a_whole() {
        let mut assembler = assembler(1);
        let items = assembler.events(part(vec![put("/a", 2), put("/b", 2)]));
        assert_eq!(items.unwrap(), []);
        assembler.disconnected();
        assert_eq!(assembler.position(), Revision::new(1));
        let items = assembler.events(whole(vec![put("/a", 2), put("/b", 2)]));
        assert_eq!(shape(items.unwrap()), [(2, keys(&["/a", "/b"]))]);
    }

    #[test]
    fn what_was_handed_out_is_not_handed_out_again() {
        let mut assembler = assembler(4);
        let items = assembler.events(whole(vec![put("/a", 3), put("/b", 4), put("/c", 5)]));
        assert_eq!(shape(items.unwrap()), [(5, keys(&["/c"]))]);
        assert_eq!(assembler.progress(Revision::new(4)), None);
        let again = assembler.progress(Revision::new(5));
        assert_eq!(again, Some(WatchItem::Progress(Revision::new(5))));
    }

    #[test]
    fn revisions_that_go_back_within_a_batch_are_not_believed() {
        let mut assembler = assembler(1);
        let result = assembler.events(part(vec![put("/a", 5), put("/b", 3)]));
        assert_eq!(result, Err(Unusable::Disorder));
    }

    #[test]
    fn a_change_without_its_previous_value_is_an_error_and_a_creation_is_not() {
        let mut assembler = assembler(1);
        let mut updated = put("/a", 5);
        updated.now.create_revision = Revision::new(2);
        let lost = assembler.events(whole(vec![updated]));
        assert_eq!(lost, Err(Unusable::NoPrevious));
        assembler.disconnected();
        let items = assembler.events(whole(vec![deleted("/a", 6)])).unwrap();
        let [WatchItem::Changes { changes, .. }] = &items[..] else {
            panic!("{items:?}");
        };
        assert!(changes[0].current.is_none() && changes[0].previous.is_some());
    }

    #[test]
    fn keys_that_are_not_text_are_passed_over() {
        let mut assembler = assembler(1);
        let mut foreign = put("/x", 2);
        foreign.now.key = b"/registry/\xff".to_vec();
        assert_eq!(assembler.events(whole(vec![foreign])), Ok(Vec::new()));
        assert_eq!(assembler.position(), Revision::new(2));
    }
}
