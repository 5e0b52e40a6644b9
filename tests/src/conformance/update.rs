//! The guaranteed update, over whatever storage.

#![expect(missing_docs, reason = "the name of a case says what it checks")]

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{
    Condition, KeyValue, Storage, Ttl, UpdateError, Updated, guaranteed_update,
};

use super::{
    commit::number,
    recorder::Recorder,
    store::{Store, bytes},
    wait::{PATIENCE, on_threads, within},
};

/// What the function may say besides a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct No;

type Result = std::result::Result<Updated, UpdateError<No>>;

pub async fn writes_what_the_function_says(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    store.create("a", "1").await;
    let updated = update(&store, None, |_| Ok(bytes("2"))).await;
    let now = store.existing("a").await;
    assert_eq!(now.value, bytes("2"), "expected the new value");
    assert_eq!(
        updated,
        written("2", now.mod_revision),
        "expected the result (right)"
    );
}

pub async fn no_op_writes_nothing(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let store = recorder.store;
    let revision = recorder.write(&[("a", Some("1"))]).await;
    let mut watch = store.watch("", revision).await;
    let updated = update(&store, None, |base| Ok(base.value.clone())).await;
    assert_eq!(updated, kept("1", revision), "expected the result (right)");
    assert_eq!(
        store.existing("a").await.mod_revision,
        revision,
        "expected the mod revision to stay"
    );
    recorder.write(&[("b", Some("1"))]).await;
    // Of the update nothing is seen: the next change is the one of the other key.
    watch.expect(&recorder.commits[1..]).await;
}

pub async fn no_op_on_a_true_hint_writes_nothing(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let revision = store.create("a", "1").await;
    let hint = store.existing("a").await;
    let updated = update(&store, Some(hint), |base| Ok(base.value.clone())).await;
    assert_eq!(updated, kept("1", revision), "expected the result (right)");
    assert_eq!(
        store.existing("a").await.mod_revision,
        revision,
        "expected the mod revision to stay"
    );
}

/// The hint already has the wanted value, but the store no longer does.
pub async fn no_op_on_an_old_hint_is_done_anew(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let revision = store.create("a", "wanted").await;
    let hint = store.existing("a").await;
    store.update("a", revision, "other").await;
    let updated = update(&store, Some(hint), |_| Ok(bytes("wanted"))).await;
    let now = store.existing("a").await;
    assert_eq!(
        now.value,
        bytes("wanted"),
        "expected the store to have the wanted value"
    );
    assert_eq!(
        updated,
        written("wanted", now.mod_revision),
        "expected the result (right)"
    );
}

pub async fn stale_condition_writes_anyway(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let revision = store.create("a", "1").await;
    let hint = KeyValue {
        condition: Condition::Stale,
        ..store.existing("a").await
    };
    let updated = update(&store, Some(hint), |base| Ok(base.value.clone())).await;
    let now = store.existing("a").await;
    assert!(
        now.mod_revision > revision,
        "expected a stale value to be written again"
    );
    assert_eq!(
        updated,
        written("1", now.mod_revision),
        "expected the result (right)"
    );
}

pub async fn wrong_hint_is_corrected(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let revision = store.create("a", "1").await;
    let hint = store.existing("a").await;
    store.update("a", revision, "10").await;
    let updated = update(&store, Some(hint), increment).await;
    assert_eq!(
        updated.map(|updated| updated.value),
        Ok(bytes("11")),
        "expected 10 + 1"
    );
    assert_eq!(
        store.existing("a").await.value,
        bytes("11"),
        "expected 10 + 1"
    );
}

pub async fn rejection_of_an_old_hint_is_retried(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let revision = store.create("a", "locked").await;
    let hint = store.existing("a").await;
    store.update("a", revision, "open").await;
    let updated = update(&store, Some(hint), unless_locked).await;
    let now = store.existing("a").await;
    assert_eq!(
        now.value,
        bytes("done"),
        "expected the update on the newest value"
    );
    assert_eq!(
        updated,
        written("done", now.mod_revision),
        "expected the result (right)"
    );
}

pub async fn rejection_of_the_newest_value_is_final(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let revision = store.create("a", "locked").await;
    let true_hint = store.existing("a").await;
    let old_hint = KeyValue {
        value: bytes("open"),
        mod_revision: revision.previous(),
        ..true_hint.clone()
    };
    for hint in [None, Some(true_hint), Some(old_hint)] {
        let updated = update(&store, hint.clone(), unless_locked).await;
        assert_eq!(
            updated,
            Err(UpdateError::Rejected(No)),
            "expected a rejection with {hint:?}"
        );
        assert_eq!(
            store.existing("a").await.mod_revision,
            revision,
            "expected the key to be untouched"
        );
    }
}

pub async fn corrupt_hint_is_read_again(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    store.create("a", "1").await;
    let hint = KeyValue {
        condition: Condition::Corrupt,
        ..store.existing("a").await
    };
    let updated = update(&store, Some(hint), increment).await;
    assert_eq!(
        updated.map(|updated| updated.value),
        Ok(bytes("2")),
        "expected 1 + 1"
    );
}

pub async fn absent_key_is_not_found(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let updated = update(&store, None, increment).await;
    assert_eq!(
        updated,
        Err(UpdateError::NotFound),
        "expected no key to update"
    );
    let revision = store.create("a", "1").await;
    let hint = store.existing("a").await;
    store.delete("a", revision).await;
    let updated = update(&store, Some(hint), increment).await;
    assert_eq!(
        updated,
        Err(UpdateError::NotFound),
        "expected the hint not to bring it back"
    );
    assert_eq!(
        store.found("a").await,
        None,
        "expected the key to stay deleted"
    );
}

pub async fn concurrent_increments_all_count(storage: &dyn Storage, space: &str) {
    const COUNT: usize = 50;
    let store = Store::new(storage, space);
    store.create("a", "0").await;
    let hint = store.existing("a").await;
    let results = on_threads(COUNT, async |thread| {
        // Half of them begin with a read, half with a hint that only one can find true.
        let hint = (thread % 2 == 0).then(|| hint.clone());
        update(&store, hint, increment).await
    })
    .await;
    let mut values: Vec<_> = results
        .into_iter()
        .map(|result| match result {
            Ok(updated) => number(&updated.value),
            Err(error) => panic!("expected each increment to succeed, not {error:?}"),
        })
        .collect();
    values.sort();
    let expected: Vec<_> = (1..=COUNT as u64).collect();
    assert_eq!(
        values, expected,
        "expected each increment to count once (right)"
    );
    let last = number(&store.existing("a").await.value);
    assert_eq!(last, COUNT as u64, "expected the store to hold the last");
}

/// A guaranteed update of the key `a`.
async fn update(
    store: &Store<'_>,
    hint: Option<KeyValue>,
    change: impl FnMut(&KeyValue) -> std::result::Result<Bytes, No>,
) -> Result {
    let key = store.key("a");
    let updating = guaranteed_update(store.storage, &key, hint, Ttl::None, change);
    within(PATIENCE, "a guaranteed update", updating).await
}

fn written(value: &str, revision: Revision) -> Result {
    Ok(Updated {
        value: bytes(value),
        revision,
        written: true,
    })
}

fn kept(value: &str, revision: Revision) -> Result {
    Ok(Updated {
        value: bytes(value),
        revision,
        written: false,
    })
}

fn increment(base: &KeyValue) -> std::result::Result<Bytes, No> {
    Ok((number(&base.value) + 1).to_string().into())
}

fn unless_locked(base: &KeyValue) -> std::result::Result<Bytes, No> {
    if base.value == bytes("locked") {
        return Err(No);
    }
    Ok(bytes("done"))
}
