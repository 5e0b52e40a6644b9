//! What the watch cache promises beyond what every [reader](../reader.rs) does: an end for who falls behind, relists that keep
//! watches open, quarantine, and that it finds out when it is wrong.

use std::{sync::Arc, time::Duration};

use ringwatch_core::revision::StartFrom;
use ringwatch_server::{
    cache::{Cache, CacheError, Options, Sample, WatchEnd, WatchStart, everything},
    storage::{Embedded, Storage, Write},
};
use ringwatch_tests::{
    fragile::Fragile,
    site::{PATIENCE, STATE, Site, Way, fields, nth, request},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_resumes_between_the_objects_of_a_state() {
    let site = Site::new(Way::Cached(100)).await;
    // The older one comes second: who resumed after the first would never hear of it.
    site.put("a/y", "heat", "hall").await;
    site.put("a/x", "heat", "hall").await;
    let mut watch = site.watch(everything(), STATE).await;
    watch.expect(["ADDED a/x 2"]).await;
    assert_eq!(watch.0.resume_from(), None);
    watch.expect(["ADDED a/y 1", "SYNCED 2"]).await;
    assert_eq!(watch.0.resume_from(), Some(nth(2)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_that_falls_off_the_ring_is_told() {
    let site = Site::new(Way::Cached(4)).await;
    let mut slow = site.watch(everything(), STATE).await;
    slow.expect(["SYNCED 0"]).await;
    let mut elsewhere = site.watch(fields("spec.mode=never"), STATE).await;
    elsewhere.expect(["SYNCED 0"]).await;
    let mut last = nth(0);
    for number in 0..10 {
        last = site.put("a/x", &format!("m{number}"), "hall").await;
    }
    site.list(everything(), StartFrom::NotOlderThan(last)).await;
    assert_eq!(
        slow.next().await,
        format!("{:?}", WatchEnd::Expired { floor: nth(6) })
    );
    // Nothing of that concerned this one, so it has lost nothing.
    assert_eq!(elsewhere.0.resume_from(), Some(last));
    site.put("a/x", "never", "hall").await;
    elsewhere.expect(["ADDED a/x 11"]).await;

    let late = site
        .reader
        .watch(request(everything(), WatchStart::After(nth(2))))
        .await;
    let expired = CacheError::Expired {
        requested: nth(2),
        floor: nth(7),
    };
    assert_eq!(late.err(), Some(expired));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_decoded_is_set_aside_until_it_can() {
    let site = Site::new(Way::Cached(100)).await;
    site.put("a/bad", "heat", "hall").await;
    let mut watch = site.watch(everything(), STATE).await;
    watch.expect(["ADDED a/bad 1", "SYNCED 1"]).await;
    site.write("a/bad", Some(b"{\"metadata\":".to_vec())).await;
    watch.expect(["DELETED a/bad 2"]).await;
    let quarantined = site.cache().quarantined();
    assert_eq!(&*quarantined[0].key, "/devices/a/bad");
    assert_eq!(
        value(site.cache(), "ringwatch_quarantined_objects", &[]),
        1.0
    );

    // A cache that begins now meets it in its first list.
    let way = Way::Cached(100);
    let second = Site::on(site.storage.clone(), way, Options::default()).await;
    assert_eq!(second.cache().quarantined(), quarantined);
    assert!(
        second
            .cache()
            .verify()
            .await
            .expect("a comparison")
            .agrees()
    );

    site.put("a/bad", "heat", "hall").await;
    watch.expect(["ADDED a/bad 3"]).await;
    assert_eq!(site.cache().quarantined(), []);
    assert!(site.cache().verify().await.expect("a comparison").agrees());
}

/// A cache on a storage whose watches can be made to fail. It checks itself as often as given.
async fn fragile(verify_every: Option<Duration>) -> (Arc<Fragile>, Site) {
    let embedded: Arc<dyn Storage> = Arc::new(Embedded::in_memory());
    let storage = Arc::new(Fragile::new(embedded));
    let options = Options {
        verify_every,
        ..Options::default()
    };
    let site = Site::on(storage.clone(), Way::Cached(100), options).await;
    (storage, site)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_that_missed_a_change_is_repaired() {
    let (storage, site) = fragile(None).await;
    site.put("a/kept", "heat", "hall").await;
    site.put("a/lost", "heat", "hall").await;
    let mut watch = site.watch(everything(), STATE).await;
    watch
        .expect(["ADDED a/kept 1", "ADDED a/lost 2", "SYNCED 2"])
        .await;
    let verified = site.cache().verify().await.expect("a comparison");
    assert!(verified.agrees(), "{verified:?}");

    storage.hide(2);
    site.put("a/kept", "cool", "hall").await;
    site.delete("a/lost").await;
    site.put("a/new", "heat", "hall").await;
    watch.expect(["ADDED a/new 5"]).await;
    // Something else is written, so that the list finds a later revision, and the difference can be told.
    let write = Write::create("/elsewhere/x", "1");
    site.commit(vec![write]).await;
    let verified = site.cache().verify().await.expect("a comparison");
    assert!(!verified.agrees(), "{verified:?}");
    watch
        .expect(["DELETED a/lost 5", "MODIFIED a/kept 3"])
        .await;
    let verified = site.cache().verify().await.expect("a comparison");
    assert!(verified.agrees(), "{verified:?}");
    let check = site.cache().last_check().expect("a check");
    assert_eq!((check.outcome, check.disagreements), (Ok(verified), 1));
    for (status, count) in [("success", 2.0), ("failure", 1.0), ("error", 0.0)] {
        let name = "apiserver_storage_consistency_checks_total";
        let counted = value(site.cache(), name, &[("status", status)]);
        assert_eq!(counted, count, "{status}");
    }
    assert_eq!(value(site.cache(), "ringwatch_relists_total", &[]), 1.0);
    assert_eq!(
        value(site.cache(), "ringwatch_relist_changes_total", &[]),
        2.0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_difference_that_cannot_be_told_ends_the_watch() {
    let (storage, site) = fragile(None).await;
    let mut watch = site.watch(everything(), STATE).await;
    watch.expect(["SYNCED 0"]).await;
    storage.hide(1);
    site.put("a/lost", "heat", "hall").await;
    site.put("a/x", "heat", "hall").await;
    watch.expect(["ADDED a/x 2"]).await;
    // The cache believed to know this very revision.
    let verified = site.cache().verify().await.expect("a comparison");
    assert!(!verified.agrees(), "{verified:?}");
    let expired = WatchEnd::Expired { floor: nth(2) };
    assert_eq!(watch.next().await, format!("{expired:?}"));
    assert_eq!(
        site.list(everything(), StartFrom::Newest).await,
        ["a/lost", "a/x"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storage_put_back_to_an_older_state_is_noticed() {
    let (storage, site) = fragile(None).await;
    for number in 0..5 {
        site.put("a/x", &format!("m{number}"), "hall").await;
    }
    let mut watch = site.watch(everything(), STATE).await;
    watch.expect(["ADDED a/x 5", "SYNCED 5"]).await;
    storage.replace(Arc::new(Embedded::in_memory()));
    site.put("a/other", "heat", "hall").await;
    let ahead = site.cache().verify().await;
    assert!(matches!(ahead, Err(CacheError::Storage(_))), "{ahead:?}");
    let expired = WatchEnd::Expired { floor: nth(1) };
    assert_eq!(watch.next().await, format!("{expired:?}"));
    assert_eq!(site.list(everything(), StartFrom::Any).await, ["a/other"]);
    // What it had before does not count any more.
    let requested = nth(5);
    let late = site.reader.get("a/x", StartFrom::NotOlderThan(requested));
    let newest = nth(1);
    assert_eq!(late.await, Err(CacheError::TooLarge { requested, newest }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_checks_itself() {
    let (storage, site) = fragile(Some(Duration::from_millis(20))).await;
    storage.hide(1);
    site.put("a/lost", "heat", "hall").await;
    site.put("a/x", "heat", "hall").await;
    let repaired = async {
        while site.list(everything(), StartFrom::Any).await != ["a/lost", "a/x"] {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, repaired)
        .await
        .expect("a repair");
    assert!(site.cache().last_check().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_moves_on_when_its_revision_is_compacted() {
    let (_, site) = fragile(None).await;
    site.put("a/x", "heat", "hall").await;
    // The cache does not hear of these, and storage forgets all before the last.
    let first = site.commit(vec![Write::create("/elsewhere/x", "1")]).await;
    let last = site
        .commit(vec![Write::update("/elsewhere/x", first, "2")])
        .await;
    site.storage.compact(last).await.expect("a compaction");
    let verified = site.cache().verify().await.expect("a comparison");
    assert!(verified.agrees(), "{verified:?}");
    assert_eq!(verified.revision, last);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_counts_what_it_does() {
    let site = Site::new(Way::Cached(2)).await;
    let mut watch = site.watch(everything(), STATE).await;
    watch.expect(["SYNCED 0"]).await;
    for number in 0..5 {
        site.put(&format!("a/{number}"), "heat", "hall").await;
    }
    let keys = site.list(fields("spec.mode=heat"), StartFrom::Newest).await;
    assert_eq!(keys.len(), 5);
    // Three of them were lost to it.
    assert_eq!(
        watch.next().await,
        format!("{:?}", WatchEnd::Expired { floor: nth(3) })
    );
    drop(watch);
    let _open = site.watch(everything(), WatchStart::Now).await;
    for (name, expected) in [
        ("apiserver_watch_cache_events_received_total", 5.0),
        ("apiserver_watch_cache_events_dispatched_total", 5.0),
        ("apiserver_watch_cache_initializations_total", 1.0),
        ("apiserver_watch_cache_resource_version", 6.0),
        ("apiserver_terminated_watchers_total", 1.0),
        ("apiserver_resource_objects", 5.0),
        ("watch_cache_capacity", 2.0),
        ("apiserver_storage_list_total", 1.0),
        ("apiserver_storage_list_returned_objects_total", 5.0),
        ("ringwatch_watches", 1.0),
        ("ringwatch_relists_total", 0.0),
    ] {
        assert_eq!(value(site.cache(), name, &[]), expected, "{name}");
    }
    let expired = [("reason", "expired")];
    let ended = value(site.cache(), "ringwatch_watches_ended_total", &expired);
    assert_eq!(ended, 1.0);
}

/// No sample may be there twice, and those of one name must be of one kind, or no scraper takes any of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn samples_can_be_told_apart() {
    let site = Site::new(Way::Cached(2)).await;
    let samples = site.cache().metrics();
    for (number, sample) in samples.iter().enumerate() {
        for other in samples.iter().skip(number + 1) {
            let same = other.name == sample.name;
            assert!(!same || other.labels != sample.labels, "{sample:?}");
            let kind = (other.kind, other.help) == (sample.kind, sample.help);
            assert!(!same || kind, "{sample:?}, {other:?}");
        }
    }
}

/// The value of one sample.
fn value(cache: &Cache, name: &str, labels: &[(&str, &str)]) -> f64 {
    let samples = cache.metrics();
    let wanted = |sample: &&Sample| sample.name == name && sample.labels == labels;
    let found = samples.iter().find(wanted);
    found.unwrap_or_else(|| panic!("no {name}")).value
}
