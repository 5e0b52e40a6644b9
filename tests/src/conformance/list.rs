//! Lists: order, prefix, pages, and states of the past.

#![expect(missing_docs, reason = "the name of a case says what it checks")]

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{List, Storage, StorageError, Write};

use super::{
    read::{ODD_NAMES, large},
    recorder::{Recorder, items},
    store::Store,
};

pub async fn unused_prefix_lists_nothing(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let page = store.all(None).await;
    assert_eq!(page.items, [], "expected an empty list");
    assert_eq!(page.remaining, 0, "expected nothing after an empty list");
    let newest = store.revision().await;
    assert!(
        page.revision <= newest,
        "expected a revision up to the newest {newest}, not {}",
        page.revision
    );
}

pub async fn keys_come_in_byte_order(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    for name in ODD_NAMES {
        store.create(name, name).await;
    }
    let mut sorted = ODD_NAMES;
    sorted.sort_by_key(|name| name.as_bytes());
    let names = store.names(&store.below("")).await;
    assert_eq!(names, sorted, "expected the order of the bytes (right)");
    let of = |name| names.iter().position(|found| found == name);
    assert!(
        of("a-b/c") < of("a/b"),
        "expected `a-b/` before `a/`: {names:?}"
    );
}

pub async fn prefix_is_exact_text(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    for name in [
        "pods", "pods/a", "pods/ab", "pods/a/x", "pods-/a", "pods0", "pod/a", "Pods/a",
    ] {
        store.create(name, "").await;
    }
    for (prefix, expected) in [
        ("pods/", vec!["pods/a", "pods/a/x", "pods/ab"]),
        ("pods/a", vec!["pods/a", "pods/a/x", "pods/ab"]),
        ("pods/a/", vec!["pods/a/x"]),
        (
            "pods",
            vec!["pods", "pods-/a", "pods/a", "pods/a/x", "pods/ab", "pods0"],
        ),
        ("pods/b", vec![]),
    ] {
        let names = store.names(&store.below(prefix)).await;
        assert_eq!(
            names, expected,
            "expected what begins with {prefix:?} (right)"
        );
    }
}

/// The end of a prefix's range is found by raising its last byte, which must not be done by characters.
pub async fn prefix_may_end_in_any_character(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    for end in ["\u{7f}", "é", "\u{7ff}", "\u{ffff}", "\u{10ffff}"] {
        let inside = [
            end.to_owned(),
            format!("{end}/x"),
            format!("{end}\u{10ffff}"),
        ];
        for name in &inside {
            store.create(name, "").await;
        }
        let names = store.names(&store.below(end)).await;
        assert_eq!(names, inside, "expected what begins with {end:?} (right)");
    }
}

pub async fn items_carry_their_revisions(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    recorder.write(&[("a", Some("1")), ("b", Some("1"))]).await;
    recorder.write(&[("a", Some("2"))]).await;
    recorder.write(&[("b", None)]).await;
    recorder.write(&[("b", Some("3"))]).await;
    let page = recorder.store.all(None).await;
    assert_eq!(
        page.items,
        items(&recorder.state),
        "expected values and revisions as written (right)"
    );
}

pub async fn limit_cuts_and_counts_the_rest(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let names = numbered(&store, 7).await;
    store.create("after-the-range", "").await;
    for limit in 1..10 {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let list = List {
                limit,
                after,
                ..store.below("n/")
            };
            let page = store.page(&list).await;
            found.extend(page.items.iter().map(|item| item.key.to_string()));
            let rest = (names.len() - found.len().min(names.len())) as u64;
            assert_eq!(
                page.remaining, rest,
                "expected the number of keys after {list:?}"
            );
            assert!(page.items.len() <= limit, "expected at most {limit} items");
            if page.remaining == 0 {
                break;
            }
            assert_eq!(page.items.len(), limit, "expected a full page of {list:?}");
            after = found.last().cloned();
        }
        assert_eq!(
            found, names,
            "expected each key once in pages of {limit} (right)"
        );
    }
}

pub async fn limit_zero_lists_all(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let names = numbered(&store, 5).await;
    let page = store.page(&store.below("n/")).await;
    assert_eq!(page.items.len(), 5, "expected everything with limit 0");
    assert_eq!(page.remaining, 0, "expected nothing after everything");
    let rest = List {
        after: Some(names[1].clone()),
        ..store.below("n/")
    };
    let page = store.page(&rest).await;
    assert_eq!(page.items.len(), 3, "expected all the rest with limit 0");
    assert_eq!(page.remaining, 0, "expected nothing after all the rest");
}

pub async fn after_leaves_out_the_key_itself(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    for name in ["a", "a\u{1}", "a-b", "a/b", "b"] {
        store.create(name, "").await;
    }
    for (after, expected) in [
        ("a", vec!["a\u{1}", "a-b", "a/b", "b"]),
        ("a-b", vec!["a/b", "b"]),
        ("b", vec![]),
    ] {
        let list = List {
            after: Some(store.key(after)),
            ..store.below("")
        };
        let names = store.names(&list).await;
        assert_eq!(names, expected, "expected the keys after {after:?} (right)");
    }
}

pub async fn after_may_be_a_deleted_key(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    let names = numbered(&store, 4).await;
    let gone = store.existing("n/01").await;
    store.delete("n/01", gone.mod_revision).await;
    let list = List {
        after: Some(names[1].clone()),
        limit: 1,
        ..store.below("n/")
    };
    let page = store.page(&list).await;
    assert_eq!(
        store.names(&list).await,
        ["n/02"],
        "expected the key after the deleted one"
    );
    assert_eq!(page.remaining, 1, "expected one more key");
}

pub async fn after_may_be_outside_the_prefix(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    numbered(&store, 2).await;
    store.create("a", "").await;
    store.create("z", "").await;
    for (after, expected) in [
        ("a", vec!["n/00", "n/01"]),
        ("n", vec!["n/00", "n/01"]),
        ("n/", vec!["n/00", "n/01"]),
        ("n/\u{10ffff}", vec![]),
        ("n0", vec![]),
        ("z", vec![]),
    ] {
        let list = List {
            after: Some(store.key(after)),
            limit: 5,
            ..store.below("n/")
        };
        let names = store.names(&list).await;
        assert_eq!(
            names, expected,
            "expected the keys of the prefix after {after:?} (right)"
        );
        assert_eq!(
            store.page(&list).await.remaining,
            0,
            "expected no more keys"
        );
    }
}

pub async fn pages_are_one_state_while_others_write(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let store = recorder.store;
    recorder.random(1, 20).await;
    recorder.write(&[("a", Some("1")), ("b", Some("1"))]).await;
    let expected = items(&recorder.state);
    let first = List {
        limit: 1,
        ..store.below("")
    };
    let page = store.page(&first).await;
    let at = page.revision;
    let mut found = page.items;
    let mut remaining = page.remaining;
    let mut seed = 2;
    while remaining > 0 {
        recorder.random(seed, 3).await;
        seed += 1;
        let list = List {
            after: found.last().map(|item| item.key.to_string()),
            limit: 1,
            at: Some(at),
            ..store.below("")
        };
        let page = store.page(&list).await;
        assert_eq!(
            page.remaining,
            remaining - 1,
            "expected one key less to remain at {at}"
        );
        remaining = page.remaining;
        found.extend(page.items);
    }
    assert_eq!(found, expected, "expected the state at {at} (right)");
}

pub async fn each_past_revision_is_exact(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let store = recorder.store;
    let before = store.revision().await;
    recorder.random(3, 60).await;
    let page = store.all(Some(before)).await;
    assert_eq!(page.items, [], "expected nothing before the first write");
    for (revision, state) in &recorder.states {
        let page = store.all(Some(*revision)).await;
        assert_eq!(
            page.items,
            items(state),
            "expected the state at {revision} (right)"
        );
        assert_eq!(page.remaining, 0, "expected nothing after everything");
    }
}

pub async fn future_revision_is_refused(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    store.create("a", "").await;
    let newest = store.revision().await;
    let list = List {
        at: Some(Revision::new(newest.get() + 1_000_000)),
        ..store.below("")
    };
    let error = store.list_error(&list).await;
    assert!(
        matches!(error, StorageError::Future { .. }),
        "expected a list in the future to fail with Future, not {error:?}"
    );
}

/// More keys than a small page, and more bytes than a message of gRPC takes by default.
pub async fn large_lists_pass(storage: &dyn Storage, space: &str) {
    let store = Store::new(storage, space);
    for batch in 0..15 {
        let writes =
            (0..100).map(|n| Write::create(store.key(&format!("n/{batch:02}/{n:02}")), "x"));
        store.commit(writes.collect()).await;
    }
    for number in 0..6 {
        let key = store.key(&format!("large/{number}"));
        store.commit(vec![Write::create(key, large(number))]).await;
    }
    let page = store.page(&store.below("n/")).await;
    assert_eq!(page.items.len(), 1500, "expected 1500 keys in one list");
    assert!(
        page.items.is_sorted_by(|a, b| a.key < b.key),
        "expected 1500 keys in order"
    );
    let page = store.page(&store.below("large/")).await;
    assert_eq!(
        page.items.len(),
        6,
        "expected six values of 1 MiB in one list"
    );
    for (number, item) in (0..).zip(&page.items) {
        assert!(
            item.value == large(number),
            "expected 1 MiB as written at {:?}",
            item.key
        );
    }
}

/// Creates `n/00`, `n/01` and so on; gives back the keys.
async fn numbered(store: &Store<'_>, count: usize) -> Vec<String> {
    let mut keys = Vec::new();
    for number in 0..count {
        let name = format!("n/{number:02}");
        store.create(&name, "").await;
        keys.push(store.key(&name));
    }
    keys
}
