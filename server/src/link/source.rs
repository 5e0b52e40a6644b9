//! The caches as the node link reads them.

use std::cell::Cell;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ringwatch_core::digest::{Digest, bucket};
use ringwatch_core::json::Limits;
use ringwatch_core::link::frame::{Code, Origin, Restart};
use ringwatch_core::link::serve::{
    Access, Admission, Begin, Change, Content, MAX_FIELDS, Name, OpenError, Request, Source, Step,
};
use ringwatch_core::predicate::Scope;
use ringwatch_core::projection::{Field, ProjectError, Projection};
use ringwatch_core::revision::{Revision, StartFrom};
use ringwatch_core::selector::{FieldSelector, LabelSelector, Requirement};
use ringwatch_core::time::Instant;

use super::keys::Keys;
use crate::api::Api;
use crate::cache::{
    Cache, CacheError, Object, ObjectMap, Predicate, Watch, WatchEnd, WatchEvent, WatchRequest,
    WatchStart,
};
use crate::reader::Reader;

/// The namespace that every cluster has for as long as it lives.
const IDENTITY: &str = "kube-system";

/// What one connection reads from, while it is polled.
pub(super) struct CacheSource<'a> {
    pub(super) api: &'a Api,
    pub(super) keys: &'a Keys,
    /// Whom to wake when a watch has something again.
    pub(super) waker: &'a Waker,
}

type Fields = Projection<Box<str>, heapless::Vec<Field, MAX_FIELDS>>;

/// A subscription's place in a cache.
pub(super) struct LinkWatch {
    cache: Cache,
    watch: Watch,
    predicate: Predicate,
    /// Which fields are wanted of each object; all if there is no list.
    fields: Option<Fields>,
    /// The objects that are walked through, and the last one that was given.
    walked: Option<(ObjectMap, Option<Box<str>>)>,
    /// The last digest of the selection, and of when it is.
    digest: Cell<Option<(Revision, Digest)>>,
}

impl Content for Object {
    fn json(&self) -> &[u8] {
        self.bytes()
    }
}

impl CacheSource<'_> {
    /// The cache of a resource, by its name in the API's paths: `pods`, `devices.ringwatch.dev`.
    fn cache(&self, name: &str) -> Result<Cache, Code> {
        let surface = self.api.surface();
        let resources = surface.catalog.resources();
        let resource = resources
            .iter()
            .find(|resource| resource.qualified_plural() == name)
            .ok_or(Code::UnknownResource)?;
        match surface.reader(resource) {
            Some(Reader::Cached(cache)) => Ok(cache.clone()),
            // Without a cache there are no cursors.
            Some(Reader::Direct(_)) => Err(Code::Unsupported),
            None => Err(Code::UnknownResource),
        }
    }

    /// Who counts the revisions: the cluster, whose identity is that of its namespace `kube-system`. A relay of any Kubernetes
    /// API can find out the same.
    fn identity(&self) -> Option<Origin> {
        let surface = self.api.surface();
        let namespaces = surface.catalog.find("", "v1", "namespaces")?;
        let Reader::Cached(cache) = surface.reader(namespaces)? else {
            return None;
        };
        let (objects, _) = cache.snapshot();
        let namespace: serde_json::Value =
            serde_json::from_slice(objects.get(IDENTITY)?.bytes()).ok()?;
        let uid = namespace.pointer("/metadata/uid")?.as_str()?;
        Some(Origin::of_cluster(uid))
    }
}

impl LinkWatch {
    fn selected<'o>(&'o self, objects: &'o ObjectMap) -> impl Iterator<Item = &'o Object> {
        self.cache.matching(objects, &self.predicate, None)
    }

    fn digest_of(&self, objects: &ObjectMap) -> Digest {
        let mut digest = Digest::EMPTY;
        for object in self.selected(objects) {
            digest.add(object.key(), object.revision());
        }
        digest
    }
}

impl Access for CacheSource<'_> {
    type Name = Name;

    fn name(&self, node: &str) -> Option<Name> {
        node.try_into().ok()
    }

    fn admit(&self, node: &str, sealed: bool) -> Admission {
        self.keys.admit(node, sealed)
    }

    fn restarted(&self, node: &str, restart: &Restart<'_>) -> bool {
        self.api.restarts().note(node, restart)
    }
}

impl Source for CacheSource<'_> {
    type Object<'a>
        = Object
    where
        Self: 'a;
    type Held = Object;
    type Watch = LinkWatch;

    fn origin(&self, node: &str, resource: &str) -> Result<Origin, Code> {
        // Who may have nothing of it does not learn whether it exists.
        if !self.keys.knows(node, resource) {
            return Err(Code::Forbidden);
        }
        self.cache(resource)?;
        self.identity().ok_or(Code::Unavailable)
    }

    fn open(
        &self,
        node: &str,
        request: &Request<'_>,
        begin: Begin<'_>,
        _: Instant,
    ) -> Result<LinkWatch, OpenError> {
        if !self.keys.permits(node, request.resource, &request.scope) {
            return Err(OpenError::Failed(Code::Forbidden));
        }
        let cache = self.cache(request.resource).map_err(OpenError::Failed)?;
        let predicate = own(request).ok_or(OpenError::Failed(Code::Unsupported))?;
        let fields = request.projection.as_ref().map(|projection| {
            let list = Fields::parse(projection.text().into());
            list.map_err(|_| OpenError::Failed(Code::BadProjection))
        });
        let fields = fields.transpose()?;
        let unknown = predicate.fields.requirements().any(|requirement| {
            let name = requirement.key();
            let known = ["metadata.name", "metadata.namespace"].contains(&name);
            !known
                && cache
                    .decoder()
                    .fields()
                    .iter()
                    .all(|field| **field != *name)
        });
        if unknown {
            return Err(OpenError::Failed(Code::BadSelector));
        }
        let asked = WatchRequest {
            predicate: predicate.clone(),
            start: match begin {
                Begin::State | Begin::Within { .. } => WatchStart::State(StartFrom::Any),
                Begin::After(revision) => WatchStart::After(revision),
                Begin::Now => WatchStart::Now,
            },
            // Its end of the initial objects is what the session asks for; the others it times itself.
            bookmarks: true,
            timeout: None,
        };
        let watch = match begin {
            // A revision that is not known here yet: the reader is ahead, and would wait in silence.
            Begin::After(revision) if revision > cache.revision() => {
                return Err(OpenError::Failed(Code::Unavailable));
            }
            Begin::Within { key, revision } => cache.watch_within(asked, key, revision),
            _ => cache.watch_at_once(asked),
        };
        let watch = watch.map_err(|error| match error {
            CacheError::Expired { .. } => OpenError::Expired,
            _ => OpenError::Failed(Code::Unavailable),
        })?;
        Ok(LinkWatch {
            cache,
            watch,
            predicate,
            fields,
            walked: None,
            digest: Cell::new(None),
        })
    }

    fn poll(&self, watch: &mut LinkWatch, _: Instant) -> Step<Object> {
        let mut context = Context::from_waker(self.waker);
        loop {
            return match watch.watch.poll_next(&mut context) {
                Poll::Pending => Step::Idle,
                Poll::Ready(Ok(WatchEvent::Object {
                    kind,
                    object,
                    revision,
                })) => {
                    let standing = watch.watch.standing(revision);
                    Step::Event(Change {
                        kind,
                        object,
                        revision,
                        settles: standing.settled && !standing.is_initial,
                        exact_at: standing.is_initial.then_some(standing.exact_at),
                    })
                }
                Poll::Ready(Ok(WatchEvent::Bookmark {
                    revision,
                    initial_events_end: true,
                })) => Step::Synced(revision),
                Poll::Ready(Ok(WatchEvent::Bookmark { .. })) => continue,
                Poll::Ready(Err(WatchEnd::Expired { .. })) => Step::Expired,
                Poll::Ready(Err(WatchEnd::ShuttingDown)) => Step::Ended(Code::ShuttingDown),
                Poll::Ready(Err(_)) => Step::Ended(Code::Unavailable),
            };
        }
    }

    fn walk(&self, watch: &mut LinkWatch) -> Option<Object> {
        let (objects, shown) = match watch.walked.take() {
            Some(walked) => walked,
            None => (watch.cache.snapshot().0, None),
        };
        let (predicate, after) = (&watch.predicate, shown.as_deref());
        let next = watch.cache.matching(&objects, predicate, after).next();
        let next = next?.clone();
        watch.walked = Some((objects, Some(next.key().into())));
        Some(next)
    }

    fn catch_up(&self, watch: &mut LinkWatch) -> Revision {
        let (objects, revision) = watch.watch.skip_to_now();
        watch.walked = Some((objects, None));
        revision
    }

    fn newest(&self, watch: &LinkWatch) -> Revision {
        watch.cache.revision()
    }

    fn digests(&self, watch: &LinkWatch, buckets: &mut [Digest]) -> Revision {
        let (objects, revision) = watch.cache.snapshot();
        if let [whole] = buckets {
            // Asked at every bookmark, and nothing may have happened since the last.
            let known = watch.digest.get().filter(|(at, _)| *at == revision);
            *whole = known.map_or_else(|| watch.digest_of(&objects), |(_, digest)| digest);
            watch.digest.set(Some((revision, *whole)));
            return revision;
        }
        buckets.fill(Digest::EMPTY);
        let count = u8::try_from(buckets.len()).unwrap_or(u8::MAX);
        for object in watch.selected(&objects) {
            let key = object.key();
            if let Some(digest) = buckets.get_mut(bucket(key, count)) {
                digest.add(key, object.revision());
            }
        }
        revision
    }

    fn digest_at(&self, watch: &LinkWatch, revision: Revision) -> Option<Digest> {
        let objects = watch.cache.snapshot_at(revision)?;
        Some(watch.digest_of(&objects))
    }

    fn project(
        &self,
        watch: &LinkWatch,
        json: &[u8],
        out: &mut [u8],
    ) -> Option<Result<usize, ProjectError>> {
        let fields = watch.fields.as_ref()?;
        let projected = fields.project(json, &Limits::default(), out);
        Some(projected.map(|projected| projected.bytes.len()))
    }

    fn is_superseded(&self, watch: &LinkWatch, object: &Object) -> bool {
        let (objects, _) = watch.cache.snapshot();
        let held = objects.get(object.key());
        held.is_none_or(|held| held.revision() != object.revision())
    }

    fn age(&self, watch: &LinkWatch, _: Instant) -> Duration {
        watch.cache.behind()
    }

    fn hold(&self, object: Object) -> Object {
        object
    }
}

/// Owned selectors that mean the same.
fn own(request: &Request<'_>) -> Option<Predicate> {
    type Table = heapless::Vec<Requirement, 64>;
    let text = |text: &str| -> Box<str> { text.into() };
    let labels = LabelSelector::<_, Table>::parse(text(request.labels.text())).ok()?;
    let fields = FieldSelector::<_, Table>::parse(text(request.fields.text())).ok()?;
    Some(Predicate {
        scope: match request.scope {
            Scope::Resource => Scope::Resource,
            Scope::Namespace(namespace) => Scope::Namespace(text(namespace)),
            Scope::Object(key) => Scope::Object(text(key)),
        },
        labels: labels.map_table(|rows| rows.iter().copied().collect()),
        fields: fields.map_table(|rows| rows.iter().copied().collect()),
    })
}
