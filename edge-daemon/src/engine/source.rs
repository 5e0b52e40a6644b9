//! The relay as the node link reads it: what is asked for, within what is granted, of what is complete.

use core::cell::Cell;
use core::time::Duration;

use ringwatch_core::digest::Digest;
use ringwatch_core::link::frame::{Code, Origin, Restart};
use ringwatch_core::link::serve::{
    Access, Admission, Asked, Begin, LocalReader, OpenError, Request, Source, Step,
};
use ringwatch_core::predicate::Matches;
use ringwatch_core::projection::ProjectError;
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::{Place, Slots};
use ringwatch_core::time::Instant;

use super::nodes::KnownNode;
use super::object::Object;
use super::policy::Policy;
use super::relay::Relay;
use super::shape::Shape;
use super::track::Track;

/// What a node asks for and what it may have: it gets what is both.
pub struct Filter<S: Shape, P: Policy> {
    asked: S::Asked,
    grant: P::Grant,
}

impl<S: Shape, P: Policy> Matches<Object<S::Bytes>> for Filter<S, P> {
    fn matches(&self, object: &Object<S::Bytes>) -> bool {
        self.asked.selects(object) && P::permits(&self.grant, object)
    }
}

/// A node's place in a track.
pub struct Watch<S: Shape, P: Policy> {
    track: usize,
    /// Of which origin of the track.
    epoch: u32,
    reader: LocalReader<S::Key, Filter<S, P>>,
    /// The last digest of the selection, and of when it is: asked for at every bookmark, and often nothing has happened in between.
    digest: Cell<Option<(Revision, Digest)>>,
}

impl<S: Shape, P: Policy> Watch<S, P> {
    /// Up to which revision the node was given everything; `None` if that is not so for any.
    pub fn position<T, N>(&self, relay: &Relay<S, P, T, N>) -> Option<Revision>
    where
        T: Slots<Track<S>>,
        N: Slots<Place<KnownNode>>,
    {
        let track = relay.tracks().get(self.track)?;
        self.reader.position(track.history())
    }

    /// Which of the relay's tracks it reads.
    pub const fn track(&self) -> usize {
        self.track
    }
}

impl<S, P, T, N> Relay<S, P, T, N>
where
    S: Shape,
    P: Policy,
    T: Slots<Track<S>>,
    N: Slots<Place<KnownNode>>,
{
    /// Begins to read what is asked for, within a grant.
    pub fn watch(
        &self,
        request: &Request<'_>,
        grant: P::Grant,
        begin: Begin<'_>,
    ) -> Result<Watch<S, P>, OpenError> {
        let failed = |code| OpenError::Failed(code);
        let (index, track) = self.covering(request).ok_or(failed(Code::Forbidden))?;
        if !track.can_answer(request) {
            return Err(failed(Code::Unsupported));
        }
        let origin = track.origin().filter(|_| !track.is_lost());
        let origin = origin.ok_or(failed(Code::Unavailable))?;
        let asked = S::Asked::new(request).ok_or(failed(Code::Unsupported))?;
        let filter = Filter { asked, grant };
        Ok(Watch {
            track: index,
            epoch: track.epoch(),
            reader: track.local(origin).open(filter, begin)?,
            digest: Cell::new(None),
        })
    }

    /// The track of a watch, if it is still what it was.
    fn track(&self, watch: &Watch<S, P>) -> Option<(&Track<S>, Origin)> {
        let track = self.tracks().get(watch.track)?;
        let same = track.epoch() == watch.epoch;
        Some((track, track.origin().filter(|_| same)?))
    }
}

impl<S, P, T, N> Access for Relay<S, P, T, N>
where
    S: Shape,
    P: Policy,
    T: Slots<Track<S>>,
    N: Slots<Place<KnownNode>>,
{
    type Name = P::Name;

    fn name(&self, node: &str) -> Option<P::Name> {
        self.policy().name(node)
    }

    fn admit(&self, node: &str, sealed: bool) -> Admission {
        self.policy().admit(node, sealed)
    }

    fn restarted(&self, node: &str, restart: &Restart<'_>) -> bool {
        self.note_restart(node, restart)
    }
}

impl<S, P, T, N> Source for Relay<S, P, T, N>
where
    S: Shape,
    P: Policy,
    T: Slots<Track<S>>,
    N: Slots<Place<KnownNode>>,
{
    type Object<'a>
        = &'a Object<S::Bytes>
    where
        Self: 'a;
    type Held = Object<S::Bytes>;
    type Watch = Watch<S, P>;

    fn origin(&self, node: &str, resource: &str) -> Result<Origin, Code> {
        if !self.policy().concerns(node, resource) {
            return Err(Code::Forbidden);
        }
        let about = |track: &&Track<S>| track.subject().resource.as_ref() == resource;
        let mut tracks = self.tracks().iter().filter(about).peekable();
        tracks.peek().ok_or(Code::UnknownResource)?;
        tracks.find_map(Track::origin).ok_or(Code::Unavailable)
    }

    fn open(
        &self,
        node: &str,
        request: &Request<'_>,
        begin: Begin<'_>,
        _: Instant,
    ) -> Result<Watch<S, P>, OpenError> {
        let grant = self.policy().grant(node, request);
        let grant = grant.map_err(|refusal| OpenError::Failed(refusal.into()))?;
        let watch = self.watch(request, grant, begin)?;
        self.note_begun(&begin);
        Ok(watch)
    }

    fn poll(&self, watch: &mut Watch<S, P>, now: Instant) -> Step<&Object<S::Bytes>> {
        let Some((track, origin)) = self.track(watch) else {
            return Step::Expired;
        };
        if !self.policy().is_current(&watch.reader.predicate().grant) {
            // It goes on from where it is, and is sent what differs under the new one.
            return Step::Expired;
        }
        if track.is_lost() && watch.reader.is_initial() {
            return Step::Idle;
        }
        track.local(origin).poll(&mut watch.reader, now)
    }

    fn walk(&self, watch: &mut Watch<S, P>) -> Option<&Object<S::Bytes>> {
        let (track, origin) = self.track(watch)?;
        track.local(origin).walk(&mut watch.reader)
    }

    fn catch_up(&self, watch: &mut Watch<S, P>) -> Revision {
        match self.track(watch) {
            Some((track, origin)) => track.local(origin).catch_up(&mut watch.reader),
            None => Revision::ZERO,
        }
    }

    fn newest(&self, watch: &Watch<S, P>) -> Revision {
        let track = self.track(watch);
        track.map_or(Revision::ZERO, |(track, _)| track.revision())
    }

    fn digests(&self, watch: &Watch<S, P>, buckets: &mut [Digest]) -> Revision {
        let Some((track, origin)) = self.track(watch).filter(|(track, _)| !track.is_lost()) else {
            buckets.fill(Digest::EMPTY);
            return Revision::ZERO;
        };
        if let [whole] = buckets {
            let revision = track.revision();
            if let Some((at, digest)) = watch.digest.get()
                && at == revision
            {
                *whole = digest;
                return revision;
            }
            track.local(origin).digests(&watch.reader, buckets);
            let [whole] = buckets else { return revision };
            watch.digest.set(Some((revision, *whole)));
            return revision;
        }
        track.local(origin).digests(&watch.reader, buckets)
    }

    fn digest_at(&self, watch: &Watch<S, P>, revision: Revision) -> Option<Digest> {
        let (track, origin) = self.track(watch).filter(|(track, _)| !track.is_lost())?;
        track.local(origin).digest_at(&watch.reader, revision)
    }

    fn project(
        &self,
        watch: &Watch<S, P>,
        json: &[u8],
        out: &mut [u8],
    ) -> Option<Result<usize, ProjectError>> {
        watch.reader.predicate().asked.project(json, out)
    }

    fn is_superseded(&self, watch: &Watch<S, P>, object: &&Object<S::Bytes>) -> bool {
        let track = self.track(watch).filter(|(track, _)| !track.is_lost());
        track.is_some_and(|(track, origin)| track.local(origin).is_superseded(object))
    }

    fn age(&self, watch: &Watch<S, P>, now: Instant) -> Duration {
        let track = self.tracks().get(watch.track);
        track.map_or(Duration::MAX, |track| track.age(now))
    }

    fn hold(&self, object: &Object<S::Bytes>) -> Object<S::Bytes> {
        object.clone()
    }
}
