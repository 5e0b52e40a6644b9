//! Following one watch.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ringwatch_core::key::Key;
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;
use ringwatch_core::transition::EventKind;
use ringwatch_core::watcher::{Options, Start, State, Step, Watcher};

use super::error::CacheError;
use super::index::Entry;
use super::list;
use super::map::ObjectMap;
use super::object::Object;
use super::request::{Predicate, WatchRequest, WatchStart, term_of};
use super::shared::Shared;
use super::state::State as CacheState;

/// How many events are taken from the ring at once: few enough that writers are not kept waiting.
const BATCH: usize = 64;

/// What a watch yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// Something happened.
    Object {
        /// What.
        kind: EventKind,
        /// The object to show.
        object: Object,
        /// The revision to show with it: for a deletion not the object's own.
        revision: Revision,
    },
    /// Everything up to here has been yielded.
    Bookmark {
        /// Up to where.
        revision: Revision,
        /// Whether this one ends the objects of the initial state.
        initial_events_end: bool,
    },
}

/// Why a watch has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEnd {
    /// Its time was up.
    TimedOut,
    /// Changes were lost to it: begin again from a list.
    Expired {
        /// The oldest revision that a watch may begin from.
        floor: Revision,
    },
}

/// A running watch. Dropping it ends it.
///
/// It holds a place in the ring and no objects but those of the batch it is handing out, so a reader that stops
/// reading costs nothing but, sooner or later, its own watch.
pub struct Watch {
    shared: Arc<Shared>,
    watcher: Watcher<Predicate, Shown>,
    entry: Arc<Entry>,
    initial: Initial,
    /// What was taken from the ring and not handed out yet, each with from where a watch would continue that
    /// did not get it.
    batch: VecDeque<(Option<Revision>, WatchEvent)>,
    /// The watcher had everything when it last looked, so what it was not woken for does not concern it.
    idle: bool,
    end: Option<WatchEnd>,
}

impl Watch {
    pub(super) async fn start(
        shared: Arc<Shared>,
        request: WatchRequest,
    ) -> Result<Self, CacheError> {
        shared.check_ready()?;
        let mut initial = Initial(None);
        let start = match request.start {
            WatchStart::State(start) => {
                initial = Initial(Some(Box::new(list::state_to_watch(&shared, start).await?)));
                Start::State
            }
            WatchStart::After(revision) => Start::After(revision),
            WatchStart::Newest => Start::After(shared.storage.revision().await?),
            WatchStart::Now => Start::Now,
        };
        let now = shared.now();
        let options = Options {
            bookmark_every: request
                .bookmarks
                .then(|| jittered(shared.options.bookmark_every)),
            initial_events_end: request.bookmarks,
            deadline: request.timeout.map(|timeout| now + timeout),
        };
        let term = term_of(&request.predicate, &shared.decoder);
        let entry = Entry::new();
        let mut state = shared.write();
        let started = Watcher::start(
            request.predicate,
            start,
            options,
            &initial,
            &state.ring,
            now,
        );
        let watcher = started.map_err(|expired| CacheError::Expired {
            requested: match start {
                Start::After(revision) => revision,
                _ => initial.revision(),
            },
            floor: expired.floor,
        })?;
        state.index.insert(&term, &entry);
        drop(state);
        Ok(Self {
            shared,
            watcher,
            entry,
            initial,
            batch: VecDeque::new(),
            idle: false,
            end: None,
        })
    }

    /// The next event, or why there is none any more. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Result<WatchEvent, WatchEnd> {
        loop {
            if let Some((_, event)) = self.batch.pop_front() {
                return Ok(event);
            }
            if let Some(end) = &self.end {
                return Err(end.clone());
            }
            let Some(wake_at) = self.fill() else {
                continue;
            };
            let rung = self.entry.wake.rung();
            match wake_at {
                None => rung.await,
                Some(at) => {
                    // Rung or time to speak: either way, look.
                    let _ = tokio::time::timeout_at(self.shared.at(at), rung).await;
                }
            }
        }
    }

    /// The next event if there is one without waiting.
    pub fn try_next(&mut self) -> Option<Result<WatchEvent, WatchEnd>> {
        if self.batch.is_empty() && self.end.is_none() {
            self.fill();
        }
        let event = self.batch.pop_front().map(|(_, event)| Ok(event));
        event.or_else(|| self.end.clone().map(Err))
    }

    /// Takes a batch from the ring. If there is nothing: `Some(when to look again)`.
    fn fill(&mut self) -> Option<Option<Instant>> {
        let now = self.shared.now();
        let state = self.shared.read();
        catch_up(&mut self.watcher, &mut self.idle, &self.entry, &state);
        while self.batch.len() < BATCH {
            let resume = self.watcher.resume_from(&state.ring).ok().flatten();
            match self.watcher.poll(&self.initial, &state.ring, now) {
                Step::Event(event) => {
                    let event = WatchEvent::Object {
                        kind: event.kind,
                        object: event.object.clone(),
                        revision: event.revision,
                    };
                    self.batch.push_back((resume, event));
                }
                Step::Bookmark {
                    revision,
                    initial_events_end,
                } => {
                    let bookmark = WatchEvent::Bookmark {
                        revision,
                        initial_events_end,
                    };
                    self.batch.push_back((resume, bookmark));
                }
                Step::Idle { wake_at } => {
                    self.idle = true;
                    // The snapshot has been shown; let go of it.
                    self.initial = Initial(None);
                    return self.batch.is_empty().then_some(wake_at);
                }
                Step::Finished => {
                    self.end = Some(WatchEnd::TimedOut);
                    return None;
                }
                Step::Expired(expired) => {
                    let floor = expired.floor;
                    self.end = Some(WatchEnd::Expired { floor });
                    return None;
                }
            }
        }
        None
    }

    /// From where another watch would continue; `None` while the initial objects are not complete.
    ///
    /// What was yielded counts as delivered, what is in the batch does not.
    pub fn resume_from(&mut self) -> Option<Revision> {
        // An event does not tell it by its revision: initial objects and the difference of a relist come in key order.
        if let Some((resume, _)) = self.batch.front() {
            return *resume;
        }
        let state = self.shared.read();
        catch_up(&mut self.watcher, &mut self.idle, &self.entry, &state);
        self.watcher.resume_from(&state.ring).ok().flatten()
    }
}

/// Moves a watcher that had everything to the first change that it was woken for, or to the end.
fn catch_up(
    watcher: &mut Watcher<Predicate, Shown>,
    idle: &mut bool,
    entry: &Entry,
    state: &CacheState,
) {
    let pending = entry.wake.take();
    if std::mem::take(idle) {
        watcher.skip_to(pending.unwrap_or_else(|| state.ring.mark()));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let term = term_of(self.watcher.predicate(), &self.shared.decoder);
        self.shared.write().index.remove(&term, &self.entry);
    }
}

/// Up to a quarter more, so that watches that began together do not speak together.
fn jittered(period: Duration) -> Duration {
    crate::backoff::Backoff::new(period / 4, period / 4).delay() + period
}

/// The snapshot that a watch begins with, until it has been shown.
///
/// Boxed, since most of a watch's life there is none.
struct Initial(Option<Box<(ObjectMap, Revision)>>);

/// The object that was shown last.
struct Shown(Object);

impl State for Initial {
    type Key = Shown;
    type Object = Object;

    fn revision(&self) -> Revision {
        self.0.as_ref().map_or(Revision::ZERO, |state| state.1)
    }

    fn next_after(&self, shown: Option<&Shown>) -> Option<(Shown, &Object)> {
        let (objects, _) = self.0.as_deref()?;
        let object = match shown {
            Some(shown) => objects.from(shown.0.key(), false).next(),
            None => objects.iter().next(),
        }?;
        Some((Shown(object.clone()), object))
    }

    fn is_shown(&self, shown: &Shown, key: Key<'_>) -> bool {
        key.as_str() <= shown.0.key()
    }
}
