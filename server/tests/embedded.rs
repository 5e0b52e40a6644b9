//! What the embedded store promises beyond the trait: that it survives, and what it does with its files.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::embedded::{Durability, Options};
use ringwatch_server::storage::{
    Changes, Embedded, KeyValue, List, MAX_WRITES, Outcome, Storage, StorageError, WatchItem, Write,
};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn open(folder: &Path) -> Embedded {
    Embedded::open(folder, Options::default()).unwrap()
}

/// Nothing but keys in memory, so that every value comes from the disk.
fn forgetful() -> Options {
    Options::default()
        .values_in_memory(0)
        .history_in_memory(0)
        .durability(Durability::None)
}

async fn commit(store: &Embedded, writes: Vec<Write>) -> Revision {
    match store.commit(writes).await {
        Ok(Outcome::Committed(revision)) => revision,
        other => panic!("{other:?}"),
    }
}

async fn list_at(store: &Embedded, at: Option<Revision>) -> Result<Vec<KeyValue>, StorageError> {
    let list = List {
        at,
        ..List::default()
    };
    Ok(store.list(&list).await?.items)
}

async fn next(changes: &mut Changes) -> Result<WatchItem, StorageError> {
    changes.next().await.expect("the watch goes on")
}

/// Waits for the deletion of a key.
async fn deletion(changes: &mut Changes, key: &str) -> Revision {
    loop {
        if let WatchItem::Changes { revision, changes } = next(changes).await.unwrap()
            && let Some(change) = changes.iter().find(|change| &*change.key == key)
            && change.current.is_none()
        {
            assert!(change.previous.is_some());
            return revision;
        }
    }
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let folder = folder();
    // Folders that are missing are made.
    let inner = folder.path().join("not/there");
    let store = open(&inner);
    assert_eq!(store.revision().await, Ok(Revision::new(1)));
    let first = commit(
        &store,
        vec![Write::create("/a", "1"), Write::create("/b", "1")],
    )
    .await;
    assert_eq!(first, Revision::new(2));
    let second = commit(&store, vec![Write::update("/a", first, "2")]).await;
    let third = commit(&store, vec![Write::delete("/b", first)]).await;
    let states = [Some(first), Some(second), Some(third), None];
    let mut before = Vec::new();
    for at in states {
        before.push(list_at(&store, at).await.unwrap());
    }
    drop(store);

    let store = Embedded::open(&inner, forgetful()).unwrap();
    assert_eq!(store.revision().await, Ok(third));
    for (at, before) in states.into_iter().zip(before) {
        assert_eq!(list_at(&store, at).await.unwrap(), before);
    }
    let mut changes = store.watch("", Revision::ZERO).await.unwrap();
    for revision in [first, second, third] {
        let item = next(&mut changes).await.unwrap();
        assert!(matches!(item, WatchItem::Changes { revision: at, .. } if at == revision));
    }
    let fourth = commit(&store, vec![Write::create("/b", "3")]).await;
    assert_eq!(fourth.get(), third.get() + 1);
}

#[tokio::test]
async fn a_folder_belongs_to_one_store() {
    let folder = folder();
    let store = open(folder.path());
    let mut changes = store.watch("", Revision::ZERO).await.unwrap();
    let Err(StorageError::Damaged(why)) = Embedded::open(folder.path(), Options::default()) else {
        panic!("opened twice");
    };
    assert!(why.contains(&folder.path().display().to_string()), "{why}");
    assert!(why.contains("in use"), "{why}");
    let clone = store.clone();
    drop(store);
    commit(&clone, vec![Write::create("/a", "")]).await;
    drop(clone);
    // A running watch does not keep the folder.
    open(folder.path());
    assert!(changes.next().await.is_some());
}

#[tokio::test]
async fn closing_ends_the_watches() {
    let store = Embedded::in_memory();
    let mut changes = store.watch("", Revision::new(1)).await.unwrap();
    drop(store);
    let end = next(&mut changes).await;
    assert!(matches!(end, Err(StorageError::Unavailable(_))), "{end:?}");
    assert!(changes.next().await.is_none());
}

#[tokio::test]
async fn a_lease_outlives_the_process() {
    let folder = folder();
    let store = open(folder.path());
    let short = Write::create("/short", "").with_ttl(Duration::from_millis(1));
    let long = Write::create("/long", "").with_ttl(Duration::from_millis(700));
    let renewed = Write::create("/renewed", "").with_ttl(Duration::from_millis(1));
    let kept = Write::create("/kept", "").with_ttl(Duration::from_secs(3600));
    let created = commit(&store, vec![long, kept]).await;
    commit(&store, vec![short]).await;
    drop(store);

    let store = open(folder.path());
    let mut changes = store.watch("/", created).await.unwrap();
    let gone = deletion(&mut changes, "/short").await;
    assert!(gone > created);
    // An update without a ttl ends the lease, unless it was faster.
    let born = commit(&store, vec![renewed]).await;
    let outcome = store
        .commit(vec![Write::update("/renewed", born, "x")])
        .await;
    let outcome = outcome.unwrap();
    let last = deletion(&mut changes, "/long").await;
    let at_end = list_at(&store, Some(last)).await.unwrap();
    let keys: Vec<_> = at_end.iter().map(|item| &*item.key).collect();
    match outcome {
        Outcome::Committed(_) => assert_eq!(keys, ["/kept", "/renewed"]),
        Outcome::Conflict { .. } => assert_eq!(keys, ["/kept"]),
    }
    // Before, it was there.
    let before = list_at(&store, Some(last.previous())).await.unwrap();
    assert!(before.iter().any(|item| &*item.key == "/long"));
}

#[tokio::test]
async fn many_leases_end_in_transactions_of_bounded_size() {
    let store = Embedded::in_memory();
    let mut changes = store.watch("/", Revision::ZERO).await.unwrap();
    const KEYS: usize = 3 * MAX_WRITES;
    let keys: Vec<_> = (0..KEYS).map(|key| format!("/{key}")).collect();
    for keys in keys.chunks(MAX_WRITES) {
        let create = |key: &String| Write::create(&**key, "").with_ttl(Duration::from_millis(20));
        commit(&store, keys.iter().map(create).collect()).await;
    }
    let mut deleted = 0;
    while deleted < KEYS {
        if let WatchItem::Changes { changes, .. } = next(&mut changes).await.unwrap() {
            assert!(changes.len() <= MAX_WRITES);
            deleted += changes
                .iter()
                .filter(|change| change.current.is_none())
                .count();
        }
    }
    assert_eq!(list_at(&store, None).await, Ok(vec![]));
}

#[tokio::test]
async fn a_compaction_outlives_the_process() {
    let folder = folder();
    let store = open(folder.path());
    let mut revision = commit(
        &store,
        vec![Write::create("/a", "0"), Write::create("/b", "0")],
    )
    .await;
    let first = revision;
    for value in 1..10 {
        revision = commit(
            &store,
            vec![Write::update("/a", revision, value.to_string())],
        )
        .await;
    }
    // The very last record goes with the compaction; its revision must not come again.
    let last = commit(&store, vec![Write::delete("/b", first)]).await;
    let at_last = list_at(&store, None).await;
    store.compact(last).await.unwrap();
    let future = Revision::new(last.get() + 1);
    let refused = store.compact(future).await;
    assert_eq!(refused, Err(StorageError::Future { newest: Some(last) }));
    drop(store);

    let store = open(folder.path());
    assert_eq!(store.revision().await, Ok(last));
    let compacted = StorageError::Compacted { floor: Some(last) };
    let below = list_at(&store, Some(last.previous())).await;
    assert_eq!(below, Err(compacted.clone()));
    let watch = store.watch("/", last.previous()).await;
    assert_eq!(watch.err(), Some(compacted));
    assert_eq!(list_at(&store, Some(last)).await, at_last);
    assert!(store.watch("/", last).await.is_ok());
    // Once more changes nothing.
    assert_eq!(store.compact(first).await, Ok(()));
    let next = commit(&store, vec![Write::create("/b", "1")]).await;
    assert_eq!(next, future);
}

#[tokio::test]
async fn compaction_gives_space_back() {
    let folder = folder();
    let options = Options::default().durability(Durability::None);
    let store = Embedded::open(folder.path(), options).unwrap();
    const MEGABYTE: usize = 1024 * 1024;
    let mut expected = Revision::ZERO;
    for round in 0..400u32 {
        let value = vec![round as u8; MEGABYTE];
        expected = commit(&store, vec![Write::update("/a", expected, value)]).await;
        store.compact(expected).await.unwrap();
    }
    // The database gives space back in the background, when it comes to it.
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let size = used(folder.path()) / MEGABYTE as u64;
        if size < 200 {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "{size} MB for one value of 1 MB after 400 MB of changes"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Bytes on the disk. A file may go while its folder is read.
fn used(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok()?;
            Some(match metadata.is_dir() {
                true => used(&entry.path()),
                false => metadata.blocks() * 512,
            })
        })
        .sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_many_have_one_order() {
    const WRITERS: usize = 32;
    const EACH: usize = 20;
    let folder = folder();
    let store = open(folder.path());
    let mut changes = store.watch("/", Revision::ZERO).await.unwrap();
    let writers = (0..WRITERS).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut expected = Revision::ZERO;
            let mut revisions = Vec::new();
            for _ in 0..EACH {
                let write = Write::update(format!("/{writer}"), expected, "x");
                expected = commit(&store, vec![write]).await;
                // What is acknowledged is seen.
                let got = store.get(&format!("/{writer}")).await.unwrap();
                assert_eq!(got.found.unwrap().mod_revision, expected);
                revisions.push((expected.get(), format!("/{writer}")));
            }
            revisions
        })
    });
    let mut acknowledged = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        acknowledged.extend(writer.await.unwrap());
    }
    acknowledged.sort();
    let all = (2..).take(WRITERS * EACH);
    assert!(acknowledged.iter().map(|(revision, _)| *revision).eq(all));
    for (revision, key) in acknowledged {
        let WatchItem::Changes {
            revision: at,
            changes,
        } = next(&mut changes).await.unwrap()
        else {
            panic!("nobody asked for progress");
        };
        assert_eq!((at.get(), &*changes[0].key), (revision, &*key));
        assert_eq!(changes.len(), 1);
    }
}

#[tokio::test]
async fn a_conflict_shows_what_is_there() {
    let folder = folder();
    let store = Embedded::open(folder.path(), forgetful()).unwrap();
    let first = commit(
        &store,
        vec![Write::create("/a", "1"), Write::create("/b", "2")],
    )
    .await;
    let writes = vec![
        Write::update("/b", first, "3"),
        Write::delete("/missing", first),
        Write::create("/a", "3"),
    ];
    let Ok(Outcome::Conflict { current, revision }) = store.commit(writes).await else {
        panic!("no conflict");
    };
    assert_eq!(revision, first);
    let values: Vec<_> = current
        .iter()
        .map(|found| found.as_ref().map(|found| (&*found.key, &*found.value)))
        .collect();
    assert_eq!(
        values,
        [Some(("/b", &b"2"[..])), None, Some(("/a", &b"1"[..]))]
    );
    assert_eq!(store.revision().await, Ok(first));
}

#[tokio::test]
async fn what_cannot_be_stored_is_refused() {
    let options = Options::default().max_value_bytes(10);
    let store = Embedded::in_memory_with(options);
    let many = |count| (0..count).map(|key| Write::create(format!("/{key}"), ""));
    let refused = [
        vec![
            Write::create("/twice", "1"),
            Write::delete("/twice", Revision::ZERO),
        ],
        many(MAX_WRITES + 1).collect(),
        vec![Write::create("/large", vec![0; 11])],
        vec![Write::create("/".repeat(1 << 20), "")],
    ];
    for writes in refused {
        let outcome = store.commit(writes).await;
        assert!(
            matches!(outcome, Err(StorageError::Refused(_))),
            "{outcome:?}"
        );
    }
    assert_eq!(store.revision().await, Ok(Revision::new(1)));
    commit(&store, many(MAX_WRITES).collect()).await;
    commit(&store, vec![Write::create("/large", vec![0; 10])]).await;
    // What changes nothing takes no revision.
    let absent = vec![Write::delete("/absent", Revision::ZERO)];
    assert_eq!(commit(&store, absent).await, Revision::new(3));
    assert_eq!(commit(&store, vec![]).await, Revision::new(3));
}

#[tokio::test]
async fn nobody_has_to_wait_for_the_answer() {
    let folder = folder();
    let store = open(folder.path());
    for key in 0..50 {
        let commit = store.commit(vec![Write::create(format!("/{key}"), "")]);
        // Polled once, which asks the writer, and dropped.
        tokio::select! {
            biased;
            _ = commit => {}
            () = std::future::ready(()) => {}
        }
    }
    commit(&store, vec![Write::create("/last", "")]).await;
    drop(store);
    let items = list_at(&open(folder.path()), None).await.unwrap();
    assert_eq!(items.len(), 51);
}

#[tokio::test]
async fn a_watch_that_is_too_slow_hears_of_the_compaction() {
    for store in [Embedded::in_memory(), Embedded::in_memory_with(forgetful())] {
        let mut changes = store.watch("/", Revision::ZERO).await.unwrap();
        let mut revision = Revision::ZERO;
        for _ in 0..2000 {
            revision = commit(&store, vec![Write::update("/a", revision, "x")]).await;
        }
        store.compact(revision).await.unwrap();
        let mut expected = 2;
        let end = loop {
            match next(&mut changes).await {
                Ok(WatchItem::Changes { revision, .. }) => {
                    assert_eq!(revision.get(), expected);
                    expected += 1;
                }
                Ok(item) => panic!("{item:?}"),
                Err(error) => break error,
            }
        };
        assert_eq!(
            end,
            StorageError::Compacted {
                floor: Some(revision)
            }
        );
        assert!(changes.next().await.is_none());
    }
}

#[tokio::test]
async fn progress_comes_when_there_is_nothing_more() {
    let store = Embedded::in_memory();
    let mut changes = store.watch("/watched/", Revision::ZERO).await.unwrap();
    changes.request_progress();
    let progress = |revision| Ok(WatchItem::Progress(Revision::new(revision)));
    assert_eq!(next(&mut changes).await, progress(1));
    let key: Arc<str> = "/watched/a".into();
    commit(&store, vec![Write::create(key, "")]).await;
    commit(&store, vec![Write::create("/other", "")]).await;
    changes.request_progress();
    let mut item = next(&mut changes).await;
    assert!(matches!(item, Ok(WatchItem::Changes { .. })), "{item:?}");
    // It was asked for when two revisions were there, so it is about both.
    item = next(&mut changes).await;
    assert_eq!(item, progress(3));
}
