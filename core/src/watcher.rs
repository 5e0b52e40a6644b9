//! One watch: a selection, a place in the history, and when to speak of itself.
//!
//! ```text
//!   Start::State ──► Initial ──(bookmark: initial events end)──┐
//!                    objects as Added, in key order            ▼
//!   Start::After ───────────────────────────────────────►  Replay ──► Live
//!   Start::Now   ──────────────────────────────────────────────────────▲
//! ```
//!
//! A watcher is pulled: [`Watcher::poll`] gives the next item or says when to come back. It buffers nothing, so a
//! slow reader costs no memory and holds up nobody; if it falls off the ring it is told so by
//! [`Step::Expired`]. What it promises:
//!
//! - Every matching change after its start is delivered once, in the order of the history, or the
//!   watch ends with `Expired`.
//! - A bookmark at revision `b` means that everything up to `b` was delivered.
//! - The initial objects may come from an unchanging snapshot or straight from a store that goes
//!   on changing. In the second case changes to objects that were already shown are delivered in
//!   between, and changes to those still to come are not, since their result will be shown. Either way
//!   the reader's view is exact at the end of the initial phase.
//!
//! ```
//! use ringwatch_core::history::History;
//! use ringwatch_core::object::Change;
//! # use ringwatch_core::{key::Key, object::Object};
//! use ringwatch_core::predicate::Everything;
//! use ringwatch_core::revision::Revision;
//! use ringwatch_core::store::Store;
//! use ringwatch_core::time::Instant;
//! use ringwatch_core::watcher::{Options, Start, Step, Watcher};
//! # #[derive(Debug, Clone, PartialEq)]
//! # struct Lamp(u64);
//! # impl Object for Lamp {
//! #     fn key(&self) -> Key<'_> { Key::parse("lamp").unwrap() }
//! #     fn revision(&self) -> Revision { Revision::new(self.0) }
//! #     fn label(&self, _: &str) -> Option<&str> { None }
//! #     fn field(&self, _: &str) -> Option<&str> { None }
//! # }
//!
//! let mut store = Store::<&str, Lamp, [_; 4]>::array();
//! let mut history = History::<Change<Lamp>, [_; 4]>::array();
//! let now = Instant::from_millis(0);
//!
//! let options = Options { initial_events_end: true, ..Options::default() };
//! let mut watcher = Watcher::start(Everything, Start::State, options, &store, &history, now).unwrap();
//! assert_eq!(
//!     watcher.poll(&store, &history, now),
//!     Step::Bookmark { revision: Revision::ZERO, initial_events_end: true },
//! );
//!
//! // One owner applies a change to both, then wakes whoever waits.
//! let revision = Revision::new(3);
//! store.put("lamp", revision, Lamp(3)).unwrap();
//! store.advance(revision);
//! history.push(revision, Change::Put { previous: None, current: Lamp(3) }).unwrap();
//!
//! assert!(matches!(watcher.poll(&store, &history, now), Step::Event(event) if event.object == &Lamp(3)));
//! assert_eq!(watcher.poll(&store, &history, now), Step::Idle { wake_at: None });
//! assert_eq!(watcher.resume_from(&history), Ok(Some(revision)));
//! ```

mod bookmark;
mod occasions;
mod state;

pub use occasions::{Occasions, Timed, Untimed};
pub use state::State;

use core::time::Duration;

use crate::history::{Cursor, Entry, Expired, History, Mark};
use crate::object::{Change, Object};
use crate::predicate::Matches;
use crate::revision::Revision;
use crate::slots::{Place, Slots};
use crate::time::Instant;
use crate::transition::{Event, EventKind, transition};

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With the objects that there are now.
    State,
    /// With the first change after this revision.
    After(Revision),
    /// With the first change from now on.
    Now,
}

/// What a watch wants besides events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// How often to send a bookmark; `None` for never.
    pub bookmark_every: Option<Duration>,
    /// Whether the end of the initial objects is marked by a bookmark.
    pub initial_events_end: bool,
    /// When the watch is over. A last bookmark comes shortly before, if bookmarks are wanted.
    pub deadline: Option<Instant>,
}

/// What a watcher has for its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a, O> {
    /// Something happened.
    Event(Event<'a, O>),
    /// Everything up to here was delivered.
    Bookmark {
        /// Up to where.
        revision: Revision,
        /// Whether this one ends the initial objects.
        initial_events_end: bool,
    },
    /// Nothing until the history moves, or until this moment.
    Idle {
        /// When to poll again even if nothing happens.
        wake_at: Option<Instant>,
    },
    /// The deadline has come: end the stream; nothing is wrong.
    Finished,
    /// Changes were lost to this reader: end the stream and say so.
    Expired(Expired),
}

/// How far a watch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Phase {
    /// Showing the objects that there were.
    Initial,
    /// Catching up with the history.
    Replay,
    /// Has been in step with the history.
    Live,
}

/// One watch. `P` selects; `K` is the state's key, kept only while initial objects are shown; `T` knows when it speaks of itself.
#[derive(Debug, Clone)]
pub struct Watcher<P, K, T = Timed> {
    predicate: P,
    cursor: Cursor,
    progress: Progress<K>,
    occasions: T,
}

#[derive(Debug, Clone)]
enum Progress<K> {
    /// The key shown last.
    Initial(Option<K>),
    /// The revision at which the initial objects ended a moment ago; [`Revision::ZERO`] if that is long past or never was.
    Replay(Revision),
    Live(Revision),
}

impl<P, K> Watcher<P, K> {
    /// Begins a watch. Fails if the start is no longer in the history.
    ///
    /// For [`Start::State`], `state` is either the live store that goes with `history` or a snapshot of
    /// it; pass the same one to every poll until the phase is no longer [`Phase::Initial`].
    pub fn start<C, S>(
        predicate: P,
        start: Start,
        options: Options,
        state: &impl State<Key = K>,
        history: &History<C, S>,
        now: Instant,
    ) -> Result<Self, Expired>
    where
        S: Slots<Place<Entry<C>>>,
    {
        let timed = Timed::new(options, now);
        Self::begin(predicate, start, timed, state, history)
    }

    /// Begins in the middle of the initial objects: the reader has those up to `shown`, as they were at `revision`. It gets the
    /// others, and what has happened to the first ones since.
    pub fn start_within<C, S>(
        predicate: P,
        shown: K,
        revision: Revision,
        options: Options,
        history: &History<C, S>,
        now: Instant,
    ) -> Result<Self, Expired>
    where
        S: Slots<Place<Entry<C>>>,
    {
        let timed = Timed::new(options, now);
        Self::begin_within(predicate, shown, revision, timed, history)
    }
}

impl<P, K> Watcher<P, K, Untimed> {
    /// Begins a watch as [`start`](Watcher::start) does, for an owner that keeps time by itself.
    pub fn untimed<C, S>(
        predicate: P,
        start: Start,
        state: &impl State<Key = K>,
        history: &History<C, S>,
    ) -> Result<Self, Expired>
    where
        S: Slots<Place<Entry<C>>>,
    {
        Self::begin(predicate, start, Untimed, state, history)
    }

    /// Begins a watch as [`start_within`](Watcher::start_within) does, for an owner that keeps time by itself.
    pub fn untimed_within<C, S>(
        predicate: P,
        shown: K,
        revision: Revision,
        history: &History<C, S>,
    ) -> Result<Self, Expired>
    where
        S: Slots<Place<Entry<C>>>,
    {
        Self::begin_within(predicate, shown, revision, Untimed, history)
    }
}

impl<P, K, T: Occasions> Watcher<P, K, T> {
    fn begin<C, S>(
        predicate: P,
        start: Start,
        occasions: T,
        state: &impl State<Key = K>,
        history: &History<C, S>,
    ) -> Result<Self, Expired>
    where
        S: Slots<Place<Entry<C>>>,
    {
        let (after, progress) = match start {
            Start::State => (state.revision(), Progress::Initial(None)),
            Start::After(revision) => (revision, Progress::Replay(Revision::ZERO)),
            Start::Now => (history.newest(), Progress::Live(Revision::ZERO)),
        };
        Ok(Self {
            predicate,
            cursor: history.since(after)?,
            progress,
            occasions,
        })
    }

    fn begin_within<C, S>(
        predicate: P,
        shown: K,
        revision: Revision,
        occasions: T,
        history: &History<C, S>,
    ) -> Result<Self, Expired>
    where
        S: Slots<Place<Entry<C>>>,
    {
        Ok(Self {
            predicate,
            cursor: history.since(revision)?,
            progress: Progress::Initial(Some(shown)),
            occasions,
        })
    }

    /// How far the watch has come.
    pub fn phase(&self) -> Phase {
        match self.progress {
            Progress::Initial(_) => Phase::Initial,
            Progress::Replay(_) => Phase::Replay,
            Progress::Live(_) => Phase::Live,
        }
    }

    /// What it selects by.
    pub fn predicate(&self) -> &P {
        &self.predicate
    }

    /// Passes over everything before `mark`, which the caller knows not to concern this watch. Does
    /// nothing while the initial objects are shown.
    pub fn skip_to(&mut self, mark: Mark) {
        if self.phase() != Phase::Initial {
            self.cursor.skip_to(mark);
        }
    }

    /// When it has something to say although nothing happens: a bookmark, or the end.
    pub fn wake_at(&self) -> Option<Instant> {
        self.occasions.next()
    }

    /// Whether it speaks of itself between events.
    pub fn wants_bookmarks(&self) -> bool {
        self.occasions.are_wanted()
    }

    /// Whether the watch has come to `mark`, and is not showing initial objects.
    pub fn has_reached(&self, mark: Mark) -> bool {
        self.phase() != Phase::Initial && self.cursor.has_reached(mark)
    }

    /// The revision from which another watch would continue without gap or repetition; `None` while the
    /// initial objects are not complete.
    pub fn resume_from<C, S>(&self, history: &History<C, S>) -> Result<Option<Revision>, Expired>
    where
        S: Slots<Place<Entry<C>>>,
    {
        match self.progress {
            Progress::Initial(_) => Ok(None),
            Progress::Replay(_) | Progress::Live(_) => history.position(&self.cursor).map(Some),
        }
    }

    /// At which revision everything is exact that the reader has been shown, be it a part of the initial objects or all.
    pub fn position<C, S>(&self, history: &History<C, S>) -> Result<Revision, Expired>
    where
        S: Slots<Place<Entry<C>>>,
    {
        history.position(&self.cursor)
    }

    /// The next item. Call it until it is [`Step::Idle`], then again when the history has moved or
    /// the time has come.
    ///
    /// `state` and `history` must have been brought up to the same change by their owner; after the
    /// initial phase `state` is not looked at.
    pub fn poll<'a, St, S>(
        &mut self,
        state: &'a St,
        history: &'a History<Change<St::Object>, S>,
        now: Instant,
    ) -> Step<'a, St::Object>
    where
        St: State<Key = K>,
        P: Matches<St::Object>,
        S: Slots<Place<Entry<Change<St::Object>>>>,
    {
        if self.occasions.is_over(now) {
            return Step::Finished;
        }
        let next = match self.progress {
            Progress::Initial(_) => self.poll_initial(state, history, now),
            Progress::Replay(_) | Progress::Live(_) => self.poll_history(history),
        };
        match next {
            Err(expired) => Step::Expired(expired),
            Ok(Some(step)) => step,
            Ok(None) => self.poll_timers(history.newest(), now),
        }
    }

    fn poll_initial<'a, St, S>(
        &mut self,
        state: &'a St,
        history: &'a History<Change<St::Object>, S>,
        now: Instant,
    ) -> Result<Option<Step<'a, St::Object>>, Expired>
    where
        St: State<Key = K>,
        P: Matches<St::Object>,
        S: Slots<Place<Entry<Change<St::Object>>>>,
    {
        while let Progress::Initial(shown) = &mut self.progress {
            // Changes that the state already contains. A snapshot contains none after its own
            // revision; a live store contains all.
            if let Some(entry) = history.peek(&mut self.cursor)?
                && entry.revision <= state.revision()
            {
                history.pass(&mut self.cursor);
                let key = entry.change.subject().key();
                if shown
                    .as_ref()
                    .is_some_and(|shown| state.is_shown(shown, key))
                    && let Some(event) = self.event(entry, history.before_gap(entry))
                {
                    return Ok(Some(Step::Event(event)));
                }
                continue;
            }
            match state.next_after(shown.as_ref()) {
                Some((key, object)) => {
                    *shown = Some(key);
                    if self.predicate.matches(object) {
                        return Ok(Some(Step::Event(Event {
                            kind: EventKind::Added,
                            object,
                            revision: object.revision(),
                        })));
                    }
                }
                None => self.progress = Progress::Replay(Revision::ZERO),
            }
        }
        if self.occasions.mark_initial() {
            if self.occasions.hasten(now) {
                self.progress = Progress::Replay(state.revision());
            }
            return Ok(Some(Step::Bookmark {
                revision: state.revision(),
                initial_events_end: true,
            }));
        }
        self.poll_history(history)
    }

    fn poll_history<'a, O, S>(
        &mut self,
        history: &'a History<Change<O>, S>,
    ) -> Result<Option<Step<'a, O>>, Expired>
    where
        O: Object,
        P: Matches<O>,
        S: Slots<Place<Entry<Change<O>>>>,
    {
        while let Some(entry) = history.next(&mut self.cursor)? {
            if let Some(event) = self.event(entry, history.before_gap(entry)) {
                return Ok(Some(Step::Event(event)));
            }
        }
        if let Progress::Replay(ended) = self.progress {
            self.progress = Progress::Live(ended);
        }
        Ok(None)
    }

    /// The event of an entry. In the difference of a relist, entries share the list's revision; what is shown
    /// is the object's own, and for a deletion, of which nobody knows when it was, the one before.
    fn event<'a, O>(
        &self,
        entry: &'a Entry<Change<O>>,
        before_gap: Option<Revision>,
    ) -> Option<Event<'a, O>>
    where
        O: Object,
        P: Matches<O>,
    {
        let revision = match before_gap {
            None => entry.revision,
            Some(before) => entry.change.current().map_or(before, Object::revision),
        };
        transition(&entry.change, revision, |object| {
            self.predicate.matches(object)
        })
    }

    /// The reader has everything up to `newest`.
    fn poll_timers<'a, O>(&mut self, newest: Revision, now: Instant) -> Step<'a, O> {
        // A watch that began in the future has nothing to say before that.
        if !self.cursor.is_ahead() && self.occasions.are_due(now) {
            let ended = core::mem::replace(&mut self.progress, Progress::Live(Revision::ZERO));
            // A moment after the end of the initial objects, only what that has not said is worth saying.
            if !matches!(ended, Progress::Live(ended) if ended == newest) {
                return Step::Bookmark {
                    revision: newest,
                    initial_events_end: false,
                };
            }
        }
        Step::Idle {
            wake_at: self.wake_at(),
        }
    }
}
