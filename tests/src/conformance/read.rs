//! Reading one key.

#![expect(missing_docs, reason = "the name of a case says what it checks")]

use bytes::Bytes;
use ringwatch_server::storage::{Condition, KeyValue, Storage, Write};

use super::{
    store::{Store, bytes},
    wait::succeed,
};

/// Keys that a careless implementation confuses.
pub(crate) const ODD_NAMES: [&str; 20] = [
    "a",
    "A",
    "a ",
    "a%2fb",
    "a-",
    "a-b",
    "a-b/c",
    "a.",
    "a.b",
    "a/b",
    "a/b/c",
    "a0",
    "a\u{1}",
    "aa",
    "a\u{7f}",
    "ä",
    "a\u{308}",
    "日本/語",
    "\u{ff5e}",
    "\u{1f600}",
];

pub async fn absent_key_is_not_found(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    assert_eq!(
        store.found("a").await,
        None,
        "expected an unused key to be absent"
    );
    let revision = store.create("b", "b").await;
    assert_eq!(
        store.found("a").await,
        None,
        "expected an unused key to be absent"
    );
    store.delete("b", revision).await;
    assert_eq!(
        store.found("b").await,
        None,
        "expected a deleted key to be absent"
    );
}

pub async fn created_key_is_found(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let revision = store.create("a", "1").await;
    let expected = KeyValue {
        key: store.key("a").into(),
        value: bytes("1"),
        mod_revision: revision,
        create_revision: revision,
        condition: Condition::Sound,
    };
    assert_eq!(
        store.found("a").await,
        Some(expected),
        "expected the created key (right)"
    );
}

pub async fn empty_value_is_not_absence(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    store.create("a", "").await;
    assert_eq!(
        store.existing("a").await.value,
        bytes(""),
        "expected an empty value"
    );
}

pub async fn any_bytes_are_kept(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let value: Bytes = (0..=u8::MAX).rev().chain(0..=u8::MAX).collect();
    store
        .commit(vec![Write::create(store.key("a"), value.clone())])
        .await;
    assert_eq!(
        store.existing("a").await.value,
        value,
        "expected the value as written"
    );
}

pub async fn large_values_are_kept(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let value = large(1);
    let write = Write::create(store.key("a"), value.clone());
    let revision = store.commit(vec![write]).await;
    assert!(
        store.existing("a").await.value == value,
        "expected 1 MiB as written"
    );
    let value = large(2);
    let write = Write::update(store.key("a"), revision, value.clone());
    store.commit(vec![write]).await;
    assert!(
        store.existing("a").await.value == value,
        "expected 1 MiB as written"
    );
}

pub async fn odd_keys_are_told_apart(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    for name in ODD_NAMES {
        assert_eq!(
            store.found(name).await,
            None,
            "expected {name:?} not to exist yet"
        );
        store.create(name, name).await;
    }
    for name in ODD_NAMES {
        let value = store.existing(name).await.value;
        assert_eq!(value, bytes(name), "expected the value of {name:?}");
    }
}

pub async fn a_key_is_not_its_prefix(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    store.create("a/b", "1").await;
    for name in ["", "a", "a/", "a/b/", "a/b/c"] {
        assert_eq!(
            store.found(name).await,
            None,
            "expected only \"a/b\", not {name:?}"
        );
    }
}

pub async fn reads_see_acknowledged_writes(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let mut revision = store.create("a", "start").await;
    for number in 0..40 {
        let value = number.to_string();
        revision = store.update("a", revision, &value).await;
        let key = store.key("a");
        let got = succeed("get", storage.get(&key)).await;
        assert!(
            got.revision >= revision,
            "expected get to look at {revision} or later, not {}",
            got.revision
        );
        let found = got.found.map(|found| found.value);
        assert_eq!(
            found,
            Some(bytes(&value)),
            "expected get to see the newest value"
        );
        let page = store.all(None).await;
        assert!(
            page.revision >= revision,
            "expected list to look at {revision} or later, not {}",
            page.revision
        );
        let listed: Vec<_> = page.items.into_iter().map(|item| item.value).collect();
        assert_eq!(
            listed,
            [bytes(&value)],
            "expected list to see the newest value"
        );
        assert!(
            store.revision().await >= revision,
            "expected the newest revision to be {revision} or later"
        );
    }
}

/// 1 MiB that differs with `seed`.
pub(crate) fn large(seed: u8) -> Bytes {
    (0..1 << 20)
        .map(|at: u32| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8 ^ seed)
        .collect()
}
