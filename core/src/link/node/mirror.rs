//! A view that is an informer.

use core::borrow::Borrow;

use serde::de::DeserializeOwned;

use super::missing::{Cause, Missing};
use super::view::{Bookmark, Position, View};
use crate::digest::Digest;
use crate::informer::{Check, Handler, Held, Informer, NoIndex, Reason, TermIndex};
use crate::link::frame::{How, Origin};
use crate::projection;
use crate::revision::Revision;
use crate::slots::Slots;
use crate::store::Slot;
use crate::time::Instant;

/// An informer, and what it takes to go on after a cut: whose revisions it has, and how far a snapshot had come.
///
/// To be fed it needs a handler and a way to decode objects: [`Mirror::feed`].
#[derive(Debug)]
pub struct Mirror<K, T, S, X = NoIndex> {
    informer: Informer<K, T, S, X>,
    origin: Option<Origin>,
    mark: Option<(K, Revision)>,
    /// Objects that did not fit, here or on the link.
    missing: Missing,
    skipped: u32,
}

impl<K, T, const N: usize> Mirror<K, T, [Slot<K, Held<T>>; N]> {
    /// An empty mirror in an array of `N` places.
    pub const fn array() -> Self {
        Self::new(Informer::array())
    }
}

impl<K, T, S, X> Mirror<K, T, S, X> {
    /// A mirror over an empty informer.
    pub const fn new(informer: Informer<K, T, S, X>) -> Self {
        Self {
            informer,
            origin: None,
            mark: None,
            missing: Missing::new(),
            skipped: 0,
        }
    }

    /// The objects.
    pub const fn informer(&self) -> &Informer<K, T, S, X> {
        &self.informer
    }

    /// The objects, for [`Informer::flush`].
    pub const fn informer_mut(&mut self) -> &mut Informer<K, T, S, X> {
        &mut self.informer
    }

    /// Whether every object has found its place. If not, the view lacks some that are known to exist: too large for the link, or more than
    /// the informer has places for. Up to eight are accounted for, so that the rest is still compared.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// How many states of objects the sender has left out, by its own account.
    pub const fn skipped(&self) -> u32 {
        self.skipped
    }

    /// Something else is to be watched from the next session on. What is here of it is kept, and compared object by object.
    pub fn reselect(&mut self) {
        self.mark = None;
        self.missing.clear();
        self.informer.doubt();
    }

    /// The view, to be handed to a session. `decode` makes an object of what was sent; [`projected`] for a projection.
    pub const fn feed<'m, H: Handler<T>>(
        &'m mut self,
        decode: fn(&[u8]) -> Option<T>,
        handler: &'m mut H,
    ) -> Feed<'m, K, T, S, X, H> {
        Feed {
            mirror: self,
            decode,
            handler,
        }
    }
}

/// Decodes packed fields; those with an issue are `None`.
pub fn projected<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    projection::read(body).ok().map(|(fields, _)| fields)
}

/// A mirror with its handler, for as long as a session looks at it.
#[derive(Debug)]
pub struct Feed<'m, K, T, S, X, H> {
    mirror: &'m mut Mirror<K, T, S, X>,
    decode: fn(&[u8]) -> Option<T>,
    handler: &'m mut H,
}

impl<K, T, S, X, H> View for Feed<'_, K, T, S, X, H>
where
    K: Ord + Borrow<str> + for<'a> TryFrom<&'a str>,
    S: Slots<Slot<K, Held<T>>>,
    X: TermIndex<T>,
    H: Handler<T>,
{
    fn position(&self) -> Position<'_> {
        let Mirror {
            informer,
            origin,
            mark,
            ..
        } = &*self.mirror;
        let Some(origin) = *origin else {
            return Position::Nothing;
        };
        match (informer.revision(), mark) {
            (Some(revision), _) => Position::At {
                origin,
                revision,
                digest: self
                    .mirror
                    .missing
                    .share()
                    .map(|share| informer.digest().plus(share)),
            },
            (None, Some((key, revision))) if !informer.needs_repair() => Position::Within {
                origin,
                key: key.borrow(),
                revision: *revision,
            },
            (None, _) if informer.has_synced() => Position::Doubtful { origin },
            (None, _) => Position::Nothing,
        }
    }

    fn begin(&mut self, origin: Origin, how: How) {
        let mirror = &mut *self.mirror;
        if mirror
            .origin
            .replace(origin)
            .is_some_and(|before| before != origin)
        {
            mirror.informer.forget_revisions();
        }
        match how {
            How::Snapshot => {
                mirror.mark = None;
                mirror.missing.clear();
                mirror.informer.begin_snapshot();
            }
            How::Continued => {
                if let Some((key, _)) = &mirror.mark {
                    mirror.informer.continue_snapshot(key.borrow());
                    mirror.missing.continue_snapshot();
                }
            }
            How::Resumed => {}
            How::Difference { .. } => {
                mirror.mark = None;
                mirror.missing.begin_difference(how);
                mirror.informer.begin_difference(|key| !how.names(key));
            }
        }
    }

    fn put(&mut self, key: &str, revision: Revision, body: &[u8]) {
        let informer = &mut self.mirror.informer;
        let refused = match (self.decode)(body) {
            Some(object) => match informer.put(key, revision, object, self.handler) {
                Ok(()) => None,
                Err(refused) if refused.reason == Reason::Full => Some(Cause::Full),
                Err(_) => Some(Cause::Unfit),
            },
            None => Some(Cause::Unfit),
        };
        match refused {
            None => self.mirror.missing.remove(key),
            Some(cause) => self.miss(key, revision, cause),
        }
    }

    fn delete(&mut self, key: &str, revision: Revision) {
        self.mirror.informer.delete(key, revision, self.handler);
        self.mirror.missing.remove(key);
    }

    fn keep(&mut self, key: &str) {
        self.mirror.informer.keep(key);
        self.mirror.missing.keep(key);
    }

    fn too_large(&mut self, key: &str, revision: Revision, _: u32) {
        self.miss(key, revision, Cause::Unfit);
    }

    fn mark(&mut self, key: &str, revision: Revision) {
        self.mirror.mark = K::try_from(key).ok().map(|key| (key, revision));
        self.mirror.missing.mark();
    }

    fn settle(&mut self, revision: Revision) {
        if let Some((_, exact)) = &mut self.mirror.mark {
            *exact = (*exact).max(revision);
        }
        self.mirror.informer.advance(revision);
    }

    fn bookmark(&mut self, bookmark: Bookmark, now: Instant) -> Check {
        let mirror = &mut *self.mirror;
        mirror.skipped = mirror.skipped.saturating_add(bookmark.skipped);
        let informer = &mut mirror.informer;
        if bookmark.ends_snapshot {
            mirror.missing.end();
        } else if bookmark.digest.is_some() && informer.has_room() {
            mirror.missing.make_room();
        }
        let Bookmark { revision, age, .. } = bookmark;
        let share = mirror.missing.share();
        let digest = bookmark
            .digest
            .and_then(|digest| Some(digest.minus(share?)));
        if bookmark.ends_snapshot {
            mirror.mark = None;
            informer.end_snapshot(revision, digest, age, now, self.handler)
        } else {
            informer.bookmark(revision, digest, age, now)
        }
    }

    fn digests(&self, buckets: &mut [Digest]) {
        self.mirror.informer.digests(buckets);
        self.mirror.missing.add_to(buckets);
    }
}

impl<K, T, S, X, H> Feed<'_, K, T, S, X, H>
where
    K: Ord + Borrow<str> + for<'a> TryFrom<&'a str>,
    S: Slots<Slot<K, Held<T>>>,
    X: TermIndex<T>,
    H: Handler<T>,
{
    /// An object exists that the view cannot have. Better none than one that is no longer so.
    fn miss(&mut self, key: &str, revision: Revision, cause: Cause) {
        self.mirror.informer.delete(key, revision, self.handler);
        self.mirror.missing.insert(key, revision, cause);
        if let Some((mark, _)) = &self.mirror.mark
            && key <= mark.borrow()
        {
            self.mirror.missing.mark_one(key);
        }
    }
}
