//! Keys that go by themselves.
//!
//! That a key does *not* go is shown by one with a longer life, made later, which does.

#![expect(missing_docs, reason = "the name of a case says what it checks")]

use std::{collections::BTreeSet, time::Duration};

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{KeyValue, Storage, Ttl, UpdateError, Write, guaranteed_update};
use tokio::time::Instant;

use super::{
    reader::Reader,
    store::{Store, bytes},
    wait::succeed,
};

/// Short, but not below what etcd grants with its default settings by much.
const SHORT: Duration = Duration::from_secs(1);
/// Longer than the shortest lease that etcd grants.
const LONGER: Duration = Duration::from_secs(4);
const HOUR: Duration = Duration::from_secs(3600);

pub async fn expiry_is_an_ordinary_deletion(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let begin = Instant::now();
    let created = store
        .commit(vec![Write::create(store.key("a"), "1").with_ttl(SHORT)])
        .await;
    let before = store.existing("a").await;
    let mut watch = store.watch("", created).await;
    let (revision, previous) = deletion(&mut watch).await;
    assert!(
        begin.elapsed() >= SHORT,
        "expected the key to live for {SHORT:?}, not {:?}",
        begin.elapsed()
    );
    assert!(
        revision > created,
        "expected an expiry to have a revision of its own"
    );
    assert_eq!(previous, before, "expected the key as it was (right)");
    assert_eq!(store.found("a").await, None, "expected the key to be gone");
    assert!(
        store.revision().await >= revision,
        "expected the expiry to raise the store's revision"
    );
    let again = store.create("a", "2").await;
    assert!(again > revision, "expected the key to be free again");
}

pub async fn expired_key_stays_readable_in_the_past(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let created = store
        .commit(vec![Write::create(store.key("a"), "1").with_ttl(SHORT)])
        .await;
    let before = store.all(None).await.items;
    let (revision, _) = deletion(&mut store.watch("", created).await).await;
    let past = store.all(Some(revision.previous())).await.items;
    assert_eq!(
        past, before,
        "expected the key just before its expiry (right)"
    );
    let then = store.all(Some(revision)).await.items;
    assert_eq!(then, [], "expected no key at the revision of its expiry");
    let mut late = store.watch("", created).await;
    assert_eq!(
        deletion(&mut late).await.0,
        revision,
        "expected the same deletion in the past"
    );
}

pub async fn several_keys_expire(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let limited = |name: &str, ttl| Write::create(store.key(name), "1").with_ttl(ttl);
    let before = store.revision().await;
    store
        .commit(vec![
            limited("a", SHORT),
            limited("b", SHORT),
            limited("c", LONGER),
            Write::create(store.key("kept"), "1"),
        ])
        .await;
    store.commit(vec![limited("d", SHORT)]).await;
    let mut watch = store.watch("", before).await;
    let mut gone = BTreeSet::new();
    while gone.len() < 4 {
        let commit = watch.commit("the expiry of four keys").await;
        for change in commit.changes {
            if change.current.is_none() {
                assert!(
                    gone.insert(change.key.clone()),
                    "expected {:?} to go once",
                    change.key
                );
            }
        }
    }
    let names = store.names(&store.below("")).await;
    assert_eq!(names, ["kept"], "expected only the key without a limit");
}

pub async fn update_without_ttl_keeps_the_key(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let write = Write::create(store.key("a"), "1").with_ttl(SHORT);
    let created = store.commit(vec![write]).await;
    let updated = store.update("a", created, "2").await;
    after_a_longer_life(&store).await;
    let now = store.existing("a").await;
    assert_eq!(
        now.mod_revision, updated,
        "expected the key to be untouched"
    );
}

pub async fn update_with_a_longer_ttl_prolongs(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let write = Write::create(store.key("a"), "1").with_ttl(SHORT);
    let created = store.commit(vec![write]).await;
    let write = Write::update(store.key("a"), created, "1").with_ttl(HOUR);
    let updated = store.commit(vec![write]).await;
    after_a_longer_life(&store).await;
    let now = store.existing("a").await;
    assert_eq!(
        now.mod_revision, updated,
        "expected the key to be untouched"
    );
}

pub async fn recreated_key_is_not_taken_along(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let write = Write::create(store.key("a"), "1").with_ttl(SHORT);
    let created = store.commit(vec![write]).await;
    store.delete("a", created).await;
    let recreated = store.create("a", "1").await;
    after_a_longer_life(&store).await;
    let now = store.existing("a").await;
    assert_eq!(
        now.mod_revision, recreated,
        "expected the key's second life to be unlimited"
    );
}

pub async fn guaranteed_update_limits_the_life(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    store.create("a", "1").await;
    let key = store.key("a");
    let change = |_: &KeyValue| Ok::<_, ()>(bytes("2"));
    let updated: Result<_, UpdateError<()>> =
        guaranteed_update(storage, &key, None, Ttl::After(SHORT), change).await;
    let updated = succeed("an update with a limit", async { updated }).await;
    let mut watch = store.watch("", updated.revision).await;
    let (_, previous) = deletion(&mut watch).await;
    assert_eq!(
        previous.value,
        bytes("2"),
        "expected the updated key to expire"
    );
}

pub async fn kept_ttl_ends_when_it_would_have(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let limited = |name: &str, ttl| Write::create(store.key(name), "1").with_ttl(ttl);
    let first = store.commit(vec![limited("a", 2 * LONGER)]).await;
    let short = store.commit(vec![limited("short/a", SHORT)]).await;
    deletion(&mut store.watch("short/", short).await).await;
    // Goes after the other would have gone, and before it would go if its time began anew.
    let between = 2 * LONGER - SHORT / 2;
    store.commit(vec![limited("b", between)]).await;
    let write = Write::update(store.key("a"), first, "2").keeping_ttl();
    let kept = store.commit(vec![write]).await;
    let mut watch = store.watch("", kept).await;
    let (_, previous) = deletion(&mut watch).await;
    assert_eq!(
        *previous.key,
        *store.key("a"),
        "expected a key to go when it would have gone without the update"
    );
    assert_eq!(previous.value, bytes("2"), "expected the updated key to go");
}

pub async fn keeping_no_ttl_sets_none(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let write = Write::create(store.key("lapsed"), "1").with_ttl(SHORT);
    let lapsed = store.commit(vec![write]).await;
    deletion(&mut store.watch("", lapsed).await).await;
    let keep = |name: &str, at| Write::update(store.key(name), at, "2").keeping_ttl();
    let unlimited = store.create("unlimited", "1").await;
    let last = store
        .commit(vec![
            keep("new", Revision::ZERO),
            keep("lapsed", Revision::ZERO),
            keep("unlimited", unlimited),
        ])
        .await;
    after_a_longer_life(&store).await;
    for name in ["new", "lapsed", "unlimited"] {
        let now = store.existing(name).await;
        assert_eq!(now.mod_revision, last, "expected {name} to stay");
    }
}

pub async fn very_long_ttl_is_taken(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let century = HOUR * 24 * 365 * 100;
    store
        .commit(vec![Write::create(store.key("a"), "1").with_ttl(century)])
        .await;
    assert_eq!(
        store.existing("a").await.value,
        bytes("1"),
        "expected the key to be there"
    );
}

/// Makes a key that outlives the ones made before with [`SHORT`], and waits until it is gone.
async fn after_a_longer_life(store: &Store<'_>) {
    let write = Write::create(store.key("later/a"), "1").with_ttl(LONGER);
    let created = store.commit(vec![write]).await;
    deletion(&mut store.watch("later/", created).await).await;
}

/// The next change, which is to be the deletion of one key: its revision and the key before.
async fn deletion(watch: &mut Reader) -> (Revision, KeyValue) {
    let commit = watch.commit("the expiry of a key").await;
    match &commit.changes[..] {
        [change] if change.current.is_none() => match &change.previous {
            Some(previous) => (commit.revision, previous.clone()),
            None => panic!("expected a deletion to show the key before: {commit:?}"),
        },
        _ => panic!("expected the deletion of one key, not {commit:?}"),
    }
}
