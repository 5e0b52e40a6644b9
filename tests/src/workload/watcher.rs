//! Who watches, each with habits of its own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ringwatch_core::revision::{Revision, StartFrom};
use ringwatch_server::cache::{
    Cache, CacheError, Object, Watch, WatchEnd, WatchEvent, WatchRequest, WatchStart,
};
use tokio::sync::watch;

use super::devices::{predicate, selection};
use crate::random::Random;
use crate::recorder::{End, Seen, Selection, Session, Start};

/// How long to wait before asking again a cache that cannot answer.
const AGAIN: Duration = Duration::from_millis(10);

/// How a watcher behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Habit {
    /// Whether it begins with the state, or after the first revision.
    pub from_state: bool,
    /// Whether it wants bookmarks.
    pub bookmarks: bool,
    /// After how many events it leaves, at most, and from where it goes on; `None` if it stays.
    pub leaves: Option<(usize, Resume)>,
    /// How it reads.
    pub pace: Pace,
}

/// From where a watcher that left goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// From where the watch says.
    Position,
    /// From the last bookmark.
    Bookmark,
    /// From before the last event, which is then told again.
    LastEvent,
}

/// How fast a watcher reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it can.
    Eager,
    /// With a rest after each event.
    Slow(Duration),
}

impl Habit {
    /// One of a mix, in which every habit meets every kind of [`selection`].
    pub fn of(number: usize) -> Self {
        let leaves = match number % 5 {
            0 => Some((60, Resume::Position)),
            1 => Some((40, Resume::Bookmark)),
            2 => Some((20, Resume::LastEvent)),
            _ => None,
        };
        Self {
            from_state: !number.is_multiple_of(3),
            bookmarks: number % 4 != 1,
            leaves,
            pace: match number % 11 {
                10 => Pace::Slow(Duration::from_millis(4)),
                _ => Pace::Eager,
            },
        }
    }
}

/// One watcher, and what it was told.
pub struct Watcher {
    number: usize,
    habit: Habit,
    selection: Arc<Selection>,
    cache: Cache,
    random: Random,
    /// Where the next watch begins; `None` for the state.
    next: Option<Revision>,
    running: Option<Watch>,
    /// Events until it leaves.
    patience: usize,
    /// The furthest point that it went on from.
    furthest: Revision,
    /// How often it got no further. It stays longer then, or it would never get past a large transaction.
    stuck: u32,
    sessions: Vec<Session>,
}

impl Watcher {
    /// The watcher with this number. `start` is before everything that happens.
    pub fn new(number: usize, habit: Habit, cache: &Cache, start: Revision) -> Self {
        Self {
            number,
            habit,
            selection: Arc::new(selection(number)),
            cache: cache.clone(),
            random: Random::new(number as u64),
            next: (!habit.from_state).then_some(start),
            running: None,
            patience: 0,
            furthest: start,
            stuck: 0,
            sessions: Vec::new(),
        }
    }

    /// What it watches.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Watches until it is told to stop, then reads what is there and gives what it was told.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) -> Vec<Session> {
        while !*stop.borrow() {
            let Some(watch) = self.running().await else {
                continue;
            };
            let next = tokio::select! {
                next = watch.next() => next,
                _ = stop.changed() => continue,
            };
            self.take(next);
            if let Pace::Slow(rest) = self.habit.pace {
                // Cut short by the end.
                let _ = tokio::time::timeout(rest, stop.wait_for(|stop| *stop)).await;
            }
        }
        self.finish().await
    }

    /// Reads up to `most` events that are there.
    pub async fn read(&mut self, most: usize) {
        for _ in 0..most {
            let Some(watch) = self.running().await else {
                continue;
            };
            match watch.try_next() {
                Some(next) => self.take(next),
                None => return,
            }
        }
    }

    /// Reads everything that is there, and gives what it was told.
    pub async fn finish(mut self) -> Vec<Session> {
        self.habit.leaves = None;
        loop {
            let Some(watch) = self.running().await else {
                continue;
            };
            match watch.try_next() {
                Some(next) => self.take(next),
                None => return self.sessions,
            }
        }
    }

    /// The running watch; begins one if there is none. `None` if that did not work.
    async fn running(&mut self) -> Option<&mut Watch> {
        if self.running.is_none() {
            self.begin().await;
        }
        self.running.as_mut()
    }

    async fn begin(&mut self) {
        let from = self.cache.revision();
        let request = WatchRequest {
            predicate: predicate(&self.selection),
            start: match self.next {
                Some(revision) => WatchStart::After(revision),
                None if self.number.is_multiple_of(2) => WatchStart::State(StartFrom::Any),
                None => WatchStart::State(StartFrom::Newest),
            },
            bookmarks: self.habit.bookmarks,
            timeout: None,
        };
        let end = match self.cache.watch(request).await {
            Ok(watch) => {
                self.running = Some(watch);
                End::Open
            }
            Err(CacheError::Expired { floor, .. }) => End::Expired {
                floor,
                newest: self.cache.revision(),
            },
            // Not now, as when storage is away and the newest state is wanted.
            Err(_) => return tokio::time::sleep(AGAIN).await,
        };
        let to = self.cache.revision();
        self.sessions.push(Session {
            watcher: self.number,
            selection: self.selection.clone(),
            start: match self.next {
                Some(revision) => Start::After(revision),
                None => Start::State { from, to },
            },
            bookmarks: self.habit.bookmarks,
            seen: Vec::new(),
            end,
        });
        self.next = None;
        let most = self.habit.leaves.map_or(1, |(most, _)| most);
        self.patience = (1 + self.random.below(most)) << self.stuck.min(16);
    }

    /// Notes what the watch said, and leaves if it is time to.
    fn take(&mut self, next: Result<WatchEvent, WatchEnd>) {
        let Some(session) = self.sessions.last_mut() else {
            return;
        };
        match next {
            Ok(event) => session.seen.push(seen(event)),
            Err(end) => {
                let WatchEnd::Expired { floor } = end else {
                    panic!("nobody set a time: {end:?}");
                };
                session.end = End::Expired {
                    floor,
                    newest: self.cache.revision(),
                };
                self.running = None;
                return;
            }
        }
        self.patience = self.patience.saturating_sub(1);
        if let Some((_, resume)) = self.habit.leaves
            && self.patience == 0
        {
            self.leave(resume);
        }
    }

    /// Leaves, if it knows from where to go on.
    fn leave(&mut self, resume: Resume) {
        let (Some(watch), Some(session)) = (&mut self.running, self.sessions.last_mut()) else {
            return;
        };
        let position = watch.resume_from();
        let next = match resume {
            Resume::Position => position,
            Resume::Bookmark => last_bookmark(session),
            Resume::LastEvent => before_last_event(session),
        };
        if next.is_none() && resume != Resume::Position {
            return;
        }
        session.end = End::Left { resume: position };
        self.running = None;
        self.next = next;
        let further = next.is_some_and(|next| next > self.furthest);
        self.furthest = self.furthest.max(next.unwrap_or_default());
        self.stuck = if further { 0 } else { self.stuck + 1 };
    }
}

fn last_bookmark(session: &Session) -> Option<Revision> {
    session.seen.iter().rev().find_map(|seen| match seen {
        Seen::Bookmark { revision, .. } => Some(*revision),
        Seen::Event { .. } => None,
    })
}

/// Everything up to before the last event was told: the event may be one of several of its revision. Initial objects come in
/// another order, so their revisions say nothing.
fn before_last_event(session: &Session) -> Option<Revision> {
    let known = match session.start {
        Start::After(_) => true,
        Start::State { .. } => last_bookmark(session).is_some(),
    };
    let last = session.seen.last().filter(|_| known)?;
    Some(match last {
        Seen::Event { revision, .. } => revision.previous(),
        Seen::Bookmark { revision, .. } => *revision,
    })
}

fn seen(event: WatchEvent) -> Seen {
    match event {
        WatchEvent::Object {
            kind,
            object,
            revision,
        } => Seen::Event {
            kind,
            key: object.storage_key().into(),
            object: object.revision(),
            content: Bytes::from_owner(Shared(object.clone())),
            revision,
        },
        WatchEvent::Bookmark {
            revision,
            initial_events_end,
        } => Seen::Bookmark {
            revision,
            initial_end: initial_events_end,
        },
    }
}

/// The bytes of an object, where they are.
struct Shared(Object);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}
