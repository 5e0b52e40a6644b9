//! Watches: every change once, in order, and progress that can be trusted.

#![expect(missing_docs, reason = "the name of a case says what it checks")]

use std::sync::atomic::{AtomicUsize, Ordering};

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{Storage, StorageError, WatchItem, Write};

use super::{
    read::large,
    recorder::{Commit, Recorder, State, items, state},
    store::Store,
    wait::{PATIENCE, fail, on_threads, within},
};

pub async fn from_now(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    recorder.random(1, 5).await;
    let before = recorder.commits.len();
    let now = recorder.store.revision().await;
    let mut watch = recorder.store.watch("", now).await;
    recorder.random(2, 20).await;
    watch.expect(&recorder.commits[before..]).await;
}

pub async fn from_the_past(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let before = recorder.store.revision().await;
    recorder.random(1, 30).await;
    let mut watch = recorder.store.watch("", before).await;
    recorder.random(2, 10).await;
    watch.expect(&recorder.commits).await;
}

pub async fn from_each_revision(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    recorder.random(1, 12).await;
    for number in 0..recorder.commits.len() {
        let rest = &recorder.commits[number..];
        // The change at the revision itself is not seen, the one just after it is.
        let mut watch = recorder.store.watch("", rest[0].revision).await;
        watch.expect(&rest[1..]).await;
        let mut watch = recorder.store.watch("", rest[0].revision.previous()).await;
        watch.expect(rest).await;
    }
}

/// Either is refused, or begins where it was told to.
pub async fn from_the_future(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let store = recorder.store;
    let after = Revision::new(store.revision().await.get() + 4);
    let watch = within(PATIENCE, "an answer", storage.watch(space, after)).await;
    let mut changes = match watch {
        Err(StorageError::Future { .. }) => return,
        other => other.expect("expected a watch from the future to begin, or Future"),
    };
    let mut number = 0;
    while recorder
        .commits
        .last()
        .is_none_or(|last| last.revision <= after)
    {
        number += 1;
        recorder.write(&[("a", Some(&number.to_string()))]).await;
    }
    loop {
        match within(PATIENCE, "a change or Future", changes.next()).await {
            Some(Err(StorageError::Future { .. })) => return,
            Some(Ok(WatchItem::Progress(_))) => {}
            Some(Ok(WatchItem::Changes { revision, changes })) => {
                let seen = Commit::new(revision, changes);
                assert_eq!(
                    Some(&seen),
                    recorder.commits.last(),
                    "expected the first change after {after} (right)"
                );
                return;
            }
            other => panic!("expected a change after {after}, or Future, not {other:?}"),
        }
    }
}

pub async fn create_update_delete_recreate(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let mut watch = recorder
        .store
        .watch("", recorder.store.revision().await)
        .await;
    for value in [Some("1"), Some("2"), Some("2"), None, Some("3"), None] {
        recorder.write(&[("a", value)]).await;
    }
    watch.expect(&recorder.commits).await;
}

pub async fn transaction_is_one_item(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let before = recorder.store.revision().await;
    let mut live = recorder.store.watch("", before).await;
    let names: Vec<_> = (0..50).map(|number| format!("{number:02}")).collect();
    let all = |value| -> Vec<_> { names.iter().map(|name| (name.as_str(), value)).collect() };
    recorder.write(&all(Some("1"))).await;
    recorder
        .write(&[("00", None), ("01", Some("2")), ("50", Some("2"))])
        .await;
    recorder.write(&all(Some("3"))).await;
    live.expect(&recorder.commits).await;
    let mut late = recorder.store.watch("", before).await;
    late.expect(&recorder.commits).await;
}

pub async fn transaction_across_prefixes_shows_the_watched_part(
    storage: &dyn Storage,
    space: &str,
) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let store = recorder.store;
    let before = store.revision().await;
    let mut watch = store.watch("in/", before).await;
    recorder
        .write(&[
            ("in/a", Some("1")),
            ("out/a", Some("1")),
            ("in/b", Some("1")),
        ])
        .await;
    recorder.write(&[("out/a", Some("2"))]).await;
    recorder.write(&[("out/a", None), ("in/a", None)]).await;
    let prefix = store.key("in/");
    let expected: Vec<_> = recorder
        .commits
        .iter()
        .filter_map(|commit| commit.below(&prefix))
        .collect();
    watch.expect(&expected).await;
    store.watch("in/", before).await.expect(&expected).await;
}

pub async fn prefix_does_not_leak(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let store = recorder.store;
    let before = store.revision().await;
    let mut live = store.watch("pods/a/", before).await;
    let others = [
        "pods/a",
        "pods/ab/x",
        "pods/a-/x",
        "pods/b/x",
        "pods/a0",
        "x",
        "pods/A/x",
    ];
    for name in others {
        recorder.write(&[(name, Some("1"))]).await;
    }
    for name in others {
        recorder.write(&[(name, None)]).await;
    }
    let last = recorder.commits.len();
    recorder.write(&[("pods/a/x", Some("1"))]).await;
    live.expect(&recorder.commits[last..]).await;
    let mut late = store.watch("pods/a/", before).await;
    late.expect(&recorder.commits[last..]).await;
    // A prefix is text, not a folder: without the slash it means more.
    let mut wide = store.watch("pods/a", before).await;
    let prefix = store.key("pods/a");
    let expected: Vec<_> = recorder
        .commits
        .iter()
        .filter_map(|commit| commit.below(&prefix))
        .collect();
    wide.expect(&expected).await;
}

pub async fn conflicts_and_refusals_are_not_seen(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let store = recorder.store;
    let a = recorder.write(&[("a", Some("1"))]).await;
    let mut watch = store.watch("", a).await;
    let a_again = Write::create(store.key("a"), "2");
    let b = Write::create(store.key("b"), "2");
    store.conflict(vec![a_again.clone()]).await;
    store.conflict(vec![b.clone(), a_again]).await;
    fail("a key twice", storage.commit(vec![b.clone(), b])).await;
    recorder.write(&[("c", Some("1"))]).await;
    watch.expect(&recorder.commits[1..]).await;
}

/// More bytes than a message of gRPC takes by default, previous values included.
pub async fn large_values_pass(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let before = recorder.store.revision().await;
    let mut live = recorder.store.watch("", before).await;
    for seed in 0..4 {
        recorder.write_bytes(vec![("a", Some(large(seed)))]).await;
    }
    recorder.write(&[("a", None)]).await;
    let mut late = recorder.store.watch("", before).await;
    for watch in [&mut live, &mut late] {
        for expected in &recorder.commits {
            let seen = watch.commit("a change of 1 MiB").await;
            // No `assert_eq`: it would print megabytes.
            assert!(
                &seen == expected,
                "expected values of 1 MiB at {}",
                expected.revision
            );
        }
    }
}

pub async fn progress_reaches_the_newest(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let store = recorder.store;
    let mut watch = store.watch("", store.revision().await).await;
    let mut expected = 0;
    for seed in 0..10 {
        recorder.random(seed, 3).await;
        let newest = store.revision().await;
        let (seen, _) = watch.progress(newest).await;
        assert_eq!(
            seen,
            recorder.commits[expected..],
            "expected all changes (right) before progress to {newest}"
        );
        expected = recorder.commits.len();
    }
}

pub async fn progress_follows_foreign_writes(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let store = recorder.store;
    let mut watch = store.watch("watched/", store.revision().await).await;
    for number in 0..10 {
        let newest = recorder
            .write(&[("other/a", Some(&number.to_string()))])
            .await;
        if !storage.reports_progress().await {
            // Then a write to a watched key is what shows that the watch is in step.
            recorder
                .write(&[("watched/a", Some(&number.to_string()))])
                .await;
            watch
                .expect(&recorder.commits[recorder.commits.len() - 1..])
                .await;
            continue;
        }
        let (seen, _) = watch.progress(newest).await;
        assert_eq!(seen, [], "expected only progress to {newest}");
    }
}

pub async fn progress_waits_for_the_past(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let before = recorder.store.revision().await;
    recorder.random(1, 100).await;
    let newest = recorder.store.revision().await;
    for _ in 0..5 {
        let mut watch = recorder.store.watch("", before).await;
        // That no change comes after progress past it, the reader checks with each item.
        let (seen, _) = watch.progress(newest).await;
        assert_eq!(
            seen, recorder.commits,
            "expected all changes (right) before progress to {newest}"
        );
    }
}

pub async fn progress_never_lies(storage: &dyn Storage, space: &str) {
    const WRITERS: usize = 3;
    const WRITES: usize = 40;
    let store = Store::new(storage, space);
    let before = store.revision().await;
    let writing = AtomicUsize::new(WRITERS);
    let results = on_threads(WRITERS + 1, async |thread| {
        if thread < WRITERS {
            let mut revisions = Vec::new();
            for number in 0..WRITES {
                revisions.push(store.create(&format!("{thread}/{number}"), "").await);
            }
            writing.fetch_sub(1, Ordering::Relaxed);
            return revisions;
        }
        // The reader checks with each item that progress was true when it came.
        let mut watch = store.watch("", before).await;
        let mut seen = Vec::new();
        while seen.len() < WRITERS * WRITES {
            watch.request_progress();
            match watch.next("a change or progress").await {
                Ok(WatchItem::Changes { revision, .. }) => seen.push(revision),
                Ok(WatchItem::Progress(revision)) => {
                    assert!(
                        writing.load(Ordering::Relaxed) > 0 || revision > before,
                        "expected progress after {before}"
                    );
                }
                Err(error) => panic!("expected a change or progress, not {error:?}"),
            }
        }
        seen
    })
    .await;
    let mut written: Vec<_> = results[..WRITERS].concat();
    written.sort();
    assert_eq!(
        results[WRITERS], written,
        "expected each write once, in order (right)"
    );
}

pub async fn no_gap_between_list_and_watch(storage: &dyn Storage, space: &str) {
    const WRITERS: usize = 2;
    let store = Store::new(storage, space);
    on_threads(WRITERS + 2, async |thread| {
        if thread < WRITERS {
            let name = thread.to_string();
            let mut last = Revision::ZERO;
            for number in 0..60 {
                last = match number % 4 {
                    3 => {
                        store.delete(&name, last).await;
                        Revision::ZERO
                    }
                    _ => store.update(&name, last, &number.to_string()).await,
                };
            }
            return;
        }
        for _ in 0..8 {
            let page = store.all(None).await;
            let mut known: State = state(page.items);
            let mut watch = store.watch("", page.revision).await;
            let newest = store.revision().await;
            let (seen, at) = watch.progress(newest).await;
            for commit in seen {
                commit.apply(&mut known);
            }
            let listed = store.all(Some(at)).await.items;
            assert_eq!(
                items(&known),
                listed,
                "expected a list and the changes after it to give the list at {at} (right)"
            );
        }
    })
    .await;
}

pub async fn many_watchers_see_the_same(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let before = recorder.store.revision().await;
    let mut watches = Vec::new();
    for _ in 0..30 {
        watches.push(recorder.store.watch("", before).await);
    }
    recorder.random(1, 20).await;
    for _ in 0..30 {
        watches.push(recorder.store.watch("", before).await);
    }
    recorder.random(2, 20).await;
    for watch in &mut watches {
        watch.expect(&recorder.commits).await;
    }
}

pub async fn slow_watcher_loses_nothing_and_holds_up_nobody(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let before = recorder.store.revision().await;
    let mut slow = recorder.store.watch("", before).await;
    let mut quick = recorder.store.watch("", before).await;
    // More than any watch is likely to buffer.
    for round in 0..10 {
        let first = recorder.commits.len();
        recorder.random(round, 60).await;
        quick.expect(&recorder.commits[first..]).await;
    }
    slow.expect(&recorder.commits).await;
    recorder.random(99, 3).await;
    let last = recorder.commits.len() - 3;
    slow.expect(&recorder.commits[last..]).await;
}

pub async fn dropped_watches_do_no_harm(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let before = recorder.store.revision().await;
    recorder.random(1, 10).await;
    let mut kept = recorder.store.watch("", before).await;
    for number in 0..100 {
        let mut dropped = recorder.store.watch("", before).await;
        match number % 3 {
            0 => dropped.expect(&recorder.commits[..1]).await,
            1 => dropped.request_progress(),
            _ => {}
        }
    }
    recorder.random(2, 10).await;
    kept.expect(&recorder.commits).await;
    kept.progress(recorder.store.revision().await).await;
}
