//! A storage with devices in it, and a reader of them: what the tests of the read side begin with.

use std::{sync::Arc, time::Duration};

use ringwatch_core::{
    predicate::Scope,
    revision::{Revision, StartFrom},
    selector::{FieldSelector, LabelSelector, Requirement},
    transition::EventKind,
};
use ringwatch_server::{
    cache::{
        Cache, Capacity, Format, ListRequest, Options, Predicate, WatchEvent, WatchRequest,
        WatchStart, everything,
    },
    reader::{Reader, Watch},
    storage::{Embedded, Outcome, Storage, Write},
};

/// How long an event may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A watch that begins with the newest state.
pub const STATE: WatchStart = WatchStart::State(StartFrom::Newest);

/// How the devices are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Through a cache with a ring of this size.
    Cached(usize),
    /// Without one.
    Direct,
}

/// A storage with devices in it, and a reader of them.
pub struct Site {
    /// Where the devices are.
    pub storage: Arc<dyn Storage>,
    /// How they are read.
    pub reader: Reader,
}

impl Site {
    /// An empty site.
    pub async fn new(way: Way) -> Self {
        Self::with(way, Options::default()).await
    }

    /// An empty site whose reader has other options.
    pub async fn with(way: Way, options: Options) -> Self {
        Self::on(Arc::new(Embedded::in_memory()), way, options).await
    }

    /// A site on a storage.
    pub async fn on(storage: Arc<dyn Storage>, way: Way, options: Options) -> Self {
        let capacity = match way {
            Way::Cached(capacity) => Some(Capacity::fixed(capacity)),
            Way::Direct => None,
        };
        let format = Format::json(["spec.mode"]);
        let reader = Reader::start(storage.clone(), "/devices/", format, capacity, options);
        let reader = reader.expect("good paths");
        reader.ready().await;
        Self { storage, reader }
    }

    /// The cache, where there is one.
    pub fn cache(&self) -> &Cache {
        match &self.reader {
            Reader::Cached(cache) => cache,
            Reader::Direct(_) => panic!("this site has no cache"),
        }
    }

    /// Creates or updates a device; gives its revision.
    pub async fn put(&self, key: &str, mode: &str, room: &str) -> Revision {
        self.write(key, Some(device(key, mode, room))).await
    }

    /// Deletes a device.
    pub async fn delete(&self, key: &str) -> Revision {
        self.write(key, None).await
    }

    /// Puts any value where a device would be, or nothing.
    pub async fn write(&self, key: &str, value: Option<Vec<u8>>) -> Revision {
        let key = format!("/devices/{key}");
        let got = self.storage.get(&key).await.expect("a read");
        let expected = got.found.map_or(Revision::ZERO, |found| found.mod_revision);
        let write = Write {
            value: value.map(Into::into),
            ..Write::delete(key.as_str(), expected)
        };
        self.commit(vec![write]).await
    }

    /// Commits what nobody else writes.
    pub async fn commit(&self, writes: Vec<Write>) -> Revision {
        match self.storage.commit(writes).await.expect("a commit") {
            Outcome::Committed(revision) => revision,
            Outcome::Conflict { .. } => panic!("nobody else writes"),
        }
    }

    /// Begins a watch with bookmarks.
    pub async fn watch(&self, predicate: Predicate, start: WatchStart) -> Events {
        let watch = self.reader.watch(request(predicate, start)).await;
        Events(watch.expect("a watch"))
    }

    /// The keys of a list.
    pub async fn list(&self, predicate: Predicate, start: StartFrom) -> Vec<String> {
        let listing = self.reader.list(&list(predicate, start)).await;
        let items = listing.expect("a list").items;
        items.iter().map(|item| item.key().to_owned()).collect()
    }
}

/// A device as it is stored.
pub fn device(key: &str, mode: &str, room: &str) -> Vec<u8> {
    let name = key.rsplit('/').next().unwrap_or(key);
    let json = format!(
        r#"{{"kind":"Device","metadata":{{"name":"{name}","labels":{{"room":"{room}"}}}},"spec":{{"mode":"{mode}"}}}}"#
    );
    json.into_bytes()
}

/// The revision of the n-th write. A new store is at revision 1, as a new etcd is.
pub fn nth(number: u64) -> Revision {
    Revision::new(number + 1)
}

/// The other way round from [`nth`].
fn count(revision: Revision) -> u64 {
    revision.get() - 1
}

/// A watch with bookmarks and without an end.
pub fn request(predicate: Predicate, start: WatchStart) -> WatchRequest {
    WatchRequest {
        predicate,
        start,
        bookmarks: true,
        timeout: None,
    }
}

/// A list of all.
pub fn list(predicate: Predicate, start: StartFrom) -> ListRequest {
    ListRequest {
        predicate,
        start,
        limit: 0,
        after: None,
    }
}

/// Objects with these labels.
pub fn labels(text: &str) -> Predicate {
    let parsed = LabelSelector::<_, heapless::Vec<Requirement, 4>>::parse(text.into());
    Predicate {
        labels: parsed
            .expect("a selector")
            .map_table(|rows| rows.iter().copied().collect()),
        ..everything()
    }
}

/// Objects with these fields.
pub fn fields(text: &str) -> Predicate {
    let parsed = FieldSelector::<_, heapless::Vec<Requirement, 4>>::parse(text.into());
    Predicate {
        fields: parsed
            .expect("a selector")
            .map_table(|rows| rows.iter().copied().collect()),
        ..everything()
    }
}

/// Objects of one namespace.
pub fn namespace(name: &str) -> Predicate {
    Predicate {
        scope: Scope::Namespace(name.into()),
        ..everything()
    }
}

/// One object.
pub fn object(key: &str) -> Predicate {
    Predicate {
        scope: Scope::Object(key.into()),
        ..everything()
    }
}

/// Reads a watch as short texts, with revisions counted from the first write: `ADDED a/x 3`, `BOOKMARK 7`, `SYNCED 7`.
pub struct Events(pub Watch);

impl Events {
    /// The next event, or the end.
    pub async fn next(&mut self) -> String {
        let event = tokio::time::timeout(PATIENCE, self.0.next()).await;
        match event.expect("an event in time") {
            Ok(event) => show(&event),
            Err(end) => format!("{end:?}"),
        }
    }

    /// Checks what comes next.
    pub async fn expect<const N: usize>(&mut self, events: [&str; N]) {
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
