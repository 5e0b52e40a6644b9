//! A watch straight on storage.
//!
//! It is the core's watcher over a ring of its own, which holds one transaction: the next is taken from storage when the
//! reader has all of the last. So selection, transitions, bookmarks, deadlines and the order of things are the very same
//! as with a cache.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use ringwatch_core::history::{Entry, History};
use ringwatch_core::key::Key;
use ringwatch_core::object::Change;
use ringwatch_core::revision::{Revision, StartFrom};
use ringwatch_core::slots::Place;
use ringwatch_core::time::Instant;
use ringwatch_core::watcher::{self, Start, State, Step, Watcher};
use tokio::sync::watch;
use tokio::time::{Instant as Moment, sleep_until, timeout_at};

use super::direct::{Inner, undecodable};
use crate::backoff::jittered;
use crate::cache::{CacheError, Object, Predicate, WatchEnd, WatchEvent, WatchRequest, WatchStart};
use crate::storage::{Changes, KeyChange, KeyValue, StorageError, WatchItem};

/// How long to wait for storage to say how far the watch is before a bookmark is given. Without an answer, it
/// is of an earlier revision, and still true.
const PROGRESS_WAIT: Duration = Duration::from_millis(500);

type Ring = History<Change<Object>, Box<[Place<Entry<Change<Object>>>]>>;

/// A running watch on storage. Dropping it ends it.
pub struct DirectWatch {
    direct: Arc<Inner>,
    watcher: Watcher<Predicate, usize>,
    initial: Initial,
    ring: Ring,
    changes: Changes,
    bookmarks: bool,
    closing: watch::Receiver<bool>,
    /// When the watch has to end, since the server is about to; asked for progress before.
    close_at: Option<Moment>,
    end: Option<WatchEnd>,
}

impl DirectWatch {
    pub(super) async fn start(
        direct: Arc<Inner>,
        request: WatchRequest,
    ) -> Result<Self, CacheError> {
        let mut initial = Initial::default();
        // Where storage is, and where the reader begins.
        let (newest, start) = match request.start {
            WatchStart::State(start) => {
                let start = match start {
                    // An exact one would be of no use to who wants to go on from it.
                    StartFrom::Exact(revision) => StartFrom::NotOlderThan(revision),
                    start => start,
                };
                let (objects, revision) = direct.all(&request.predicate, start).await?;
                initial = Initial { objects, revision };
                (revision, Start::State)
            }
            WatchStart::After(revision) => {
                let newest = direct.storage.revision().await?;
                (newest.min(revision), Start::After(revision))
            }
            WatchStart::Newest | WatchStart::Now => (direct.storage.revision().await?, Start::Now),
        };
        let after = match start {
            Start::After(revision) => revision,
            Start::State | Start::Now => newest,
        };
        let prefix = direct.prefix(&request.predicate.scope);
        let changes = direct.storage.watch(&prefix, after).await;
        let changes = changes.map_err(|error| match error {
            StorageError::Compacted { floor } => CacheError::Expired {
                requested: after,
                floor: floor.unwrap_or_default(),
            },
            StorageError::Future { .. } => CacheError::TooLarge {
                requested: after,
                newest,
            },
            error => CacheError::Storage(error),
        })?;
        let mut ring = Ring::new(places(1));
        ring.reset(newest);
        let now = direct.clock.now();
        let every = direct.options.bookmark_every;
        let options = watcher::Options {
            bookmark_every: request.bookmarks.then(|| jittered(every, every / 32)),
            initial_events_end: request.bookmarks,
            deadline: request.timeout.map(|timeout| now + timeout),
        };
        let watcher = Watcher::start(request.predicate, start, options, &initial, &ring, now);
        let watcher = watcher.map_err(|expired| CacheError::Expired {
            requested: after,
            floor: expired.floor,
        })?;
        Ok(Self {
            watcher,
            initial,
            ring,
            changes,
            bookmarks: request.bookmarks,
            closing: direct.closing.subscribe(),
            close_at: None,
            end: None,
            direct,
        })
    }

    /// The next event, or why there is none any more. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Result<WatchEvent, WatchEnd> {
        loop {
            let wake_at = match self.poll() {
                Polled::Event(event) => return Ok(event),
                Polled::End(end) => return Err(end),
                Polled::Idle(wake_at) => wake_at,
            };
            if let Some(close_at) = self.close_at {
                if let Some(bookmark) = self.close(close_at).await {
                    return Ok(bookmark);
                }
                continue;
            }
            let direct = self.direct.clone();
            let timer = async {
                match wake_at {
                    Some(at) => sleep_until(direct.clock.at(at)).await,
                    None => pending().await,
                }
            };
            let closing = &mut self.closing;
            let closed = async {
                // The sender is in `direct`, so it cannot be gone.
                let _ = closing.wait_for(|closing| *closing).await;
            };
            tokio::select! {
                item = self.changes.next() => self.enter(item),
                () = closed => {
                    self.close_at = Some(Moment::now() + PROGRESS_WAIT);
                    self.changes.request_progress();
                }
                () = timer => self.catch_up().await,
            }
        }
    }

    /// The next event if there is one without waiting for storage.
    pub fn try_next(&mut self) -> Option<Result<WatchEvent, WatchEnd>> {
        match self.poll() {
            Polled::Event(event) => Some(Ok(event)),
            Polled::End(end) => Some(Err(end)),
            Polled::Idle(_) => None,
        }
    }

    /// From where another watch would continue; `None` while the initial objects are not complete.
    pub fn resume_from(&mut self) -> Option<Revision> {
        self.watcher.resume_from(&self.ring).ok().flatten()
    }

    fn poll(&mut self) -> Polled {
        if let Some(end) = &self.end {
            return Polled::End(end.clone());
        }
        let now = self.direct.clock.now();
        let end = match self.watcher.poll(&self.initial, &self.ring, now) {
            Step::Event(event) => {
                return Polled::Event(WatchEvent::Object {
                    kind: event.kind,
                    object: event.object.clone(),
                    revision: event.revision,
                });
            }
            Step::Bookmark {
                revision,
                initial_events_end,
            } => {
                return Polled::Event(WatchEvent::Bookmark {
                    revision,
                    initial_events_end,
                });
            }
            Step::Idle { wake_at } => {
                // The objects have been shown; let go of them.
                self.initial = Initial::default();
                return Polled::Idle(wake_at);
            }
            Step::Finished => WatchEnd::TimedOut,
            Step::Expired(expired) => WatchEnd::Expired {
                floor: expired.floor,
            },
        };
        self.end = Some(end.clone());
        Polled::End(end)
    }

    /// Takes what storage has sent. Only called when the reader has everything before it: the ring is
    /// no larger than that.
    fn enter(&mut self, item: Option<Result<WatchItem, StorageError>>) {
        let end = match item {
            Some(Ok(WatchItem::Progress(revision))) => {
                self.ring.advance(revision);
                return;
            }
            Some(Ok(WatchItem::Changes { revision, changes })) => {
                if changes.len() > self.ring.capacity() {
                    self.ring.resize(places(changes.len()));
                }
                let direct = &self.direct;
                let changes = changes.into_iter().filter_map(|it| change(direct, it));
                match self.ring.push_all(revision, changes) {
                    Ok(()) => return,
                    Err(error) => WatchEnd::Storage(StorageError::Unavailable(error.to_string())),
                }
            }
            Some(Err(StorageError::Compacted { floor })) => WatchEnd::Expired {
                floor: floor.unwrap_or(self.ring.newest()),
            },
            Some(Err(error)) => WatchEnd::Storage(error),
            None => WatchEnd::Storage(StorageError::Unavailable("watch ended".to_owned())),
        };
        self.end = Some(end);
    }

    /// Finds out how far storage is, for a bookmark that is due.
    async fn catch_up(&mut self) {
        if self.bookmarks {
            self.changes.request_progress();
            // A change will do as well: the bookmark comes after it.
            let until = Moment::now() + PROGRESS_WAIT;
            if let Ok(item) = timeout_at(until, self.changes.next()).await {
                self.enter(item);
            }
        }
    }

    /// Waits for one more item until `close_at`, and then, or if it shows that there are no others, ends the watch with
    /// a bookmark.
    async fn close(&mut self, close_at: Moment) -> Option<WatchEvent> {
        let item = timeout_at(close_at, self.changes.next()).await;
        if let Ok(item) = item {
            let last = matches!(item, Some(Ok(WatchItem::Progress(_))));
            self.enter(item);
            if !last {
                return None;
            }
        }
        self.end = Some(WatchEnd::ShuttingDown);
        let revision = self.resume_from().filter(|_| self.bookmarks)?;
        // A watch that waits for the future has nothing to say.
        (revision <= self.ring.newest()).then_some(WatchEvent::Bookmark {
            revision,
            initial_events_end: false,
        })
    }
}

enum Polled {
    Event(WatchEvent),
    Idle(Option<Instant>),
    End(WatchEnd),
}

/// A change of objects; `None` if neither side can be decoded: then nothing happened that could be told.
fn change(direct: &Inner, change: KeyChange) -> Option<Change<Object>> {
    let session = direct.decoder.session();
    let decode = |stored: Option<KeyValue>| {
        let decoded = session.decode(stored?);
        decoded.inspect_err(undecodable).ok()
    };
    let previous = decode(change.previous);
    match decode(change.current) {
        Some(current) => Some(Change::Put { previous, current }),
        None => previous.map(|previous| Change::Delete { previous }),
    }
}

fn places(capacity: usize) -> Box<[Place<Entry<Change<Object>>>]> {
    (0..capacity).map(|_| Place::Free).collect()
}

/// The objects that a watch begins with, until they have been shown.
#[derive(Default)]
struct Initial {
    /// Those that match, in key order.
    objects: Vec<Object>,
    revision: Revision,
}

impl State for Initial {
    type Key = usize;
    type Object = Object;

    fn revision(&self) -> Revision {
        self.revision
    }

    fn next_after(&self, shown: Option<&usize>) -> Option<(usize, &Object)> {
        let place = shown.map_or(0, |shown| shown + 1);
        Some((place, self.objects.get(place)?))
    }

    fn is_shown(&self, shown: &usize, key: Key<'_>) -> bool {
        let shown = self.objects.get(*shown);
        shown.is_some_and(|shown| key.as_str() <= shown.key())
    }
}
