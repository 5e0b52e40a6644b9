//! The informer: a typed local copy of what a node watches, and calls when it changes.
//!
//! This is the part that firmware uses. It is fed with a snapshot and then with events, keeps the
//! latest value of each key in fixed memory, and tells a [`Handler`] what was added, updated and
//! deleted.
//!
//! - **Coalescing.** While the handler is [not ready](Handler::is_ready), changes are folded into one
//!   pending notice for each key: ten updates become one, an addition that is deleted again becomes nothing.
//!   [`Informer::flush`] delivers what is pending. Nothing queues up, so there is no queue to overflow; only a deleted
//!   object keeps its place until its deletion was told.
//! - **Order.** Notices that were not delayed come in the order of the events. Delayed ones come in no particular order.
//! - **Knowing what it knows.** [`Informer::has_synced`], the [revision](Informer::revision) to
//!   resume from, how [stale](Informer::staleness) the view may be, and whether its
//!   [digest](crate::digest) agrees with the sender's.
//!
//! ```
//! use core::time::Duration;
//! use ringwatch_core::informer::{Handler, Informer};
//! use ringwatch_core::revision::Revision;
//! use ringwatch_core::time::Instant;
//!
//! struct Heater(f32);
//! impl Handler<f32> for Heater {
//!     fn on_add(&mut self, _key: &str, new: &f32) { self.0 = *new }
//!     fn on_update(&mut self, _key: &str, _old: Option<&f32>, new: &f32) { self.0 = *new }
//!     fn on_delete(&mut self, _key: &str, _last: &f32) { self.0 = 5.0 }
//! }
//!
//! let mut heater = Heater(5.0);
//! let mut setpoints = Informer::<heapless::String<16>, f32, [_; 4]>::array();
//! let now = Instant::from_millis(0);
//!
//! setpoints.begin_snapshot();
//! setpoints.put("hall/heater", Revision::new(3), 19.5, &mut heater).unwrap();
//! setpoints.end_snapshot(Revision::new(7), None, Duration::ZERO, now, &mut heater);
//! assert!(setpoints.has_synced());
//! assert_eq!(heater.0, 19.5);
//!
//! setpoints.put("hall/heater", Revision::new(8), 21.0, &mut heater).unwrap();
//! assert_eq!((heater.0, setpoints.get("hall/heater")), (21.0, Some(&21.0)));
//! ```

mod handler;
mod index;
mod notices;
mod refused;
mod snapshot;

pub use handler::Handler;
pub use index::{ByTerm, NoIndex, TermIndex};
pub use refused::{Reason, Refused};

use core::borrow::Borrow;
use core::time::Duration;

use crate::digest::{Digest, bucket};
use crate::revision::Revision;
use crate::slots::{Place, Slots};
use crate::store::{Slot, SlotId, Store};
use crate::time::Instant;

use notices::Notice;

/// A value and what the informer must remember about it.
#[derive(Debug, Clone)]
pub struct Held<T> {
    value: T,
    notice: Notice,
    /// Whether the snapshot that is coming in has named it.
    listed: bool,
}

/// Whether the sender's digest was that of the local view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Check {
    /// The view is exactly what the sender has.
    Agrees,
    /// Something was lost or is too much. A new snapshot repairs it.
    Differs,
    /// There was no digest to compare with.
    NotCompared,
}

/// When the sender was last heard, and how old its own knowledge was then.
#[derive(Debug, Clone, Copy)]
struct Contact {
    at: Instant,
    age: Duration,
}

/// A bounded local view. `K` owns a key, `S` is the storage, `X` an index by term.
#[derive(Debug)]
pub struct Informer<K, T, S, X = NoIndex> {
    store: Store<K, Held<T>, S>,
    index: X,
    revision: Revision,
    /// Of the last event, which may be one of a transaction that is not complete.
    newest: Revision,
    digest: Digest,
    contact: Place<Contact>,
    synced: bool,
    in_snapshot: bool,
    differs: bool,
    /// How many entries have a notice that waits for the handler.
    waiting: usize,
    /// How many of those are deleted, and so are not part of the view any more.
    tombstones: usize,
    /// After this place [`Informer::flush`] goes on, so that no key is passed over for ever.
    turn: Option<SlotId>,
}

impl<K, T, const N: usize> Informer<K, T, [Slot<K, Held<T>>; N]> {
    /// An empty informer in an array of `N` places, without an index.
    pub const fn array() -> Self {
        Self::with(Store::array(), NoIndex)
    }
}

impl<K, T, S, X> Informer<K, T, S, X> {
    /// What is held is not what it should be any more, for a reason that its owner knows: it has to be compared object by object.
    pub const fn doubt(&mut self) {
        self.differs = true;
    }

    /// An informer over an empty store, with an index.
    const fn with(store: Store<K, Held<T>, S>, index: X) -> Self {
        Self {
            store,
            index,
            revision: Revision::ZERO,
            newest: Revision::ZERO,
            digest: Digest::EMPTY,
            contact: Place::Free,
            synced: false,
            in_snapshot: false,
            differs: false,
            waiting: 0,
            tombstones: 0,
            turn: None,
        }
    }
}

impl<K, T, S, X> Informer<K, T, S, X>
where
    K: Ord + Borrow<str> + for<'a> TryFrom<&'a str>,
    S: Slots<Slot<K, Held<T>>>,
    X: TermIndex<T>,
{
    /// An empty informer over storage of the caller's choice, with an index or [`NoIndex`].
    pub fn new(slots: S, index: X) -> Self {
        Self::with(Store::new(slots), index)
    }

    /// Takes in an object, from a snapshot or from an event. The caller need not know whether it is
    /// new. One that is older than what is held is a repetition and is ignored.
    ///
    /// This does not move the [revision](Informer::revision) to resume from: an event does not say
    /// whether it is the last of its transaction. [`Informer::advance`] and bookmarks do.
    pub fn put(
        &mut self,
        key: &str,
        revision: Revision,
        value: T,
        handler: &mut impl Handler<T>,
    ) -> Result<(), Refused<T>> {
        self.flush(handler);
        self.note(revision);
        match self.store.find(key) {
            Some(id) => self.change(id, revision, value, handler),
            None => self.insert(key, revision, value, handler),
        }
    }

    /// Takes out an object. One that is not held is ignored: the sender may not know what we have. So is a
    /// deletion that is older than what is held: a repetition, after which the object was made anew.
    pub fn delete(&mut self, key: &str, revision: Revision, handler: &mut impl Handler<T>) {
        self.flush(handler);
        self.note(revision);
        if let Some(id) = self.store.find(key)
            && !self.is_repetition(id, revision)
        {
            self.withdraw(id, handler);
        }
    }

    /// The sender has told everything up to `revision`: from there to resume.
    pub fn advance(&mut self, revision: Revision) {
        if !self.in_snapshot {
            self.revision = self.revision.max(revision);
        }
    }

    /// There was an event. What a snapshot shows is none.
    fn note(&mut self, revision: Revision) {
        if !self.in_snapshot {
            self.newest = self.newest.max(revision);
        }
    }

    /// Takes in a bookmark: nothing else happened up to `revision`, and the sender's view has this digest.
    /// `age` is how old the sender's own knowledge is.
    ///
    /// A sender that is behind the one before it cannot be compared with: what that one has told of later is in view.
    pub fn bookmark(
        &mut self,
        revision: Revision,
        digest: Option<Digest>,
        age: Duration,
        now: Instant,
    ) -> Check {
        self.advance(revision);
        self.contact = Place::Taken(Contact { at: now, age });
        self.compare(digest.filter(|_| revision >= self.newest))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&T> {
        let held = &self.store.get(key)?.value;
        held.is_present().then_some(&held.value)
    }

    /// All keys and values, in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.store
            .iter()
            .filter(|entry| entry.value.is_present())
            .map(|entry| (entry.key.borrow(), &entry.value.value))
    }

    /// All keys and values with their revisions, in key order: for those who save the view.
    pub fn entries(&self) -> impl Iterator<Item = (&str, Revision, &T)> {
        self.store
            .iter()
            .filter(|entry| entry.value.is_present())
            .map(|entry| (entry.key.borrow(), entry.revision, &entry.value.value))
    }

    /// How many objects are in view.
    pub fn len(&self) -> usize {
        self.store.len() - self.tombstones
    }

    /// Whether another object could be taken in.
    pub fn has_room(&self) -> bool {
        self.store.len() < self.store.capacity()
    }

    /// Whether no object is in view.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the view has been complete once. It stays true when contact is lost later;
    /// [`Informer::staleness`] tells of that.
    pub fn has_synced(&self) -> bool {
        self.synced
    }

    /// Where to resume after a lost connection; `None` if a snapshot is needed.
    ///
    /// After an event this is the revision before it, since others of the same transaction may be to come; what a
    /// resumed watch repeats for that reason is recognised and not told again. A bookmark ends the doubt, unless it is of a sender that has not come so far.
    pub fn revision(&self) -> Option<Revision> {
        (self.synced && !self.in_snapshot && !self.differs).then_some(self.revision)
    }

    /// The digest of the view, to be compared at the other end.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The digest of the view in parts: that of each [bucket] of keys. At most 255 buckets are used.
    pub fn digests(&self, buckets: &mut [Digest]) {
        buckets.fill(Digest::EMPTY);
        let count = u8::try_from(buckets.len()).unwrap_or(u8::MAX);
        let present = self.store.iter().filter(|entry| entry.value.is_present());
        for entry in present {
            let key = entry.key.borrow();
            if let Some(digest) = buckets.get_mut(bucket(key, count)) {
                digest.add(key, entry.revision);
            }
        }
    }

    /// Whether the view was found to differ from the sender's and no snapshot has come since.
    pub fn needs_repair(&self) -> bool {
        self.differs
    }

    /// How long ago the view is known to have been true; `None` if it never was.
    pub fn staleness(&self, now: Instant) -> Option<Duration> {
        let contact = self.contact.as_ref()?;
        Some(contact.age.saturating_add(now.since(contact.at)))
    }

    /// The index, to ask which places have a term.
    pub fn index(&self) -> &X {
        &self.index
    }

    fn change(
        &mut self,
        id: SlotId,
        revision: Revision,
        value: T,
        handler: &mut impl Handler<T>,
    ) -> Result<(), Refused<T>> {
        let Some(entry) = self.store.entry(id) else {
            return Err(Reason::Full.of(value));
        };
        let before = entry.value.is_present().then_some(&entry.value.value);
        let known_before = before.is_some().then_some(entry.revision);
        if known_before == Some(revision) || self.is_repetition(id, revision) {
            if let Some(held) = self.store.value_mut(id) {
                held.listed = true;
            }
            return Ok(());
        }
        if self.index.change(id, before, Some(&value)).is_err() {
            return Err(Reason::IndexFull.of(value));
        }
        if let Some(before) = known_before {
            self.digest.remove(entry.key.borrow(), before);
        }
        self.digest.add(entry.key.borrow(), revision);
        self.overwrite(id, revision, value, handler);
        Ok(())
    }

    fn insert(
        &mut self,
        key: &str,
        revision: Revision,
        value: T,
        handler: &mut impl Handler<T>,
    ) -> Result<(), Refused<T>> {
        let Ok(owned) = K::try_from(key) else {
            return Err(Reason::KeyTooLong.of(value));
        };
        if self.store.len() >= self.store.capacity() && self.in_snapshot {
            self.make_room(handler);
        }
        let ready = handler.is_ready();
        let held = Held {
            value,
            notice: if ready { Notice::None } else { Notice::Added },
            listed: true,
        };
        let id = match self.store.put(owned, revision, held) {
            Ok(put) => put.id,
            Err(full) => return Err(Reason::Full.of(full.0.value.value)),
        };
        let value = self.store.entry(id).map(|entry| &entry.value.value);
        if self.index.change(id, None, value).is_err() {
            return match self.store.remove_id(id) {
                Some(entry) => Err(Reason::IndexFull.of(entry.value.value)),
                None => Ok(()),
            };
        }
        self.digest.add(key, revision);
        if !ready {
            self.waiting += 1;
        } else if let Some(value) = value {
            handler.on_add(key, value);
        }
        Ok(())
    }

    /// Whether something later is held in this place. A snapshot is never a repetition: it may come from
    /// an origin that counts anew.
    fn is_repetition(&self, id: SlotId, revision: Revision) -> bool {
        let held = self
            .store
            .entry(id)
            .filter(|entry| entry.value.is_present());
        !self.in_snapshot && held.is_some_and(|held| revision < held.revision)
    }

    fn compare(&mut self, digest: Option<Digest>) -> Check {
        // While a snapshot comes in the view is neither the old nor the new one.
        let Some(digest) = digest.filter(|_| !self.in_snapshot) else {
            return Check::NotCompared;
        };
        self.differs = digest != self.digest;
        if self.differs {
            Check::Differs
        } else {
            Check::Agrees
        }
    }
}
