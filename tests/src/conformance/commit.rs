//! Commits: conditions, conflicts, transactions, and how revisions are counted.

#![expect(missing_docs, reason = "the name of a case says what it checks")]

use bytes::Bytes;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{KeyValue, MAX_WRITES, Outcome, Storage, StorageError, Write};

use super::{
    store::{Store, bytes},
    wait::{fail, on_threads},
};

/// How often to look for a moment in which no one else writes to the same store.
const QUIET_ATTEMPTS: usize = 200;

pub async fn create_of_an_existing_key_conflicts_and_shows_it(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    store.create("a", "first").await;
    let existing = store.existing("a").await;
    let current = store
        .conflict(vec![Write::create(store.key("a"), "second")])
        .await;
    assert_eq!(
        current,
        [Some(existing.clone())],
        "expected the key as it is (right)"
    );
    assert_eq!(
        store.existing("a").await,
        existing,
        "expected the key to be untouched"
    );
}

pub async fn update_at_the_right_revision(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let created = store.create("a", "1").await;
    let updated = store.update("a", created, "2").await;
    assert!(
        updated > created,
        "expected {updated} to be after {created}"
    );
    let expected = KeyValue {
        value: bytes("2"),
        mod_revision: updated,
        create_revision: created,
        ..store.existing("a").await
    };
    assert_eq!(
        store.existing("a").await,
        expected,
        "expected the update (right)"
    );
}

pub async fn update_at_a_wrong_revision_conflicts(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let old = store.create("a", "1").await;
    let now = store.update("a", old, "2").await;
    let existing = store.existing("a").await;
    for wrong in [
        old,
        now.previous(),
        Revision::new(now.get() + 1),
        Revision::ZERO,
    ] {
        let write = Write::update(store.key("a"), wrong, "3");
        let current = store.conflict(vec![write]).await;
        assert_eq!(
            current,
            [Some(existing.clone())],
            "expected an update at {wrong} to show the key as it is (right)"
        );
    }
    assert_eq!(
        store.existing("a").await,
        existing,
        "expected the key to be untouched"
    );
}

pub async fn update_of_an_absent_key_conflicts(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let created = store.create("a", "1").await;
    let deleted = store.delete("a", created).await;
    for wrong in [created, deleted] {
        let write = Write::update(store.key("a"), wrong, "2");
        let current = store.conflict(vec![write]).await;
        assert_eq!(current, [None], "expected the conflict to show no key");
    }
    assert_eq!(
        store.found("a").await,
        None,
        "expected no key to come into being"
    );
}

pub async fn delete_at_the_right_revision(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let created = store.create("a", "1").await;
    store.create("b", "1").await;
    let deleted = store.delete("a", created).await;
    assert!(
        deleted > created,
        "expected {deleted} to be after {created}"
    );
    assert_eq!(store.found("a").await, None, "expected the key to be gone");
    assert_eq!(
        store.names(&store.below("")).await,
        ["b"],
        "expected the other key to stay"
    );
}

pub async fn delete_at_a_wrong_revision_conflicts(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let old = store.create("a", "1").await;
    let now = store.update("a", old, "2").await;
    let existing = store.existing("a").await;
    for wrong in [old, Revision::new(now.get() + 1), Revision::ZERO] {
        let current = store
            .conflict(vec![Write::delete(store.key("a"), wrong)])
            .await;
        assert_eq!(
            current,
            [Some(existing.clone())],
            "expected a deletion at {wrong} to show the key as it is (right)"
        );
    }
    assert_eq!(
        store.existing("a").await,
        existing,
        "expected the key to be untouched"
    );
}

pub async fn delete_of_an_absent_key_conflicts(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let created = store.create("a", "1").await;
    store.delete("a", created).await;
    let current = store
        .conflict(vec![Write::delete(store.key("a"), created)])
        .await;
    assert_eq!(current, [None], "expected the conflict to show no key");
}

pub async fn recreated_key_has_a_new_create_revision(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let created = store.create("a", "1").await;
    let deleted = store.delete("a", created).await;
    let recreated = store.create("a", "2").await;
    assert!(
        recreated > deleted,
        "expected {recreated} to be after {deleted}"
    );
    let now = store.existing("a").await;
    assert_eq!(
        now.create_revision, recreated,
        "expected a new create revision"
    );
    assert_eq!(now.mod_revision, recreated, "expected a new mod revision");
    let write = Write::update(store.key("a"), created, "3");
    let current = store.conflict(vec![write]).await;
    assert_eq!(
        current,
        [Some(now)],
        "expected the old life's revision not to count (right)"
    );
}

pub async fn same_value_is_a_new_revision(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let created = store.create("a", "same").await;
    let mut watch = store.watch("", created).await;
    let written = store.update("a", created, "same").await;
    assert!(
        written > created,
        "expected {written} to be after {created}"
    );
    assert_eq!(
        store.existing("a").await.mod_revision,
        written,
        "expected the mod revision of the write"
    );
    let seen = watch.commit("the write of the same value").await;
    assert_eq!(seen.revision, written, "expected a watch to see the write");
}

pub async fn revisions_grow_by_one(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let mut last = store.create("start", "").await;
    let mut by_one = [false; 2];
    for number in 0..QUIET_ATTEMPTS {
        // One write, then several: a transaction counts once, whatever is in it.
        let several = number % 2;
        let writes =
            (0..=several * 3).map(|w| Write::create(store.key(&format!("{number}/{w}")), ""));
        let next = store.commit(writes.collect()).await;
        assert!(next > last, "expected {next} to be after {last}");
        // Others may write to the same store in between, but not each time.
        by_one[several] |= next.get() == last.get() + 1;
        last = next;
        if by_one == [true; 2] {
            return;
        }
    }
    panic!("expected a transaction of one write, and one of several, to raise the revision by one");
}

pub async fn conflict_takes_no_revision(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    store.create("a", "").await;
    for _ in 0..QUIET_ATTEMPTS {
        let before = store.revision().await;
        store
            .conflict(vec![
                Write::create(store.key("a"), ""),
                Write::create(store.key("b"), ""),
            ])
            .await;
        if store.revision().await == before {
            return;
        }
    }
    panic!("expected a conflict to leave the revision as it is");
}

pub async fn transaction_shares_one_revision(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let b = store.create("b", "1").await;
    let c = store.create("c", "1").await;
    let revision = store
        .commit(vec![
            Write::create(store.key("a"), "2"),
            Write::update(store.key("b"), b, "2"),
            Write::delete(store.key("c"), c),
            Write::create(store.key("d"), "2"),
        ])
        .await;
    let found: Vec<_> = store
        .all(None)
        .await
        .items
        .iter()
        .map(|item| (item.key.to_string(), item.mod_revision))
        .collect();
    let expected = ["a", "b", "d"].map(|name| (store.key(name), revision));
    assert_eq!(
        found, expected,
        "expected all writes at one revision (right)"
    );
    let before = store.all(Some(revision.previous())).await.items;
    let before: Vec<_> = before.iter().map(|item| &*item.key).collect();
    let expected = ["b", "c"].map(|name| store.key(name));
    assert_eq!(
        before, expected,
        "expected none of the writes one revision before (right)"
    );
}

pub async fn transaction_is_all_or_nothing(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let b = store.create("b", "1").await;
    let c = store.create("c", "1").await;
    let before = store.all(None).await.items;
    let good = [
        Write::create(store.key("a"), "2"),
        Write::update(store.key("b"), b, "2"),
        Write::delete(store.key("c"), c),
    ];
    // The write that does not fit comes first, in the middle, and last.
    for place in 0..=good.len() {
        let mut writes = good.to_vec();
        writes.insert(place, Write::update(store.key("d"), b, "2"));
        store.conflict(writes).await;
        let after = store.all(None).await.items;
        assert_eq!(
            after, before,
            "expected nothing of a conflicting transaction (right)"
        );
    }
    store.commit(good.to_vec()).await;
}

pub async fn conflict_shows_every_key_in_order(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let z = store.create("z", "z").await;
    store.create("a", "a").await;
    let current = store
        .conflict(vec![
            Write::update(store.key("z"), z, "new"),
            Write::create(store.key("m"), "new"),
            Write::delete(store.key("a"), z),
        ])
        .await;
    let expected = [store.found("z").await, None, store.found("a").await];
    assert_eq!(
        current, expected,
        "expected all keys in the order of the writes (right)"
    );
}

pub async fn duplicate_key_is_refused(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let a = store.create("a", "1").await;
    let before = store.all(None).await.items;
    for writes in [
        vec![
            Write::create(store.key("b"), "1"),
            Write::create(store.key("b"), "2"),
        ],
        vec![
            Write::update(store.key("a"), a, "2"),
            Write::delete(store.key("a"), a),
        ],
        vec![
            Write::create(store.key("b"), "1"),
            Write::update(store.key("a"), a, "2"),
            Write::create(store.key("b"), "1"),
        ],
    ] {
        let error = fail("a commit with a key twice", storage.commit(writes)).await;
        assert!(
            matches!(error, StorageError::Refused(_)),
            "expected a key twice to be Refused, not {error:?}"
        );
        let after = store.all(None).await.items;
        assert_eq!(
            after, before,
            "expected nothing of a refused transaction (right)"
        );
    }
}

pub async fn as_many_writes_as_promised(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let keys = || (0..MAX_WRITES).map(|number| store.key(&format!("{number:03}")));
    let created = store
        .commit(keys().map(|key| Write::create(key, "1")).collect())
        .await;
    let deleted = keys().map(|key| Write::delete(key, created));
    assert_eq!(
        store.all(None).await.items.len(),
        MAX_WRITES,
        "expected all writes"
    );
    store.commit(deleted.collect()).await;
    assert_eq!(store.all(None).await.items, [], "expected all deletions");
}

pub async fn one_of_many_racers_wins(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let mut last = store.create("a", "start").await;
    for round in 0..10 {
        let outcomes = on_threads(8, async |racer| {
            let value = format!("{round} {racer}");
            let write = Write::update(store.key("a"), last, value.clone());
            (value, store.outcome(vec![write]).await)
        })
        .await;
        let winners: Vec<_> = outcomes
            .iter()
            .filter_map(|(value, outcome)| match outcome {
                Outcome::Committed(revision) => Some((value, *revision)),
                Outcome::Conflict { .. } => None,
            })
            .collect();
        let [(value, revision)] = winners[..] else {
            panic!("expected one of the racers to win: {outcomes:?}");
        };
        let now = store.existing("a").await;
        assert_eq!(now.value, bytes(value), "expected the winner's value");
        assert_eq!(now.mod_revision, revision, "expected the winner's revision");
        last = revision;
    }
}

pub async fn transfers_keep_the_sum(storage: &dyn Storage, space: &str) {
    const TOTAL: u64 = 100;
    let store = Store::new(storage, space);
    store.create("left", &TOTAL.to_string()).await;
    store.create("right", "0").await;
    on_threads(4, async |thread| {
        for _ in 0..10 {
            if thread % 2 == 0 {
                transfer(&store).await;
            }
            let page = store.all(None).await;
            let sum: u64 = page.items.iter().map(|item| number(&item.value)).sum();
            assert_eq!(
                sum, TOTAL,
                "expected no state in the middle of a transfer: {page:?}"
            );
        }
    })
    .await;
    let right = number(&store.existing("right").await.value);
    assert_eq!(right, 20, "expected each transfer once");
}

async fn transfer(store: &Store<'_>) {
    loop {
        let (left, right) = (store.existing("left").await, store.existing("right").await);
        let moved = |from: &KeyValue, sum: u64| {
            Write::update(from.key.clone(), from.mod_revision, sum.to_string())
        };
        let writes = vec![
            moved(&left, number(&left.value).saturating_sub(1)),
            moved(&right, number(&right.value) + 1),
        ];
        if let Outcome::Committed(_) = store.outcome(writes).await {
            return;
        }
    }
}

/// The number that a value holds.
pub(crate) fn number(value: &Bytes) -> u64 {
    let text = std::str::from_utf8(value).ok();
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("expected a number in {value:?}"))
}
