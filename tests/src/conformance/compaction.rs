//! Compaction: what is forgotten, and that it is said. These cases affect the whole store.

#![expect(missing_docs, reason = "the name of a case says what it checks")]

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{List, Storage, StorageError, WatchItem};

use super::{
    recorder::{Commit, Recorder, items},
    store::Store,
    wait::{PATIENCE, fail, succeed, within},
};

pub async fn older_states_go_and_the_named_one_stays(storage: &dyn Storage, space: &str) {
    let recorder = recorded(storage, space, 20).await;
    let store = recorder.store;
    let middle = 10;
    let floor = recorder.states[middle].0;
    compact(&store, floor).await;
    for (number, (revision, state)) in recorder.states.iter().enumerate() {
        if number < middle {
            expect_compacted(&store, *revision).await;
            continue;
        }
        let page = store.all(Some(*revision)).await;
        assert_eq!(
            page.items,
            items(state),
            "expected the state at {revision} (right)"
        );
    }
    expect_compacted(&store, floor.previous()).await;
}

pub async fn newest_reads_are_untouched(storage: &dyn Storage, space: &str) {
    let mut recorder = recorded(storage, space, 20).await;
    let store = recorder.store;
    recorder.write(&[("gone", Some("1"))]).await;
    recorder.write(&[("gone", None)]).await;
    let newest = store.revision().await;
    compact(&store, newest).await;
    assert_eq!(
        store.revision().await,
        newest,
        "expected a compaction to take no revision"
    );
    let expected = items(&recorder.state);
    for at in [None, Some(newest)] {
        let page = store.all(at).await;
        assert_eq!(
            page.items, expected,
            "expected the newest state at {at:?} (right)"
        );
    }
    for item in expected {
        let name = item.key.strip_prefix(space).expect("a key of the space");
        assert_eq!(store.existing(name).await, item, "expected the key (right)");
    }
    assert_eq!(
        store.found("gone").await,
        None,
        "expected a deleted key to stay deleted"
    );
}

pub async fn watch_from_before_fails_and_ends(storage: &dyn Storage, space: &str) {
    let recorder = recorded(storage, space, 20).await;
    let store = recorder.store;
    let floor = recorder.commits[10].revision;
    compact(&store, floor).await;
    for number in 0..10 {
        let after = recorder.commits[number].revision;
        let mut seen = Vec::new();
        let error = store.watch_error(after, |item| seen.push(item)).await;
        if number == 9 && error.is_none() {
            // The only change that is missing is the one at the floor. A store may still know it, but then all of it.
            let seen: Vec<_> = seen.into_iter().map(commit).collect();
            assert_eq!(
                seen,
                recorder.commits[10..],
                "expected all changes after {after} (right)"
            );
            continue;
        }
        assert!(
            matches!(error, Some(StorageError::Compacted { .. })),
            "expected a watch after {after} to fail with Compacted, since only {floor} is known: \
             {error:?}"
        );
        assert_eq!(seen, [], "expected no change before the error");
    }
}

pub async fn watch_from_the_floor_goes_on(storage: &dyn Storage, space: &str) {
    let mut recorder = recorded(storage, space, 20).await;
    let floor = recorder.commits[10].revision;
    compact(&recorder.store, floor).await;
    let mut watch = recorder.store.watch("", floor).await;
    recorder.random(2, 5).await;
    watch.expect(&recorder.commits[11..]).await;
    // Also where the floor is the newest revision.
    let newest = recorder.store.revision().await;
    compact(&recorder.store, newest).await;
    let known = recorder.commits.len();
    let mut watch = recorder.store.watch("", newest).await;
    recorder.random(3, 5).await;
    watch.expect(&recorder.commits[known..]).await;
}

pub async fn running_watch_is_not_disturbed(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let mut watch = recorder
        .store
        .watch("", recorder.store.revision().await)
        .await;
    for seed in 0..5 {
        let known = recorder.commits.len();
        recorder.random(seed, 5).await;
        watch.expect(&recorder.commits[known..]).await;
        let newest = recorder.store.revision().await;
        watch.progress(newest).await;
        compact(&recorder.store, newest).await;
    }
}

/// A watch that is behind when its history goes may fail, but not leave anything out.
pub async fn slow_watch_never_skips(storage: &dyn Storage, space: &str) {
    let mut recorder = Recorder::new(Store::new(storage, space));
    let before = recorder.store.revision().await;
    let mut watch = recorder.store.watch("", before).await;
    recorder.random(1, 400).await;
    compact(&recorder.store, recorder.store.revision().await).await;
    recorder.random(2, 5).await;
    for expected in &recorder.commits {
        let what = format!("the changes of {}, or Compacted", expected.revision);
        let seen = loop {
            match watch.next(&what).await {
                Ok(WatchItem::Progress(_)) => {}
                Ok(item) => break commit(item),
                Err(StorageError::Compacted { .. }) => return,
                Err(error) => panic!("expected {what}, not {error:?}"),
            }
        };
        assert_eq!(&seen, expected, "expected {what} (right)");
    }
}

pub async fn floor_does_not_go_back(storage: &dyn Storage, space: &str) {
    let recorder = recorded(storage, space, 20).await;
    let store = recorder.store;
    let floor = recorder.states[10].0;
    compact(&store, floor).await;
    for older in [floor, recorder.states[5].0] {
        let again = within(PATIENCE, "a second compaction", storage.compact(older)).await;
        assert!(
            matches!(again, Ok(()) | Err(StorageError::Compacted { .. })),
            "expected a compaction to {older} after {floor} to do nothing, not {again:?}"
        );
        expect_compacted(&store, recorder.states[5].0).await;
        expect_compacted(&store, recorder.states[9].0).await;
        store.all(Some(floor)).await;
    }
}

pub async fn floor_is_told(storage: &dyn Storage, space: &str) {
    let recorder = recorded(storage, space, 20).await;
    let store = recorder.store;
    let (first, second) = (recorder.states[5].0, recorder.states[10].0);
    let before = storage.compacted();
    assert!(
        before < first,
        "expected nothing of this case to be compacted yet, not all before {before}"
    );
    for floor in [first, second] {
        compact(&store, floor).await;
        assert_eq!(storage.compacted(), floor, "expected the floor to be known");
    }
    // Whether it is refused or does nothing.
    let _ = within(PATIENCE, "a compaction of old", storage.compact(first)).await;
    let future = Revision::new(store.revision().await.get() + 1_000_000);
    fail("a compaction in the future", storage.compact(future)).await;
    assert_eq!(
        storage.compacted(),
        second,
        "expected the floor to stay where it is"
    );
}

pub async fn future_revision_is_refused(storage: &dyn Storage, space: &str) {
    let recorder = recorded(storage, space, 5).await;
    let store = recorder.store;
    let future = Revision::new(store.revision().await.get() + 1_000_000);
    let error = fail("a compaction in the future", storage.compact(future)).await;
    assert!(
        matches!(error, StorageError::Future { .. }),
        "expected a compaction in the future to fail with Future, not {error:?}"
    );
    for (revision, state) in &recorder.states {
        let page = store.all(Some(*revision)).await;
        assert_eq!(
            page.items,
            items(state),
            "expected nothing to be forgotten (right)"
        );
    }
}

async fn recorded<'a>(storage: &'a dyn Storage, space: &'a str, count: usize) -> Recorder<'a> {
    let mut recorder = Recorder::new(Store::new(storage, space));
    recorder.random(1, count).await;
    recorder
}

async fn compact(store: &Store<'_>, revision: Revision) {
    let what = format!("a compaction to {revision}");
    succeed(&what, store.storage.compact(revision)).await;
}

async fn expect_compacted(store: &Store<'_>, at: Revision) {
    let list = List {
        at: Some(at),
        ..store.below("")
    };
    let error = store.list_error(&list).await;
    assert!(
        matches!(error, StorageError::Compacted { .. }),
        "expected a list at {at} to fail with Compacted, not {error:?}"
    );
}

fn commit(item: WatchItem) -> Commit {
    match item {
        WatchItem::Changes { revision, changes } => Commit::new(revision, changes),
        WatchItem::Progress(revision) => panic!("expected changes, not progress to {revision}"),
    }
}
