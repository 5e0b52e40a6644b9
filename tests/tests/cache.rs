//! What the watch cache promises beyond being a storage: selection, transitions, bookmarks, resumption,
//! relists that keep watches open, quarantine.

use std::{sync::Arc, time::Duration};

use ringwatch_core::{
    predicate::Scope,
    revision::{Revision, StartFrom},
    selector::{FieldSelector, LabelSelector, Requirement},
    transition::EventKind,
};
use ringwatch_server::{
    cache::{
        Cache, CacheError, Capacity, Format, ListRequest, Options, Predicate, Resource, Watch,
        WatchEnd, WatchEvent, WatchRequest, WatchStart, everything,
    },
    storage::{Outcome, Storage, Write},
};
use ringwatch_tests::{
    mutant::{Fault, Mutant},
    reference::Reference,
};

const PATIENCE: Duration = Duration::from_secs(20);

/// The revision of the n-th write. A new store is at revision 1, as a new etcd is.
fn nth(number: u64) -> Revision {
    Revision::new(number + 1)
}

/// A storage with devices in it, and a cache of them.
struct Site {
    storage: Arc<Reference>,
    cache: Cache,
}

impl Site {
    async fn new(capacity: usize) -> Self {
        Self::with(capacity, Options::default()).await
    }

    async fn with(capacity: usize, options: Options) -> Self {
        let storage = Arc::new(Reference::new());
        let cache = cache_of(storage.clone(), capacity, options);
        cache.ready().await;
        Self { storage, cache }
    }

    /// Creates or updates a device; gives its revision.
    async fn put(&self, key: &str, mode: &str, room: &str) -> Revision {
        let name = key.rsplit('/').next().unwrap_or(key);
        let json = format!(
            r#"{{"kind":"Device","metadata":{{"name":"{name}","labels":{{"room":"{room}"}}}},"spec":{{"mode":"{mode}"}}}}"#
        );
        self.write(key, Some(json.into_bytes())).await
    }

    async fn delete(&self, key: &str) -> Revision {
        self.write(key, None).await
    }

    async fn write(&self, key: &str, value: Option<Vec<u8>>) -> Revision {
        let key = format!("/devices/{key}");
        let got = self.storage.get(&key).await.expect("a read");
        let expected = got.found.map_or(Revision::ZERO, |found| found.mod_revision);
        let write = Write {
            value: value.map(Into::into),
            ..Write::delete(key.as_str(), expected)
        };
        match self.storage.commit(vec![write]).await.expect("a commit") {
            Outcome::Committed(revision) => revision,
            Outcome::Conflict { .. } => panic!("nobody else writes {key}"),
        }
    }

    async fn watch(&self, predicate: Predicate, start: WatchStart) -> Reader {
        let watch = self.cache.watch(request(predicate, start)).await;
        Reader(watch.expect("a watch"))
    }

    async fn list(&self, predicate: Predicate, start: StartFrom) -> Vec<String> {
        let request = ListRequest {
            predicate,
            start,
            limit: 0,
            after: None,
        };
        let listing = self.cache.list(&request).await.expect("a list");
        listing
            .items
            .iter()
            .map(|item| item.key().to_owned())
            .collect()
    }
}

fn cache_of(storage: Arc<dyn Storage>, capacity: usize, options: Options) -> Cache {
    let resource = Resource {
        prefix: "/devices/".to_owned(),
        format: Format::Json {
            fields: vec!["spec.mode".to_owned()],
        },
        capacity: Capacity::fixed(capacity),
    };
    Cache::start(storage, &resource, options).expect("good paths")
}

fn request(predicate: Predicate, start: WatchStart) -> WatchRequest {
    WatchRequest {
        predicate,
        start,
        bookmarks: true,
        timeout: None,
    }
}

fn labels(text: &str) -> Predicate {
    let parsed = LabelSelector::<_, heapless::Vec<Requirement, 4>>::parse(text.into());
    Predicate {
        labels: parsed
            .expect("a selector")
            .map_table(|rows| rows.iter().copied().collect()),
        ..everything()
    }
}

fn fields(text: &str) -> Predicate {
    let parsed = FieldSelector::<_, heapless::Vec<Requirement, 4>>::parse(text.into());
    Predicate {
        fields: parsed
            .expect("a selector")
            .map_table(|rows| rows.iter().copied().collect()),
        ..everything()
    }
}

/// The other way round from [`nth`].
fn count(revision: Revision) -> u64 {
    revision.get() - 1
}

/// Reads a watch as short texts, with revisions counted from the first write: `ADDED a/x 3`, `BOOKMARK 7`, `SYNCED 7`.
struct Reader(Watch);

impl Reader {
    async fn next(&mut self) -> String {
        let event = tokio::time::timeout(PATIENCE, self.0.next()).await;
        match event.expect("an event in time") {
            Ok(event) => show(&event),
            Err(end) => format!("{end:?}"),
        }
    }

    async fn expect<const N: usize>(&mut self, events: [&str; N]) {
        for event in events {
            assert_eq!(self.next().await, event);
        }
    }
}

fn show(event: &WatchEvent) -> String {
    match event {
        WatchEvent::Object {
            kind,
            object,
            revision,
        } => {
            let json: serde_json::Value = serde_json::from_slice(object.bytes()).expect("JSON");
            let inside = &json["metadata"]["resourceVersion"];
            assert_eq!(inside, &object.revision().to_string(), "the version inside");
            if *kind != EventKind::Deleted {
                assert_eq!(*revision, object.revision());
            }
            format!("{} {} {}", kind.as_str(), object.key(), count(*revision))
        }
        WatchEvent::Bookmark {
            revision,
            initial_events_end: true,
        } => format!("SYNCED {}", count(*revision)),
        WatchEvent::Bookmark { revision, .. } => format!("BOOKMARK {}", count(*revision)),
    }
}

const STATE: WatchStart = WatchStart::State(StartFrom::Newest);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_begins_with_the_state_and_goes_on() {
    let site = Site::new(100).await;
    site.put("a/x", "heat", "hall").await;
    site.put("b/y", "cool", "hall").await;
    let mut all = site.watch(everything(), STATE).await;
    all.expect(["ADDED a/x 1", "ADDED b/y 2", "SYNCED 2"]).await;
    site.put("a/x", "cool", "hall").await;
    site.delete("b/y").await;
    all.expect(["MODIFIED a/x 3", "DELETED b/y 4"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entering_and_leaving_a_selection_are_events() {
    let site = Site::new(100).await;
    let mut by_field = site.watch(fields("spec.mode=heat"), STATE).await;
    let mut by_label = site.watch(labels("room=hall"), STATE).await;
    let mut by_absence = site.watch(labels("room!=hall"), STATE).await;
    let namespace = Predicate {
        scope: Scope::Namespace("b".into()),
        ..everything()
    };
    let mut by_namespace = site.watch(namespace, STATE).await;
    let object = Predicate {
        scope: Scope::Object("a/x".into()),
        ..everything()
    };
    let mut by_key = site.watch(object, STATE).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_resumes_at_every_revision() {
    let site = Site::new(100).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_resumes_between_the_objects_of_a_state() {
    let site = Site::new(100).await;
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
    let site = Site::new(4).await;
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
        .cache
        .watch(request(everything(), WatchStart::After(nth(2))))
        .await;
    let expired = CacheError::Expired {
        requested: nth(2),
        floor: nth(7),
    };
    assert_eq!(late.err(), Some(expired));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_of_one_moment() {
    let site = Site::new(100).await;
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
    let a = Predicate {
        scope: Scope::Namespace("a".into()),
        ..everything()
    };
    assert_eq!(site.list(a, StartFrom::Newest).await, ["a/x", "a/y"]);
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
        let page = site.cache.list(&request).await.expect("a page");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_wait_for_a_revision_but_not_for_ever() {
    let options = Options {
        freshness_wait: Duration::from_millis(200),
        ..Options::default()
    };
    let site = Site::with(100, options).await;
    let revision = site.put("a/x", "heat", "hall").await;
    assert_eq!(
        site.list(everything(), StartFrom::NotOlderThan(revision))
            .await,
        ["a/x"]
    );
    let requested = nth(99);
    let too_large = site
        .cache
        .get("a/x", StartFrom::NotOlderThan(requested))
        .await;
    assert_eq!(
        too_large,
        Err(CacheError::TooLarge {
            requested,
            newest: revision
        })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bookmarks_come_in_time_and_before_the_end() {
    let options = Options {
        bookmark_every: Duration::from_millis(50),
        ..Options::default()
    };
    let site = Site::with(100, options).await;
    let mut quiet = site.watch(fields("spec.mode=never"), STATE).await;
    quiet.expect(["SYNCED 0"]).await;
    site.put("a/x", "heat", "hall").await;
    // Although nothing of it concerns the watch, its bookmarks follow.
    while quiet.next().await != "BOOKMARK 1" {}

    let mut brief = request(everything(), WatchStart::Now);
    brief.timeout = Some(Duration::from_millis(100));
    brief.bookmarks = false;
    let mut brief = Reader(site.cache.watch(brief).await.expect("a watch"));
    assert_eq!(brief.next().await, format!("{:?}", WatchEnd::TimedOut));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_decoded_is_set_aside_and_the_rest_served() {
    let site = Site::new(100).await;
    site.put("a/good", "heat", "hall").await;
    site.put("a/bad", "heat", "hall").await;
    let mut watch = site.watch(everything(), STATE).await;
    watch
        .expect(["ADDED a/bad 2", "ADDED a/good 1", "SYNCED 2"])
        .await;
    site.write("a/bad", Some(b"{\"metadata\":".to_vec())).await;
    watch.expect(["DELETED a/bad 3"]).await;
    assert_eq!(site.list(everything(), StartFrom::Newest).await, ["a/good"]);
    let quarantined = site.cache.quarantined();
    assert_eq!(&*quarantined[0].key, "/devices/a/bad");

    // A cache that begins now meets it in its first list.
    let second = cache_of(site.storage.clone(), 100, Options::default());
    second.ready().await;
    assert_eq!(second.quarantined(), quarantined);
    assert!(second.verify().await.expect("a comparison").agrees());

    site.put("a/bad", "heat", "hall").await;
    watch.expect(["ADDED a/bad 4"]).await;
    assert_eq!(site.cache.quarantined(), []);
    assert!(site.cache.verify().await.expect("a comparison").agrees());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_that_missed_a_change_finds_out() {
    for (fault, agrees) in [(Fault::None, true), (Fault::WatchLosesAnEvent, false)] {
        let storage: Arc<dyn Storage> = Arc::new(Mutant::new(fault));
        let cache = cache_of(storage.clone(), 100, Options::default());
        cache.ready().await;
        for number in 0..40 {
            let write = Write::create(format!("/devices/a/{number}"), "{}");
            storage.commit(vec![write]).await.expect("a commit");
        }
        let newest = storage.revision().await.expect("a revision");
        cache
            .get("a/0", StartFrom::NotOlderThan(newest))
            .await
            .expect("a read");
        let verified = cache.verify().await.expect("a comparison");
        assert_eq!(verified.agrees(), agrees, "{fault:?}: {verified:?}");
    }
}
