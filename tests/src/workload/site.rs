//! A cache with everything around it, and the verdict at the end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ringwatch_core::revision::{Revision, StartFrom};
use ringwatch_server::cache::{Cache, Capacity, Format, Options, Resource};
use ringwatch_server::storage::{List, Storage, StorageError, Write};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::devices::{FIELD, PREFIX};
use super::follower::Follower;
use super::tap::Tap;
use super::watcher::{Habit, Watcher};
use super::writer::Acknowledged;
use crate::recorder::{self, Bridge, End, History, Seen, Session, Timeline, Violation};

/// How long the cache may take to catch up at the end.
const PATIENCE: Duration = Duration::from_secs(60);
/// The key of the last write of all.
const LAST: &str = "/devices/n0/last";

/// A cache of the devices, watched and recorded.
pub struct Site {
    /// The cache.
    pub cache: Cache,
    /// What it reads through.
    pub tap: Tap,
    /// Who knows what really happened.
    pub follower: Follower,
    /// Before everything that happens.
    pub start: Revision,
    storage: Arc<dyn Storage>,
    capacity: usize,
    tasks: JoinSet<Vec<Session>>,
    stop: watch::Sender<bool>,
}

impl Site {
    /// A cache of `cached`, which is another way to `storage`, with a ring of `capacity` changes. There are no devices yet.
    ///
    /// # Panics
    ///
    /// If the storage does not answer.
    pub async fn open(
        storage: Arc<dyn Storage>,
        cached: Arc<dyn Storage>,
        capacity: usize,
        bookmark_every: Duration,
    ) -> Self {
        let resource = Resource {
            prefix: PREFIX.to_owned(),
            format: Format::json([FIELD]),
            capacity: Capacity::fixed(capacity),
        };
        let options = Options {
            bookmark_every,
            ..Options::default()
        };
        let follower = Follower::start(&storage).await;
        let tap = Tap::new(cached);
        let cache = Cache::start(Arc::new(tap.clone()), &resource, options).expect("good paths");
        cache.ready().await;
        Self {
            start: follower.newest(),
            cache,
            tap,
            follower,
            storage,
            capacity,
            tasks: JoinSet::new(),
            stop: watch::Sender::new(false),
        }
    }

    /// Lets watchers with these numbers watch, each in a task of its own.
    pub fn watch(&mut self, numbers: impl IntoIterator<Item = usize>) {
        for number in numbers {
            let watcher = Watcher::new(number, Habit::of(number), &self.cache, self.start);
            self.tasks.spawn(watcher.run(self.stop.subscribe()));
        }
    }

    /// Waits until everyone has everything, and judges. Nobody writes any more.
    ///
    /// # Panics
    ///
    /// If the cache does not catch up, if what was acknowledged is not there, or if storage or cache contradict themselves.
    pub async fn close(self, acknowledged: &[Acknowledged], more: Vec<Watcher>) -> Report {
        let last = self.write_last().await;
        let caught_up = async {
            let key = LAST.strip_prefix(PREFIX).unwrap_or(LAST);
            let last = StartFrom::NotOlderThan(last);
            while self.cache.get(key, last).await.is_err() {}
        };
        let caught_up = tokio::time::timeout(PATIENCE, caught_up).await;
        caught_up.expect("a cache that catches up with storage");
        self.stop.send_replace(true);
        let mut sessions = Vec::new();
        for watcher in more {
            sessions.extend(watcher.finish().await);
        }
        for told in self.tasks.join_all().await {
            sessions.extend(told);
        }
        let history = self.follower.until(last).await;
        for commit in acknowledged.iter().filter(|commit| !commit.keys.is_empty()) {
            let held = history.holds(commit.revision, &commit.keys);
            assert!(held, "acknowledged and not there: {commit:?}");
        }
        compare(&*self.storage, &history).await;
        let verified = self.cache.verify().await.expect("a comparison");
        assert!(verified.agrees(), "{verified:?}");
        assert_eq!(self.tap.setbacks(), 0, "the cache went back");
        let bridges = self.tap.bridges();
        let timeline = Timeline::new(&history, &bridges, self.capacity);
        Report {
            violations: recorder::check(&timeline, &sessions),
            changes: history.len(),
            bridges,
            sessions,
        }
    }

    async fn write_last(&self) -> Revision {
        loop {
            // Whether it was this try or one before that was done does not matter.
            match self
                .storage
                .commit(vec![Write::create(LAST, r#"{"metadata":{}}"#)])
                .await
            {
                Ok(_) => {}
                Err(StorageError::Unavailable(_)) => continue,
                Err(error) => panic!("the last write: {error}"),
            }
            if let Ok(got) = self.storage.get(LAST).await {
                return got.found.expect("the last write").mod_revision;
            }
        }
    }
}

/// The history must end with what storage has.
async fn compare(storage: &dyn Storage, history: &History) {
    let list = List {
        prefix: PREFIX.to_owned(),
        at: Some(history.newest()),
        ..List::default()
    };
    let page = storage.list(&list).await.expect("a list");
    for item in &page.items {
        let known = history.revision_of(&item.key);
        assert_eq!(known, Some(item.mod_revision), "{}", item.key);
    }
    assert_eq!(page.items.len(), history.keys());
}

/// What came of it.
pub struct Report {
    /// The promises that were broken.
    pub violations: Vec<Violation>,
    /// How many changes there were.
    pub changes: usize,
    /// Where the cache had to list anew.
    pub bridges: Vec<Bridge>,
    /// What the watchers were told.
    pub sessions: Vec<Session>,
}

impl Report {
    /// # Panics
    ///
    /// If a promise was broken.
    pub fn assert_sound(&self) {
        let summary = recorder::summary(&self.violations);
        assert!(self.violations.is_empty(), "{self}\n{summary}");
    }

    /// How many sessions ended like this.
    pub fn ended(&self, end: impl Fn(&End) -> bool) -> usize {
        self.sessions
            .iter()
            .filter(|session| end(&session.end))
            .count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = || self.sessions.iter().flat_map(|session| &session.seen);
        let bookmarks = seen().filter(|seen| matches!(seen, Seen::Bookmark { .. }));
        write!(
            f,
            "{} changes, {} relists, {} sessions ({} left, {} expired), {} events, {} bookmarks",
            self.changes,
            self.bridges.len(),
            self.sessions.len(),
            self.ended(|end| matches!(end, End::Left { .. })),
            self.ended(|end| matches!(end, End::Expired { .. })),
            seen().count() - bookmarks.clone().count(),
            bookmarks.count(),
        )
    }
}
