//! One resource and scope of the upstream: its objects, their last changes, and how far they are known.
//!
//! ```text
//!   put, delete ──► store (as it will be) ──► pending: what that changes
//!                                                 │ settle, bookmark, end of a list
//!                                                 ▼
//!                                             history (what readers get)
//! ```
//!
//! What comes from upstream is applied to the store at once, and what it changes waits as *pending* until the upstream says that it is
//! complete: for most events that is with the event itself, for a transaction with its last one, for a list or a difference at its end. So nobody
//! reads half of anything, there is one copy of each object, and a list that was long in coming is a difference for those who
//! read. While something is pending, the state that readers may have is the store with the pending changes undone.

mod feed;
mod json;
mod pending;
mod restore;
mod view;

pub use json::Rejected;

use core::borrow::Borrow;
use core::time::Duration;

use ringwatch_core::digest::Digest;
use ringwatch_core::history::{Entry, History};
use ringwatch_core::key::Key;
use ringwatch_core::link::frame::Origin;
use ringwatch_core::link::node::Missing;
use ringwatch_core::link::serve::{Local, Request, Shelf};
use ringwatch_core::object::{Change, Object as _};
use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::store::{Slot, Store};
use ringwatch_core::time::Instant;
use ringwatch_core::watcher::State;

use super::begun::Begun;
use super::kept::Kept;
use super::object::Object;
use super::shape::Shape;
use super::stored::Stored;
use pending::Pending;

/// What a track is about.
#[derive(Debug, Clone)]
pub struct Subject<T> {
    /// The resource, as in the API's paths.
    pub resource: T,
    /// Which part of it.
    pub scope: Scope<T>,
}

impl<T: AsRef<str>> Subject<T> {
    /// Whether all that is asked for is part of this.
    pub fn covers(&self, request: &Request<'_>) -> bool {
        let inside = match (&self.scope, &request.scope) {
            (Scope::Resource, _) => true,
            (Scope::Namespace(own), Scope::Namespace(asked)) => own.as_ref() == *asked,
            (Scope::Namespace(own), Scope::Object(key)) => {
                Key::checked_before(key).namespace() == Some(own.as_ref())
            }
            (Scope::Object(own), Scope::Object(key)) => own.as_ref() == *key,
            _ => false,
        };
        inside && self.resource.as_ref() == request.resource
    }
}

/// One resource and scope.
pub struct Track<S: Shape> {
    subject: Subject<S::Text>,
    store: Store<S::Key, Stored<S::Bytes>, S::Objects>,
    history: History<Change<Object<S::Bytes>>, S::Changes>,
    pending: Pending<S>,
    /// Who counts the revisions, once it is known.
    origin: Option<Origin>,
    /// Counts the origins, so that a reader can tell that there is another.
    epoch: u32,
    /// Whether there is a state to read: everything at the history's newest revision.
    complete: bool,
    /// Whether a list or a difference is coming in.
    moving: bool,
    /// Whether the upstream says that it has something else.
    doubtful: bool,
    /// How far a list has come: up to this key it is exact at this revision.
    mark: Place<(S::Key, Revision)>,
    missing: Missing,
    /// Of the store as it is.
    stored: Digest,
    /// Of what readers may have.
    digest: Digest,
    in_step: Option<Instant>,
    skipped: u32,
    /// Over the node link.
    begun: Begun,
    /// The longest object that is kept, in bytes of JSON, if there is a limit.
    longest: Option<usize>,
    /// Which fields of the objects are here; all if there is no list.
    kept: Option<Kept>,
}

impl<S: Shape> Track<S> {
    /// An empty track over this storage, of which what is pending is free.
    pub fn new(
        subject: Subject<S::Text>,
        objects: S::Objects,
        changes: S::Changes,
        pending: S::Pending,
    ) -> Self {
        Self::over(
            subject,
            Store::new(objects),
            History::new(changes),
            Pending::new(pending),
        )
    }

    /// An empty track in arrays, for a `static`.
    pub const fn array<const OBJECTS: usize, const CHANGES: usize, const PENDING: usize>(
        subject: Subject<S::Text>,
    ) -> Self
    where
        S: Shape<
                Objects = [Slot<<S as Shape>::Key, Stored<<S as Shape>::Bytes>>; OBJECTS],
                Changes = [Place<Entry<Change<Object<<S as Shape>::Bytes>>>>; CHANGES],
                Pending = [Place<Change<Object<<S as Shape>::Bytes>>>; PENDING],
            >,
    {
        let pending = Pending::new([const { Place::Free }; PENDING]);
        Self::over(subject, Store::array(), History::array(), pending)
    }

    const fn over(
        subject: Subject<S::Text>,
        store: Store<S::Key, Stored<S::Bytes>, S::Objects>,
        history: History<Change<Object<S::Bytes>>, S::Changes>,
        pending: Pending<S>,
    ) -> Self {
        Self {
            subject,
            store,
            history,
            pending,
            origin: None,
            epoch: 0,
            complete: false,
            moving: false,
            doubtful: false,
            mark: Place::Free,
            missing: Missing::new(),
            stored: Digest::EMPTY,
            digest: Digest::EMPTY,
            in_step: None,
            skipped: 0,
            begun: Begun::NONE,
            longest: None,
            kept: None,
        }
    }

    /// The same track, which keeps no object that is longer: it is then [missing](Self::has_all).
    #[must_use]
    pub const fn limited(mut self, longest: usize) -> Self {
        self.longest = Some(longest);
        self
    }

    /// Says what the track is about, once that is known, and that the upstream is asked for these fields only and sends them packed.
    pub fn follow(&mut self, subject: Subject<S::Text>, fields: Kept) {
        self.subject = subject;
        self.kept = Some(fields);
    }

    /// Whether what is asked for can be told from what is kept of the objects.
    pub(super) fn can_answer(&self, request: &Request<'_>) -> bool {
        let kept = self.kept.as_ref();
        kept.is_none_or(|kept| kept.can_answer(request))
    }

    /// What it is about.
    pub const fn subject(&self) -> &Subject<S::Text> {
        &self.subject
    }

    /// Whether there is a state to read. Once it is so it stays so, until there is another origin.
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Who counts the revisions, if there is a state to read.
    pub fn origin(&self) -> Option<Origin> {
        self.origin.filter(|_| self.complete)
    }

    /// At which revision readers may have everything.
    pub fn revision(&self) -> Revision {
        self.history.newest()
    }

    /// The oldest revision from which a reader may go on.
    pub fn floor(&self) -> Revision {
        self.history.floor()
    }

    /// How many objects there are, with those that are still coming in.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }

    /// How many objects and changes fit.
    pub fn capacity(&self) -> (usize, usize) {
        (self.store.capacity(), self.history.capacity())
    }

    /// Whether every object has found its place; if not, some were too large or too many.
    pub fn has_all(&self) -> bool {
        self.missing.is_empty()
    }

    /// Whether a list or a difference is coming in.
    pub const fn is_moving(&self) -> bool {
        self.moving
    }

    /// How the upstream's watch has begun, over the node link.
    pub const fn begun(&self) -> Begun {
        self.begun
    }

    /// The digest of what readers may have.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// When it was last in step with the origin.
    pub const fn in_step(&self) -> Option<Instant> {
        self.in_step
    }

    /// How long ago it was last in step with the origin; for ever if it never was, or if the clock says that it will be.
    pub fn age(&self, now: Instant) -> Duration {
        match self.in_step {
            Some(in_step) if in_step <= now => now.since(in_step),
            _ => Duration::MAX,
        }
    }

    /// Whether the objects that readers may have are known; not while more changes are coming in than can be undone.
    pub fn is_readable(&self) -> bool {
        self.complete && !self.is_lost()
    }

    /// Counts the origins there have been.
    pub(super) const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether the changes that are coming in are more than can be undone, so that nothing can be said of the state before them.
    pub(super) const fn is_lost(&self) -> bool {
        self.pending.is_overflowed()
    }

    /// What readers may have, as a source.
    pub(super) fn local(&self, origin: Origin) -> Local<'_, Self, S::Changes> {
        Local {
            resource: self.subject.resource.as_ref(),
            origin,
            store: self,
            history: &self.history,
            in_step: self.in_step.unwrap_or(Instant::from_millis(0)),
        }
    }

    /// What has changed since a revision, oldest first; `None` if that is not known, or not any more.
    pub fn changes_since(
        &self,
        revision: Revision,
    ) -> Option<impl Iterator<Item = &Change<Object<S::Bytes>>>> {
        let mut cursor = self.history.since(revision).ok()?;
        Some(core::iter::from_fn(move || {
            let entry = self.history.next(&mut cursor).ok()??;
            Some(&entry.change)
        }))
    }

    pub(super) const fn history(&self) -> &History<Change<Object<S::Bytes>>, S::Changes> {
        &self.history
    }

    fn find(&self, key: &str) -> Option<&Object<S::Bytes>> {
        self.store.get(key).map(|entry| &entry.value.object)
    }

    /// What an object of the store was before what is pending; `None` if it is new.
    fn before<'o>(&'o self, stored: &'o Stored<S::Bytes>) -> Option<&'o Object<S::Bytes>> {
        let object = &stored.object;
        if stored.group != self.pending.group() {
            return Some(object);
        }
        match self.pending.find(object.key().as_str()) {
            Some(change) => change.previous(),
            None => Some(object),
        }
    }

    /// The first object whose key the list that is coming in has not named.
    fn unlisted(&self, after: Option<&S::Key>) -> Option<S::Key> {
        let mut entries = self.store.after(after.map(S::Key::borrow));
        entries
            .find(|entry| !entry.value.listed)
            .map(|entry| entry.key.clone())
    }
}

/// The state that readers may have: the store with what is pending undone.
impl<S: Shape> State for Track<S> {
    type Key = S::Key;
    type Object = Object<S::Bytes>;

    fn revision(&self) -> Revision {
        self.history.newest()
    }

    fn next_after(&self, key: Option<&S::Key>) -> Option<(S::Key, &Self::Object)> {
        let key = key.map(S::Key::borrow);
        let held = self.store.after(key).find_map(|entry| {
            let object = self.before(&entry.value)?;
            Some((entry.key.clone(), object))
        });
        let Some(deleted) = self.pending.deleted_after(key) else {
            return held;
        };
        let deleted_key = deleted.key().as_str();
        match held {
            Some((key, object)) if key.borrow() < deleted_key => Some((key, object)),
            held => match S::key(deleted) {
                Some(key) => Some((key, deleted)),
                None => held,
            },
        }
    }

    fn is_shown(&self, shown: &S::Key, key: Key<'_>) -> bool {
        key.as_str() <= shown.borrow()
    }
}

impl<S: Shape> Shelf for Track<S> {
    fn get(&self, key: &str) -> Option<&Self::Object> {
        match self.store.get(key) {
            Some(entry) => self.before(&entry.value),
            None => self.pending.find(key)?.previous(),
        }
    }

    fn for_each(&self, mut show: impl FnMut(&Self::Object)) {
        if self.pending.is_empty() {
            return self
                .store
                .iter()
                .for_each(|entry| show(&entry.value.object));
        }
        let mut shown = None;
        while let Some((key, object)) = self.next_after(shown.as_ref()) {
            show(object);
            shown = Some(key);
        }
    }
}
