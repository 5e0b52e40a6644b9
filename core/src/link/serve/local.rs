//! A source over the core's own store and history: what a relay has, and a test.

use core::borrow::Borrow;
use core::time::Duration;

use super::asked::{Asked, Parsed};
use super::source::{Begin, Change, Content, OpenError, Request, Source, Step};
use crate::digest::{Digest, bucket};
use crate::history::{self, History};
use crate::link::frame::{Code, Origin};
use crate::object::{self, Object as _};
use crate::predicate::Matches;
use crate::projection::ProjectError;
use crate::revision::Revision;
use crate::slots::{Place, Slots};
use crate::store::{Slot, Store};
use crate::time::Instant;
use crate::watcher::{self, Phase, Start, State, Untimed, Watcher};

/// Objects as a [`Local`] source reads them: a [`Store`], or whatever can be read like one.
pub trait Shelf: State {
    /// The object with this key.
    fn get(&self, key: &str) -> Option<&Self::Object>;

    /// Shows all objects, in key order.
    fn for_each(&self, show: impl FnMut(&Self::Object));
}

impl<K, O, S> Shelf for Store<K, O, S>
where
    K: Ord + Clone + Borrow<str>,
    O: object::Object,
    S: Slots<Slot<K, O>>,
{
    fn get(&self, key: &str) -> Option<&O> {
        self.get(key).map(|entry| &entry.value)
    }

    fn for_each(&self, show: impl FnMut(&O)) {
        self.iter().map(|entry| &entry.value).for_each(show);
    }
}

/// One resource in a store and a history, borrowed for as long as it is read.
///
/// Everybody may watch all of it. A source with a policy, or with several resources, wraps it.
pub struct Local<'s, T: State, R> {
    /// The resource's name.
    pub resource: &'s str,
    /// Who counts the revisions.
    pub origin: Origin,
    /// The objects.
    pub store: &'s T,
    /// Their changes.
    pub history: &'s History<object::Change<T::Object>, R>,
    /// When the store was last known to be in step with the origin.
    pub in_step: Instant,
}

/// A reader of a [`Local`] source that selects by `P`: a selection and a place, and nothing that holds anything back.
#[derive(Debug, Clone)]
pub struct LocalReader<K, P> {
    watcher: Watcher<P, K, Untimed>,
    walked: Option<K>,
}

/// A reader with room for selectors of `TEXT` bytes each.
pub type LocalWatch<K, const TEXT: usize> = LocalReader<K, Parsed<heapless::String<TEXT>>>;

/// Chooses the length of selectors for a [`Local`] source.
pub struct Selecting<'s, T: State, R, const TEXT: usize>(pub Local<'s, T, R>);

impl<'s, T: State, R> Local<'s, T, R> {
    /// The source, for watches with selectors of at most `TEXT` bytes.
    pub fn selecting<const TEXT: usize>(self) -> Selecting<'s, T, R, TEXT> {
        Selecting(self)
    }
}

/// What [`Source`] asks for, by any predicate: for sources that wrap this one.
impl<'s, T, R> Local<'s, T, R>
where
    T: Shelf,
    T::Key: for<'k> TryFrom<&'k str>,
    R: Slots<Place<history::Entry<object::Change<T::Object>>>>,
{
    /// Begins to read.
    pub fn open<P>(
        &self,
        predicate: P,
        begin: Begin<'_>,
    ) -> Result<LocalReader<T::Key, P>, OpenError> {
        let start = match begin {
            Begin::State => Start::State,
            Begin::After(revision) => Start::After(revision),
            Begin::Now => Start::Now,
            Begin::Within { key, revision } => {
                let shown =
                    T::Key::try_from(key).map_err(|_| OpenError::Failed(Code::Unsupported))?;
                let history = self.history;
                let watcher = Watcher::untimed_within(predicate, shown, revision, history);
                return watcher
                    .map(LocalReader::from)
                    .map_err(|_| OpenError::Expired);
            }
        };
        let watcher = Watcher::untimed(predicate, start, self.store, self.history);
        watcher
            .map(LocalReader::from)
            .map_err(|_| OpenError::Expired)
    }

    /// The next item.
    pub fn poll<P: Matches<T::Object>>(
        &self,
        reader: &mut LocalReader<T::Key, P>,
        now: Instant,
    ) -> Step<&'s T::Object> {
        let Local { store, history, .. } = *self;
        match reader.watcher.poll(store, history, now) {
            watcher::Step::Event(event) => {
                let position = reader.watcher.position(history);
                let initial = reader.watcher.phase() == Phase::Initial;
                let exact = history.is_exact(event.revision);
                Step::Event(Change {
                    kind: event.kind,
                    object: event.object,
                    revision: event.revision,
                    settles: exact && position.is_ok_and(|position| position >= event.revision),
                    exact_at: position.ok().filter(|_| initial),
                })
            }
            watcher::Step::Bookmark { revision, .. } => Step::Synced(revision),
            watcher::Step::Idle { .. } | watcher::Step::Finished => Step::Idle,
            watcher::Step::Expired(_) => Step::Expired,
        }
    }

    /// The next object of the selection as it is now, in key order.
    pub fn walk<P: Matches<T::Object>>(
        &self,
        reader: &mut LocalReader<T::Key, P>,
    ) -> Option<&'s T::Object> {
        let mut after = reader.walked.take();
        loop {
            let (key, object) = self.store.next_after(after.as_ref())?;
            if reader.predicate().matches(object) {
                reader.walked = Some(key);
                return Some(object);
            }
            after = Some(key);
        }
    }

    /// Passes over all that has happened, and begins [`walk`](Self::walk) anew.
    pub fn catch_up<P>(&self, reader: &mut LocalReader<T::Key, P>) -> Revision {
        reader.watcher.skip_to(self.history.mark());
        reader.walked = None;
        self.history.newest()
    }

    /// The digest of the selection as it is now, in buckets; its revision.
    pub fn digests<P: Matches<T::Object>>(
        &self,
        reader: &LocalReader<T::Key, P>,
        buckets: &mut [Digest],
    ) -> Revision {
        buckets.fill(Digest::EMPTY);
        let count = u8::try_from(buckets.len()).unwrap_or(u8::MAX);
        self.store.for_each(|object| {
            let key = object.key().as_str();
            if reader.predicate().matches(object)
                && let Some(digest) = buckets.get_mut(bucket(key, count))
            {
                digest.add(key, object.revision());
            }
        });
        self.history.newest()
    }

    /// The digest of the selection as it was at a revision: what there is now, less what has come since, and with what has gone.
    pub fn digest_at<P: Matches<T::Object>>(
        &self,
        reader: &LocalReader<T::Key, P>,
        revision: Revision,
    ) -> Option<Digest> {
        let history = self.history;
        if revision > history.newest() {
            return None;
        }
        let mut cursor = history.since(revision).ok()?;
        let mut digest = [Digest::EMPTY];
        self.digests(reader, &mut digest);
        let [mut digest] = digest;
        let selects = |object: &&T::Object| reader.predicate().matches(*object);
        while let Some(entry) = history.next(&mut cursor).ok()? {
            if let Some(previous) = entry.change.previous().filter(selects) {
                digest.add(previous.key().as_str(), previous.revision());
            }
            if let Some(current) = entry.change.current().filter(selects) {
                digest.remove(current.key().as_str(), current.revision());
            }
        }
        Some(digest)
    }

    /// Whether something has happened since to an object that [`poll`](Self::poll) gave.
    pub fn is_superseded(&self, object: &T::Object) -> bool {
        let held = self.store.get(object.key().as_str());
        held.is_none_or(|held| held.revision() != object.revision())
    }
}

impl<T, R, const TEXT: usize> Source for Selecting<'_, T, R, TEXT>
where
    T: Shelf,
    T::Key: for<'k> TryFrom<&'k str>,
    T::Object: Content + Clone,
    R: Slots<Place<history::Entry<object::Change<T::Object>>>>,
{
    type Object<'a>
        = &'a T::Object
    where
        Self: 'a;
    type Held = T::Object;
    type Watch = LocalWatch<T::Key, TEXT>;

    fn origin(&self, _: &str, resource: &str) -> Result<Origin, Code> {
        if resource == self.0.resource {
            Ok(self.0.origin)
        } else {
            Err(Code::UnknownResource)
        }
    }

    fn open(
        &self,
        _: &str,
        request: &Request<'_>,
        begin: Begin<'_>,
        _: Instant,
    ) -> Result<Self::Watch, OpenError> {
        let asked = Parsed::new(request).ok_or(OpenError::Failed(Code::Unsupported))?;
        self.0.open(asked, begin)
    }

    fn poll(&self, watch: &mut Self::Watch, now: Instant) -> Step<&T::Object> {
        self.0.poll(watch, now)
    }

    fn walk(&self, watch: &mut Self::Watch) -> Option<&T::Object> {
        self.0.walk(watch)
    }

    fn catch_up(&self, watch: &mut Self::Watch) -> Revision {
        self.0.catch_up(watch)
    }

    fn newest(&self, _: &Self::Watch) -> Revision {
        self.0.history.newest()
    }

    fn digests(&self, watch: &Self::Watch, buckets: &mut [Digest]) -> Revision {
        self.0.digests(watch, buckets)
    }

    fn digest_at(&self, watch: &Self::Watch, revision: Revision) -> Option<Digest> {
        self.0.digest_at(watch, revision)
    }

    fn project(
        &self,
        watch: &Self::Watch,
        json: &[u8],
        out: &mut [u8],
    ) -> Option<Result<usize, ProjectError>> {
        watch.predicate().project(json, out)
    }

    fn is_superseded(&self, _: &Self::Watch, object: &&T::Object) -> bool {
        self.0.is_superseded(object)
    }

    fn age(&self, _: &Self::Watch, now: Instant) -> Duration {
        now.since(self.0.in_step)
    }

    fn hold(&self, object: &T::Object) -> T::Object {
        object.clone()
    }
}

impl<K, P> LocalReader<K, P> {
    /// What it selects by.
    pub fn predicate(&self) -> &P {
        self.watcher.predicate()
    }

    /// Whether it still shows the objects that there were.
    pub fn is_initial(&self) -> bool {
        self.watcher.phase() == Phase::Initial
    }

    /// Up to which revision everything has been given; `None` while that is not so for any, or if changes were lost to it.
    pub fn position<C, R>(&self, history: &History<C, R>) -> Option<Revision>
    where
        R: Slots<Place<history::Entry<C>>>,
    {
        self.watcher.resume_from(history).ok().flatten()
    }
}

impl<K, P> From<Watcher<P, K, Untimed>> for LocalReader<K, P> {
    fn from(watcher: Watcher<P, K, Untimed>) -> Self {
        Self {
            watcher,
            walked: None,
        }
    }
}
