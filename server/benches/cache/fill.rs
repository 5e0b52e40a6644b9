//! A cache with something in it, and readers.

use std::sync::Arc;
use std::time::Duration;

use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::{Revision, StartFrom};
use ringwatch_core::selector::{FieldSelector, LabelSelector, Requirement};
use ringwatch_server::cache::{
    Cache, Capacity, Format, ListRequest, Options, Predicate, Resource, Watch, WatchRequest,
    WatchStart, everything,
};

use crate::feed::{self, Feed};

/// A cache of so many pods.
pub(crate) async fn filled(objects: usize) -> (Cache, Arc<Feed>) {
    let feed = Arc::new(Feed::new(objects));
    (fed(&feed).await, feed)
}

/// A cache of what a feed has.
pub(crate) async fn fed(feed: &Arc<Feed>) -> Cache {
    let resource = Resource {
        prefix: "/pods/".to_owned(),
        format: Format::json(["spec.nodeName"]),
        capacity: Capacity::fixed(16_384),
    };
    let cache = Cache::start(feed.clone(), &resource, Options::default()).expect("good paths");
    cache.ready().await;
    // One change: the feed is watched.
    run_changes(&cache, feed, 1).await;
    cache
}

/// Lets the feed go and waits until the cache has everything.
pub(crate) async fn run_changes(cache: &Cache, feed: &Feed, changes: u64) {
    let until = Revision::new(feed.go(changes));
    while cache.revision() < until {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

pub(crate) async fn watch(cache: &Cache, predicate: Predicate) -> Watch {
    let request = WatchRequest {
        predicate,
        start: WatchStart::Now,
        bookmarks: true,
        timeout: None,
    };
    cache.watch(request).await.expect("a watch")
}

pub(crate) fn by_node(number: usize) -> Predicate {
    let text = format!("spec.nodeName={}", feed::node(number)).into_boxed_str();
    let fields =
        FieldSelector::<_, heapless::Vec<Requirement, 1>>::parse(text).expect("a selector");
    Predicate {
        scope: Scope::Resource,
        labels: LabelSelector::default(),
        fields: fields.map_table(|rows| rows.iter().copied().collect()),
    }
}

/// Joins the bytes of all objects, as a list does.
pub(crate) async fn list(cache: &Cache, bytes: &mut Vec<u8>) {
    let request = ListRequest {
        predicate: everything(),
        start: StartFrom::Any,
        limit: 0,
        after: None,
    };
    let listing = cache.list(&request).await.expect("a list");
    for object in &listing.items {
        bytes.extend_from_slice(object.bytes());
        bytes.push(b',');
    }
}
