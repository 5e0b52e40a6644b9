//! What a reader of a resource promises, whether it has a cache or not: selection, transitions, lists of one moment,
//! bookmarks, resumption, and an end that loses nothing.

use std::{sync::Arc, time::Duration};

use ringwatch_core::revision::{Revision, StartFrom};
use ringwatch_server::{
    cache::{CacheError, ListRequest, Options, WatchEnd, WatchStart, everything},
    storage::{Embedded, Storage, StorageError, Write},
};
use ringwatch_tests::{
    fragile::Fragile,
    site::{
        Events, PATIENCE, STATE, Site, Way, device, fields, labels, list, namespace, nth, object,
        request,
    },
};

/// Makes two tests of each: with a cache and without.
macro_rules! both_ways {
    ($($test:ident,)*) => {
        mod cached {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test(super::Way::Cached(100)).await;
                }
            )*
        }

        mod direct {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test(super::Way::Direct).await;
                }
            )*
        }
    };
}

both_ways!(
    a_watch_begins_with_the_state_and_goes_on,
    entering_and_leaving_a_selection_are_events,
    a_watch_resumes_at_every_revision,
    lists_are_of_one_moment,
    pages_are_filled_with_what_matches,
    bookmarks_come_in_time_and_before_the_end,
    transactions_are_told_whole,
    what_cannot_be_decoded_is_left_out,
    the_future_is_refused,
    compacted_states_are_expired,
    shutdown_tells_every_watch_where_it_stands,
);

async fn a_watch_begins_with_the_state_and_goes_on(way: Way) {
    let site = Site::new(way).await;
    site.put("a/x", "heat", "hall").await;
    site.put("b/y", "cool", "hall").await;
    let mut all = site.watch(everything(), STATE).await;
    all.expect(["ADDED a/x 1", "ADDED b/y 2", "SYNCED 2"]).await;
    site.put("a/x", "cool", "hall").await;
    site.delete("b/y").await;
    all.expect(["MODIFIED a/x 3", "DELETED b/y 4"]).await;
}

async fn entering_and_leaving_a_selection_are_events(way: Way) {
    let site = Site::new(way).await;
    let mut by_field = site.watch(fields("spec.mode=heat"), STATE).await;
    let mut by_label = site.watch(labels("room=hall"), STATE).await;
    let mut by_absence = site.watch(labels("room!=hall"), STATE).await;
    let mut by_namespace = site.watch(namespace("b"), STATE).await;
    let mut by_key = site.watch(object("a/x"), STATE).await;
    for reader in [
        &mut by_field,
        &mut by_label,
        &mut by_absence,
        &mut by_namespace,
        &mut by_key,
    ] {
        reader.expect(["SYNCED 0"]).await;
    }
    // Each change is read before the next is made: a watcher that still has something to read would come across
    // what follows by itself, and not show whether it was woken for it.
    site.put("a/x", "heat", "hall").await;
    by_field.expect(["ADDED a/x 1"]).await;
    by_label.expect(["ADDED a/x 1"]).await;
    by_key.expect(["ADDED a/x 1"]).await;
    site.put("a/x", "cool", "attic").await;
    by_field.expect(["DELETED a/x 2"]).await;
    by_label.expect(["DELETED a/x 2"]).await;
    by_absence.expect(["ADDED a/x 2"]).await;
    by_key.expect(["MODIFIED a/x 2"]).await;
    site.put("a/x", "heat", "attic").await;
    by_field.expect(["ADDED a/x 3"]).await;
    by_absence.expect(["MODIFIED a/x 3"]).await;
    by_key.expect(["MODIFIED a/x 3"]).await;
    site.put("b/y", "cool", "hall").await;
    by_label.expect(["ADDED b/y 4"]).await;
    by_namespace.expect(["ADDED b/y 4"]).await;
    site.delete("a/x").await;
    by_field.expect(["DELETED a/x 5"]).await;
    by_absence.expect(["DELETED a/x 5"]).await;
    by_key.expect(["DELETED a/x 5"]).await;
}

async fn a_watch_resumes_at_every_revision(way: Way) {
    let site = Site::new(way).await;
    for number in 0..20 {
        site.put(
            &format!("a/{}", number % 3),
            if number % 2 == 0 { "heat" } else { "cool" },
            "hall",
        )
        .await;
    }
    let mut first = site
        .watch(fields("spec.mode=heat"), WatchStart::After(nth(0)))
        .await;
    let mut events = Vec::new();
    loop {
        let event = first.next().await;
        let last = event.ends_with(" 20");
        events.push(event);
        if last {
            break;
        }
    }
    for after in 0..20 {
        let mut resumed = site
            .watch(fields("spec.mode=heat"), WatchStart::After(nth(after)))
            .await;
        let later = |event: &&String| {
            let revision = event
                .rsplit(' ')
                .next()
                .and_then(|text| text.parse::<u64>().ok());
            revision.expect("a revision") > after
        };
        for event in events.iter().filter(later) {
            assert_eq!(&resumed.next().await, event);
        }
    }
}

async fn lists_are_of_one_moment(way: Way) {
    let site = Site::new(way).await;
    for key in ["a-b/x", "a/x", "a/y", "b/x"] {
        site.put(key, "heat", "hall").await;
    }
    site.put("a/x", "cool", "attic").await;
    site.delete("b/x").await;
    let all = ["a-b/x", "a/x", "a/y"];
    assert_eq!(site.list(everything(), StartFrom::Newest).await, all);
    assert_eq!(
        site.list(fields("spec.mode=heat"), StartFrom::Newest).await,
        ["a-b/x", "a/y"]
    );
    let newest = StartFrom::Newest;
    assert_eq!(site.list(namespace("a"), newest).await, ["a/x", "a/y"]);
    assert_eq!(site.list(object("a/y"), newest).await, ["a/y"]);
    assert!(site.list(object("a/"), newest).await.is_empty());
    let gone = site.reader.get("b/x", newest).await;
    assert_eq!(gone, Ok(None));
    let then = site.reader.get("b/x", StartFrom::Exact(nth(4))).await;
    assert_eq!(then.map(|it| it.map(|it| it.revision())), Ok(Some(nth(4))));
    let then = StartFrom::Exact(nth(4));
    assert_eq!(
        site.list(labels("room=hall"), then).await,
        ["a-b/x", "a/x", "a/y", "b/x"]
    );
    assert_eq!(
        site.list(everything(), StartFrom::Exact(nth(1))).await,
        ["a-b/x"]
    );

    // Pages at one revision, while others write.
    let mut request = ListRequest {
        predicate: everything(),
        start: StartFrom::Newest,
        limit: 1,
        after: None,
    };
    let mut seen = Vec::new();
    loop {
        let page = site.reader.list(&request).await.expect("a page");
        assert_eq!(page.revision, nth(6));
        assert_eq!(page.remaining, 2 - seen.len());
        seen.extend(page.items.iter().map(|item| item.key().to_owned()));
        site.put("a/new", "heat", &format!("room-{}", seen.len()))
            .await;
        request.start = StartFrom::Exact(page.revision);
        request.after = page.continue_after;
        if request.after.is_none() {
            break;
        }
    }
    assert_eq!(seen, all);
}

async fn bookmarks_come_in_time_and_before_the_end(way: Way) {
    let options = Options {
        bookmark_every: Duration::from_millis(50),
        ..Options::default()
    };
    let site = Site::with(way, options).await;
    let mut quiet = site.watch(fields("spec.mode=never"), STATE).await;
    quiet.expect(["SYNCED 0"]).await;
    site.put("a/x", "heat", "hall").await;
    // Although nothing of it concerns the watch, its bookmarks follow.
    while quiet.next().await != "BOOKMARK 1" {}

    let mut brief = request(everything(), WatchStart::Now);
    brief.timeout = Some(Duration::from_millis(100));
    brief.bookmarks = false;
    let mut brief = Events(site.reader.watch(brief).await.expect("a watch"));
    assert_eq!(brief.next().await, format!("{:?}", WatchEnd::TimedOut));
}

async fn pages_are_filled_with_what_matches(way: Way) {
    let site = Site::new(way).await;
    for number in 0..40 {
        let mode = if number % 10 == 9 { "heat" } else { "cool" };
        site.put(&format!("a/{number:02}"), mode, "hall").await;
    }
    let mut request = ListRequest {
        limit: 3,
        ..list(fields("spec.mode=heat"), StartFrom::Newest)
    };
    let page = site.reader.list(&request).await.expect("a page");
    let keys = |items: &[ringwatch_server::cache::Object]| -> Vec<String> {
        items.iter().map(|item| item.key().to_owned()).collect()
    };
    assert_eq!(keys(&page.items), ["a/09", "a/19", "a/29"]);
    assert_eq!(page.continue_after.as_deref(), Some("a/29"));
    assert_eq!(page.remaining, 10);
    // The first page ends exactly where nothing is left to look at.
    request.after = page.continue_after;
    request.limit = 1;
    let page = site.reader.list(&request).await.expect("a page");
    assert_eq!(keys(&page.items), ["a/39"]);
    assert_eq!((page.continue_after, page.remaining), (None, 0));
    // Nothing matches: all was looked at, and there is no other page.
    request.predicate = fields("spec.mode=never");
    request.after = None;
    let page = site.reader.list(&request).await.expect("a page");
    assert!(page.items.is_empty());
    assert_eq!((page.continue_after, page.remaining), (None, 0));
}

async fn transactions_are_told_whole(way: Way) {
    let site = Site::new(way).await;
    let mut watch = site.watch(everything(), STATE).await;
    watch.expect(["SYNCED 0"]).await;
    let create = |key: &str| {
        let value = device(key, "heat", "hall");
        Write::create(format!("/devices/{key}"), value)
    };
    let writes = ["a", "b", "c", "d", "e"].map(create);
    site.commit(writes.to_vec()).await;
    for key in ["a", "b", "c", "d", "e"] {
        // Until the last of them is read, who resumes has to read all of them again.
        assert_eq!(watch.0.resume_from(), Some(nth(0)), "before {key}");
        assert_eq!(watch.next().await, format!("ADDED {key} 1"));
    }
    assert_eq!(watch.0.resume_from(), Some(nth(1)));
}

async fn what_cannot_be_decoded_is_left_out(way: Way) {
    let site = Site::new(way).await;
    site.put("a/good", "heat", "hall").await;
    site.put("a/bad", "heat", "hall").await;
    let mut watch = site.watch(everything(), STATE).await;
    watch
        .expect(["ADDED a/bad 2", "ADDED a/good 1", "SYNCED 2"])
        .await;
    let broken = b"{\"metadata\":".to_vec();
    site.write("a/bad", Some(broken.clone())).await;
    watch.expect(["DELETED a/bad 3"]).await;
    assert_eq!(site.list(everything(), StartFrom::Newest).await, ["a/good"]);
    assert_eq!(site.reader.get("a/bad", StartFrom::Newest).await, Ok(None));
    // Still broken: nobody has seen it, so nothing has happened to anybody.
    site.write("a/bad", Some(broken)).await;
    site.put("a/bad", "heat", "hall").await;
    watch.expect(["ADDED a/bad 5"]).await;
}

async fn the_future_is_refused(way: Way) {
    let options = Options {
        freshness_wait: Duration::from_millis(200),
        ..Options::default()
    };
    let site = Site::with(way, options).await;
    let newest = site.put("a/x", "heat", "hall").await;
    let there = StartFrom::NotOlderThan(newest);
    assert_eq!(site.list(everything(), there).await, ["a/x"]);
    let requested = nth(99);
    let too_large = Some(CacheError::TooLarge { requested, newest });
    let start = StartFrom::NotOlderThan(requested);
    assert_eq!(site.reader.get("a/x", start).await.err(), too_large);
    let listing = site.reader.list(&list(everything(), start)).await;
    assert_eq!(listing.err(), too_large);
    let watch = request(everything(), WatchStart::State(start));
    assert_eq!(site.reader.watch(watch).await.err(), too_large);
    let exact = StartFrom::Exact(requested);
    let listing = site.reader.list(&list(everything(), exact)).await;
    assert!(
        matches!(listing, Err(CacheError::TooLarge { .. })),
        "{listing:?}"
    );
}

/// Also where the ring would know better: another server would not.
async fn compacted_states_are_expired(way: Way) {
    let site = Site::new(way).await;
    for number in 0..5 {
        site.put("a/x", &format!("m{number}"), "hall").await;
    }
    let at = |revision| list(everything(), StartFrom::Exact(revision));
    let before = site.reader.list(&at(nth(2))).await;
    assert!(before.is_ok(), "{before:?}");
    site.storage.compact(nth(3)).await.expect("a compaction");
    let expired = CacheError::Expired {
        requested: nth(2),
        floor: nth(3),
    };
    assert_eq!(site.reader.list(&at(nth(2))).await.err(), Some(expired));
    let floor = site.reader.list(&at(nth(3))).await;
    assert!(floor.is_ok(), "{floor:?}");
}

async fn shutdown_tells_every_watch_where_it_stands(way: Way) {
    let site = Site::new(way).await;
    site.put("a/x", "heat", "hall").await;
    let mut reading = site.watch(everything(), STATE).await;
    reading.expect(["ADDED a/x 1", "SYNCED 1"]).await;
    // These have read nothing yet.
    let mut late = site.watch(everything(), STATE).await;
    let mut elsewhere = site.watch(fields("spec.mode=never"), WatchStart::Now).await;
    let silent = ringwatch_server::cache::WatchRequest {
        bookmarks: false,
        ..request(everything(), WatchStart::After(nth(0)))
    };
    let mut silent = Events(site.reader.watch(silent).await.expect("a watch"));

    let last = site.put("a/y", "heat", "hall").await;
    // The cache has it too.
    site.list(everything(), StartFrom::NotOlderThan(last)).await;
    site.reader.shutdown();
    reading
        .expect(["ADDED a/y 2", "BOOKMARK 2", "ShuttingDown", "ShuttingDown"])
        .await;
    late.expect(["ADDED a/x 1", "SYNCED 1", "ADDED a/y 2"])
        .await;
    late.expect(["BOOKMARK 2", "ShuttingDown"]).await;
    elsewhere.expect(["BOOKMARK 2", "ShuttingDown"]).await;
    silent
        .expect(["ADDED a/x 1", "ADDED a/y 2", "ShuttingDown"])
        .await;
    // Lists go on, and a watch that comes now is told at once.
    assert_eq!(
        site.list(everything(), StartFrom::Newest).await,
        ["a/x", "a/y"]
    );
    let mut new = site.watch(everything(), WatchStart::After(last)).await;
    new.expect(["BOOKMARK 2", "ShuttingDown"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_wakes_who_waits() {
    for way in [Way::Cached(100), Way::Direct] {
        let site = Site::new(way).await;
        let mut waiting = site.watch(object("a/x"), STATE).await;
        waiting.expect(["SYNCED 0"]).await;
        let waiting = tokio::spawn(async move { [waiting.next().await, waiting.next().await] });
        site.reader.shutdown();
        let ended = tokio::time::timeout(PATIENCE, waiting).await;
        let ended = ended.expect("an end in time").expect("no panic");
        assert_eq!(ended, ["BOOKMARK 0", "ShuttingDown"], "{way:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_cache_a_watch_reaches_back_as_far_as_storage() {
    let site = Site::new(Way::Direct).await;
    for number in 0..5 {
        site.put("a/x", &format!("m{number}"), "hall").await;
    }
    site.storage.compact(nth(3)).await.expect("a compaction");
    let mut watch = site.watch(everything(), WatchStart::After(nth(3))).await;
    watch.expect(["MODIFIED a/x 4", "MODIFIED a/x 5"]).await;
    let late = request(everything(), WatchStart::After(nth(2)));
    let expired = CacheError::Expired {
        requested: nth(2),
        floor: nth(3),
    };
    assert_eq!(site.reader.watch(late).await.err(), Some(expired));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storage_that_fails_ends_a_watch_only_without_a_cache() {
    for way in [Way::Cached(100), Way::Direct] {
        let embedded: Arc<dyn Storage> = Arc::new(Embedded::in_memory());
        let fragile = Arc::new(Fragile::new(embedded));
        let site = Site::on(fragile.clone(), way, Options::default()).await;
        let mut watch = site.watch(everything(), STATE).await;
        watch.expect(["SYNCED 0"]).await;
        fragile.cut();
        if way == Way::Direct {
            let cut = StorageError::Unavailable("cut".to_owned());
            let end = format!("{:?}", WatchEnd::Storage(cut));
            assert_eq!(watch.next().await, end);
            let position = watch.0.resume_from().expect("a position");
            assert_eq!(position, Revision::new(1));
            watch = site.watch(everything(), WatchStart::After(position)).await;
        }
        site.put("a/x", "heat", "hall").await;
        watch.expect(["ADDED a/x 1"]).await;
    }
}
