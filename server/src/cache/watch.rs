//! Following one watch.

use std::future::poll_fn;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::task::{Context, Poll};

use ringwatch_core::history::Mark;
use ringwatch_core::key::Key;
use ringwatch_core::revision::Revision;
use ringwatch_core::time::Instant;
use ringwatch_core::transition::EventKind;
use ringwatch_core::watcher::{Options, Phase, Start, State, Step, Watcher};

use super::error::CacheError;
use super::index::Entry;
use super::list;
use super::map::{ObjectMap, Position};
use super::metrics::{Counter, End};
use super::object::Object;
use super::request::{Selection, WatchRequest, WatchStart, term_of};
use super::shared::Shared;
use super::stage::Stage;
use super::state::State as CacheState;
use super::wake::Called;
use crate::backoff::jittered;
use crate::storage::StorageError;
use crate::then::Then;

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

/// An event while it is in the ring. To copy its bytes from there costs less than to take hold of the object, which all who
/// watch it do at the same moment.
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// As [`WatchEvent::Object`].
    Object {
        /// What happened.
        kind: EventKind,
        /// The object to show.
        object: &'a Object,
        /// The revision to show with it.
        revision: Revision,
    },
    /// As [`WatchEvent::Bookmark`].
    Bookmark {
        /// Up to where.
        revision: Revision,
        /// Whether this one ends the objects of the initial state.
        initial_events_end: bool,
    },
}

impl WatchEvent {
    /// As it was seen.
    pub fn seen(&self) -> Seen<'_> {
        match *self {
            Self::Object {
                kind,
                ref object,
                revision,
            } => Seen::Object {
                kind,
                object,
                revision,
            },
            Self::Bookmark {
                revision,
                initial_events_end,
            } => Seen::Bookmark {
                revision,
                initial_events_end,
            },
        }
    }
}

impl From<Seen<'_>> for WatchEvent {
    fn from(seen: Seen<'_>) -> Self {
        match seen {
            Seen::Object {
                kind,
                object,
                revision,
            } => Self::Object {
                kind,
                object: object.clone(),
                revision,
            },
            Seen::Bookmark {
                revision,
                initial_events_end,
            } => Self::Bookmark {
                revision,
                initial_events_end,
            },
        }
    }
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
    /// The server is about to end: watch again, elsewhere. Everything up to now has been yielded, and a bookmark if
    /// they are wanted.
    ShuttingDown,
    /// The storage behind it failed: watch again from where it was. Only without a cache; with one, a
    /// watch outlives that.
    Storage(StorageError),
}

/// A running watch. Dropping it ends it.
///
/// It holds a place in the ring and no objects, so a reader that stops reading costs nothing but, sooner or
/// later, its own watch.
pub struct Watch {
    shared: Arc<Shared>,
    watcher: Watcher<Selection, Shown>,
    entry: Arc<Entry>,
    initial: Initial,
}

/// Where a watch begins, with what it needs for that.
enum Begin {
    State(ObjectMap, Revision),
    /// The reader has the objects up to a key, as they were at a revision.
    Within {
        objects: ObjectMap,
        revision: Revision,
        key: Box<str>,
        since: Revision,
    },
    After(Revision),
    Now,
}

/// What a look at the ring gave.
enum Looked {
    /// Events have been given.
    Given,
    End(WatchEnd),
    /// Nothing; look again at this moment at the latest.
    Idle(Option<Instant>),
}

impl Watch {
    pub(super) async fn start(
        shared: Arc<Shared>,
        request: WatchRequest,
    ) -> Result<Self, CacheError> {
        shared.check_ready()?;
        let begin = match request.start {
            WatchStart::State(start) => {
                let (objects, revision) = list::state_to_watch(&shared, start).await?;
                Begin::State(objects, revision)
            }
            WatchStart::After(revision) => Begin::After(revision),
            WatchStart::Newest => Begin::After(shared.storage.revision().await?),
            WatchStart::Now => Begin::Now,
        };
        Self::begin(shared, request, begin)
    }

    /// As [`start`](Self::start), with what the cache has at this moment and no other wait.
    pub(super) fn start_at_once(
        shared: Arc<Shared>,
        request: WatchRequest,
        within: Option<(&str, Revision)>,
    ) -> Result<Self, CacheError> {
        shared.check_ready()?;
        let begin = match (within, request.start) {
            (Some((key, since)), _) => {
                let (objects, revision) = list::snapshot(&shared);
                Begin::Within {
                    objects,
                    revision,
                    key: key.into(),
                    since,
                }
            }
            (None, WatchStart::State(_)) => {
                let (objects, revision) = list::snapshot(&shared);
                Begin::State(objects, revision)
            }
            (None, WatchStart::After(revision)) => Begin::After(revision),
            (None, WatchStart::Newest | WatchStart::Now) => Begin::Now,
        };
        Self::begin(shared, request, begin)
    }

    fn begin(shared: Arc<Shared>, request: WatchRequest, begin: Begin) -> Result<Self, CacheError> {
        let now = shared.clock.now();
        let options = Options {
            bookmark_every: request.bookmarks.then(|| {
                let every = shared.options.bookmark_every;
                jittered(every, every / 32)
            }),
            initial_events_end: request.bookmarks,
            deadline: request.timeout.map(|timeout| now + timeout),
        };
        let term = term_of(&request.predicate, &shared.decoder);
        let selection = Selection::from(request.predicate);
        let mut state = shared.write();
        let ring = &state.ring;
        let (requested, initial, started) = match begin {
            Begin::State(objects, revision) => {
                let initial = Initial::new(objects, revision, None);
                let started = Watcher::start(selection, Start::State, options, &initial, ring, now);
                (revision, initial, started)
            }
            Begin::Within {
                objects,
                revision,
                key,
                since,
            } => {
                let initial = Initial::new(objects, revision, Some(key));
                let shown = Position::OUTSIDE;
                let started = Watcher::start_within(selection, shown, since, options, ring, now);
                (since, initial, started)
            }
            Begin::After(revision) => {
                let (initial, start) = (Initial(None), Start::After(revision));
                let started = Watcher::start(selection, start, options, &initial, ring, now);
                (revision, initial, started)
            }
            Begin::Now => {
                let initial = Initial(None);
                let started = Watcher::start(selection, Start::Now, options, &initial, ring, now);
                (ring.newest(), initial, started)
            }
        };
        let watcher = started.map_err(|expired| CacheError::Expired {
            requested,
            floor: expired.floor,
        })?;
        let entry = state.index.insert(&term);
        drop(state);
        shared.metrics.watches_begun.add(1);
        Ok(Self {
            shared,
            watcher,
            entry,
            initial,
        })
    }

    /// The next event, or why there is none any more. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Result<WatchEvent, WatchEnd> {
        // A reader to whom something is always ready must still let others run.
        tokio::task::coop::consume_budget().await;
        poll_fn(|context| self.poll_next(context)).await
    }

    /// As [`next`](Self::next), for those who poll.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<WatchEvent, WatchEnd>> {
        let mut next = None;
        let limit = NonZeroUsize::MIN;
        match self.poll_many(context, limit, &mut |event| next = Some(event.into())) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(end)) => Poll::Ready(Err(end)),
            Poll::Ready(Ok(_)) => next.map_or(Poll::Pending, |event| Poll::Ready(Ok(event))),
        }
    }

    /// Gives all events that are there, up to `limit`, and at least one. A reader that cannot keep up pays for
    /// waking and locking once in a while and not for every event; one that can is told so and need not ask again.
    ///
    /// Writers wait meanwhile, so `yield_event` should not do more than take the event or copy its bytes, and the limit not
    /// exceed some dozens.
    pub fn poll_many(
        &mut self,
        context: &mut Context<'_>,
        limit: NonZeroUsize,
        yield_event: &mut impl FnMut(Seen<'_>),
    ) -> Poll<Result<Then, WatchEnd>> {
        let now = self.shared.clock.now();
        loop {
            let looked = match self.rests_until(now) {
                Some(wake_at) => Looked::Idle(wake_at),
                None => self.look(now, limit, yield_event),
            };
            match looked {
                Looked::Given => {
                    // Most often that was all there is, and the next question would be in vain.
                    let rests = self.rests_until(now);
                    let waits = rests.is_some_and(|wake_at| self.sleep(context, wake_at, now));
                    let then = if waits { Then::Wait } else { Then::Ask };
                    return Poll::Ready(Ok(then));
                }
                Looked::End(end) => return Poll::Ready(Err(end)),
                Looked::Idle(wake_at) if self.sleep(context, wake_at, now) => {
                    return Poll::Pending;
                }
                Looked::Idle(_) => {}
            }
        }
    }

    /// Has the task woken when something happens, or at a moment. `false` if something has happened already.
    fn sleep(&self, context: &Context<'_>, wake_at: Option<Instant>, now: Instant) -> bool {
        // First the ear, then the alarm and a last look: a bell that was rung before is not heard.
        self.entry.wake.listen(context.waker());
        if let Some(at) = wake_at {
            self.shared.alarms.set(&self.entry, at, now);
        }
        self.entry.wake.called() == Called::Nothing
    }

    /// The next event if there is one without waiting.
    pub fn try_next(&mut self) -> Option<Result<WatchEvent, WatchEnd>> {
        let mut next = None;
        let now = self.shared.clock.now();
        match self.look(now, NonZeroUsize::MIN, &mut |event| {
            next = Some(event.into())
        }) {
            Looked::End(end) => Some(Err(end)),
            _ => next.map(Ok),
        }
    }

    /// If nothing has happened that concerns it: when it wakes by itself. Told without the lock, since every event is followed
    /// by this question.
    fn rests_until(&self, now: Instant) -> Option<Option<Instant>> {
        let wake_at = self.watcher.wake_at();
        let rests = self.entry.wake.called() == Called::Nothing && !self.shared.is_closing();
        (rests && wake_at.is_none_or(|at| now < at)).then_some(wake_at)
    }

    /// Takes events from the ring.
    fn look(
        &mut self,
        now: Instant,
        limit: NonZeroUsize,
        yield_event: &mut impl FnMut(Seen<'_>),
    ) -> Looked {
        let state = self.shared.read();
        let end_of_call = catch_up(&mut self.watcher, &self.entry, &state);
        let mut of_state = OfState::new(&self.shared.metrics.initial_events);
        for given in 0..limit.get() {
            if end_of_call.is_some_and(|end| self.watcher.has_reached(end)) {
                self.watcher.skip_to(state.ring.mark());
            }
            let end = match self.watcher.poll(&self.initial, &state.ring, now) {
                Step::Event(event) => {
                    yield_event(Seen::Object {
                        kind: event.kind,
                        object: event.object,
                        revision: event.revision,
                    });
                    of_state.count += usize::from(self.watcher.phase() == Phase::Initial);
                    continue;
                }
                Step::Bookmark {
                    revision,
                    initial_events_end,
                } => {
                    yield_event(Seen::Bookmark {
                        revision,
                        initial_events_end,
                    });
                    continue;
                }
                Step::Idle { wake_at } => {
                    self.entry.wake.settle();
                    // The snapshot has been shown; let go of it.
                    self.initial = Initial(None);
                    match state.is_closing().then(|| self.last_words(&state)) {
                        None => Looked::Idle(wake_at),
                        Some(None) => self.end(Stage::ShutDown, WatchEnd::ShuttingDown),
                        Some(Some(bookmark)) => {
                            yield_event(bookmark);
                            continue;
                        }
                    }
                }
                Step::Finished => self.end(Stage::TimedOut, WatchEnd::TimedOut),
                Step::Expired(expired) => {
                    let floor = expired.floor;
                    self.end(Stage::Expired, WatchEnd::Expired { floor })
                }
            };
            // The end, or that there is no more, is found again next time.
            return if given > 0 { Looked::Given } else { end };
        }
        // If the last event was the last there is for it, what comes is noted from here on, even if the reader takes its time.
        if end_of_call.is_some_and(|end| self.watcher.has_reached(end)) {
            self.watcher.skip_to(state.ring.mark());
        }
        if self.watcher.has_reached(state.ring.mark()) {
            self.entry.wake.settle();
            self.initial = Initial(None);
        }
        Looked::Given
    }

    fn end(&self, stage: Stage, end: WatchEnd) -> Looked {
        self.entry.stage.set(stage);
        Looked::End(end)
    }

    /// What a reader that has everything is told before the end, once.
    fn last_words(&self, state: &CacheState) -> Option<Seen<'static>> {
        if self.entry.stage.get() != Stage::Open || !self.watcher.wants_bookmarks() {
            return None;
        }
        self.entry.stage.set(Stage::SaidGoodbye);
        let position = self.watcher.resume_from(&state.ring).ok().flatten();
        // Unless it waits for the future, and has nothing to say.
        let revision = position.filter(|position| *position <= state.revision())?;
        Some(Seen::Bookmark {
            revision,
            initial_events_end: false,
        })
    }

    /// Passes over all that has happened. Gives the objects as they are, and the revision after which it goes on.
    pub fn skip_to_now(&mut self) -> (ObjectMap, Revision) {
        let state = self.shared.read();
        self.watcher.skip_to(state.ring.mark());
        self.entry.wake.settle();
        (state.objects.clone(), state.revision())
    }

    /// Where its reader stands.
    pub fn standing(&self, event: Revision) -> Standing {
        let state = self.shared.read();
        let position = self.watcher.position(&state.ring).ok();
        Standing {
            exact_at: position.unwrap_or_default(),
            is_initial: self.watcher.phase() == Phase::Initial,
            settled: position.is_some_and(|position| position >= event)
                && state.ring.is_exact(event),
        }
    }

    /// From where another watch would continue; `None` while the initial objects are not complete.
    pub fn resume_from(&mut self) -> Option<Revision> {
        let state = self.shared.read();
        catch_up(&mut self.watcher, &self.entry, &state);
        self.watcher.resume_from(&state.ring).ok().flatten()
    }
}

/// Moves a watcher that had everything to the first change that it was called for, or to the end. If it was called,
/// gives the place behind the last change that it was called for: behind that, nothing concerns it.
fn catch_up(
    watcher: &mut Watcher<Selection, Shown>,
    entry: &Entry,
    state: &CacheState,
) -> Option<Mark> {
    match entry.wake.called() {
        Called::Unknown => None,
        Called::Nothing => {
            watcher.skip_to(state.ring.mark());
            None
        }
        Called::Between(first, end) => {
            watcher.skip_to(first);
            Some(end)
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.write().index.remove(&self.entry);
        self.shared
            .metrics
            .watch_ended(match self.entry.stage.get() {
                Stage::Open | Stage::SaidGoodbye => End::Left,
                Stage::TimedOut => End::TimedOut,
                Stage::Expired => End::Expired,
                Stage::ShutDown => End::ShuttingDown,
            });
    }
}

/// How many of the events that were given are of the state. Told in one step, whichever way the look ends.
struct OfState<'a> {
    count: usize,
    total: &'a Counter,
}

impl<'a> OfState<'a> {
    fn new(total: &'a Counter) -> Self {
        Self { count: 0, total }
    }
}

impl Drop for OfState<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.total.add(self.count);
        }
    }
}

/// Where the reader of a watch stands after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// At which revision all that it has been shown is exact.
    pub exact_at: Revision,
    /// Whether it is still being shown the objects that there were.
    pub is_initial: bool,
    /// Whether it has everything up to the revision of the event.
    pub settled: bool,
}

/// The snapshot that a watch begins with, until it has been shown.
///
/// Boxed, since most of a watch's life there is none.
struct Initial(Option<Box<Snapshot>>);

struct Snapshot {
    objects: ObjectMap,
    revision: Revision,
    /// The reader has what comes up to this key.
    within: Option<Box<str>>,
}

impl Initial {
    fn new(objects: ObjectMap, revision: Revision, within: Option<Box<str>>) -> Self {
        Self(Some(Box::new(Snapshot {
            objects,
            revision,
            within,
        })))
    }
}

/// The object that was shown last.
type Shown = Position;

impl State for Initial {
    type Key = Shown;
    type Object = Object;

    fn revision(&self) -> Revision {
        self.0
            .as_ref()
            .map_or(Revision::ZERO, |state| state.revision)
    }

    fn next_after(&self, shown: Option<&Shown>) -> Option<(Shown, &Object)> {
        let state = self.0.as_deref()?;
        match (shown, &state.within) {
            (Some(&Position::OUTSIDE), Some(key)) => state.objects.first_after(key),
            _ => state.objects.after(shown.copied()),
        }
    }

    fn is_shown(&self, shown: &Shown, key: Key<'_>) -> bool {
        let Some(state) = self.0.as_deref() else {
            return false;
        };
        let shown = match (*shown, &state.within) {
            (Position::OUTSIDE, Some(key)) => Some(&**key),
            (shown, _) => state.objects.at(shown).map(Object::key),
        };
        shown.is_some_and(|shown| key.as_str() <= shown)
    }
}
