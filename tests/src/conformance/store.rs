//! A storage as the cases see it: every call has a time limit, and failures say what was expected.

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{
    KeyValue, List, Outcome, Page, Storage, StorageError, WatchItem, Write,
};

use super::{
    reader::Reader,
    wait::{PATIENCE, fail, succeed, within},
};

/// A storage and a space in it. Names in the space become keys.
#[derive(Clone, Copy)]
pub(crate) struct Store<'a> {
    pub(crate) storage: &'a dyn Storage,
    pub(crate) space: &'a str,
}

impl<'a> Store<'a> {
    pub(crate) fn new(storage: &'a dyn Storage, space: &'a str) -> Self {
        Self { storage, space }
    }

    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.space)
    }

    pub(crate) async fn found(&self, name: &str) -> Option<KeyValue> {
        let key = self.key(name);
        let got = succeed(&format!("get {key:?}"), self.storage.get(&key)).await;
        if let Some(found) = &got.found {
            assert_eq!(
                &*found.key, key,
                "expected get to find the key it was given"
            );
            assert!(
                found.mod_revision <= got.revision,
                "expected get {key:?} to look at a state that contains what it found: {got:?}"
            );
        }
        got.found
    }

    /// The key, which must exist.
    pub(crate) async fn existing(&self, name: &str) -> KeyValue {
        let found = self.found(name).await;
        found.unwrap_or_else(|| panic!("expected the key {:?} to exist", self.key(name)))
    }

    pub(crate) async fn revision(&self) -> Revision {
        succeed("the newest revision", self.storage.revision()).await
    }

    pub(crate) async fn outcome(&self, writes: Vec<Write>) -> Outcome {
        let what = format!("a commit of {} writes", writes.len());
        succeed(&what, self.storage.commit(writes)).await
    }

    /// Commits what must succeed.
    pub(crate) async fn commit(&self, writes: Vec<Write>) -> Revision {
        match self.outcome(writes).await {
            Outcome::Committed(revision) => revision,
            conflict => panic!("expected a commit to be done, but got {conflict:?}"),
        }
    }

    /// Commits what must conflict.
    pub(crate) async fn conflict(&self, writes: Vec<Write>) -> Vec<Option<KeyValue>> {
        let count = writes.len();
        match self.outcome(writes).await {
            Outcome::Conflict { current, revision } => {
                assert_eq!(
                    current.len(),
                    count,
                    "expected each write's key: {current:?}"
                );
                for found in current.iter().flatten() {
                    assert!(
                        found.mod_revision <= revision,
                        "expected no key newer than the conflict's revision {revision}: {found:?}"
                    );
                }
                current
            }
            committed => panic!("expected a conflict, but got {committed:?}"),
        }
    }

    pub(crate) async fn create(&self, name: &str, value: &str) -> Revision {
        self.commit(vec![Write::create(self.key(name), bytes(value))])
            .await
    }

    pub(crate) async fn update(&self, name: &str, expected: Revision, value: &str) -> Revision {
        let write = Write::update(self.key(name), expected, bytes(value));
        self.commit(vec![write]).await
    }

    pub(crate) async fn delete(&self, name: &str, expected: Revision) -> Revision {
        self.commit(vec![Write::delete(self.key(name), expected)])
            .await
    }

    /// A list of names below this prefix within the space.
    pub(crate) fn below(&self, prefix: &str) -> List {
        List {
            prefix: self.key(prefix),
            ..List::default()
        }
    }

    pub(crate) async fn page(&self, list: &List) -> Page {
        let page = succeed(&format!("{list:?}"), self.storage.list(list)).await;
        if let Some(at) = list.at {
            assert_eq!(
                page.revision, at,
                "expected a list at a revision to say that revision"
            );
        }
        page
    }

    pub(crate) async fn list_error(&self, list: &List) -> StorageError {
        fail(&format!("{list:?}"), self.storage.list(list)).await
    }

    /// What the whole space holds, now or at a revision.
    pub(crate) async fn all(&self, at: Option<Revision>) -> Page {
        self.page(&List {
            at,
            ..self.below("")
        })
        .await
    }

    /// The names that a list finds.
    pub(crate) async fn names(&self, list: &List) -> Vec<String> {
        self.page(list)
            .await
            .items
            .iter()
            .map(|item| self.name(&item.key).to_owned())
            .collect()
    }

    fn name<'k>(&self, key: &'k str) -> &'k str {
        let name = key.strip_prefix(self.space);
        name.unwrap_or_else(|| panic!("expected only keys below {:?}: {key:?}", self.space))
    }

    /// A watch of the names below this prefix.
    pub(crate) async fn watch(&self, prefix: &str, after: Revision) -> Reader {
        let prefix = self.key(prefix);
        let what = format!("a watch of {prefix:?} after {after}");
        let changes = succeed(&what, self.storage.watch(&prefix, after)).await;
        Reader::new(changes, prefix, after)
    }

    /// The error of a watch, wherever it comes: from the call or in the stream. Changes before it are given to `seen`.
    pub(crate) async fn watch_error(
        &self,
        after: Revision,
        mut seen: impl FnMut(WatchItem),
    ) -> Option<StorageError> {
        let call = self.storage.watch(self.space, after);
        let mut changes = match within(PATIENCE, "an answer to a watch", call).await {
            Ok(changes) => changes,
            Err(error) => return Some(error),
        };
        changes.request_progress();
        loop {
            let next = within(PATIENCE, "an item or an error", changes.next()).await;
            match next {
                Some(Ok(WatchItem::Progress(_))) | None => return None,
                Some(Ok(item)) => seen(item),
                Some(Err(error)) => {
                    let end = within(PATIENCE, "the end after an error", changes.next()).await;
                    assert_eq!(end, None, "expected a watch to end after {error:?}");
                    return Some(error);
                }
            }
        }
    }
}

pub(crate) fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}
