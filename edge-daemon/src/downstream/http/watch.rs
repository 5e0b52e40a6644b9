//! A watch over HTTP: the same cursors as the nodes', written as lines of JSON.
//!
//! Initial objects are those of one moment, taken at the beginning: a client goes on from the revision of any event that is not `ADDED`, so none
//! may come before it has been shown everything. They cost a pointer each until they are written.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use ringwatch_core::link::frame::Code;
use ringwatch_core::link::serve::{self, OpenError, Request, Source as _, Step};
use ringwatch_core::object::Object as _;
use ringwatch_core::predicate::{Matches as _, Predicate};
use ringwatch_core::revision::Revision;
use ringwatch_core::transition::EventKind;
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::Instant;

use super::answer::{Body, Refusal, with};
use super::options::{Begin, WatchPlan};
use super::rendition::Rendition;
use super::state::objects_at;
use super::{Api, Kept, View};
use crate::engine::{self, Heap};
use crate::hub::Hub;
use crate::metrics::{add, take};
use crate::policy::{Grant, Rules};

type Watch = engine::Watch<Heap, Rules>;

/// How often a watch that wants to know is told how far it has come.
const BOOKMARKS: Duration = Duration::from_secs(10);
/// Lines that may wait for a client that does not read.
const WAITING: usize = 16;

/// Begins a watch.
pub(super) fn begin(
    api: &Rc<Api>,
    request: &Request<'_>,
    plan: &WatchPlan,
    view: View,
) -> Result<Response<Body>, Refusal> {
    let relay = api.hub.relay.borrow();
    let track = relay.tracks().get(view.track);
    let track = track.ok_or_else(Refusal::no_such_resource)?;
    let newest = track.revision();
    let (initial, after) = match plan.begin {
        Begin::State(_) => {
            let selects = Predicate {
                scope: request.scope,
                labels: request.labels.clone(),
                fields: request.fields.clone(),
            };
            // The newest state is always known.
            let objects = objects_at(track, newest, None).unwrap_or_default();
            let selected = objects
                .into_iter()
                .filter(|object| selects.matches(*object));
            (selected.cloned().collect(), newest)
        }
        Begin::Now => (Vec::new(), newest),
        Begin::After(revision) => (Vec::new(), revision),
    };
    let begin = serve::Begin::After(after);
    let start = match relay.watch(request, Grant::EVERYTHING, begin) {
        Ok(watch) => Ok(watch),
        // By then it is an answer: the client is told in the stream.
        Err(OpenError::Expired) => Err(Refusal::expired_watch(after, track.floor())),
        Err(OpenError::Failed(Code::Unsupported)) => {
            return Err(Refusal::bad_request(
                "a selector is longer than can be taken",
            ));
        }
        Err(OpenError::Failed(_)) => {
            return Err(Refusal::not_here_yet(&track.subject().resource));
        }
    };
    let (send, receive) = channel(WAITING);
    let stream = Stream {
        api: api.clone(),
        open: Open::new(api.hub.clone(), view.track),
        send,
        view,
        bookmarks: plan.bookmarks,
        told_columns: false,
    };
    let marks = plan.marks_initial_end.then_some(newest);
    let until = Instant::now() + plan.lasts;
    tokio::task::spawn_local(stream.run(start, initial, marks, until));
    Ok(with("application/json", Body::Stream(receive)))
}

/// Counts an open watch for as long as it lives.
struct Open {
    hub: Rc<Hub>,
    track: usize,
}

impl Open {
    fn new(hub: Rc<Hub>, track: usize) -> Self {
        if let Some(open) = hub.metrics.watches.get(track) {
            add(open, 1);
        }
        Self { hub, track }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(open) = self.hub.metrics.watches.get(self.track) {
            take(open, 1);
        }
    }
}

struct Stream {
    api: Rc<Api>,
    open: Open,
    send: Sender<Bytes>,
    view: View,
    bookmarks: bool,
    told_columns: bool,
}

/// What a look at the relay gave.
enum Next {
    Line(Bytes),
    Nothing,
    Idle,
    Expired(Revision),
}

/// Nobody reads any more.
struct Gone;

impl Stream {
    async fn run(
        mut self,
        start: Result<Watch, Refusal>,
        initial: Vec<Kept>,
        marks: Option<Revision>,
        until: Instant,
    ) {
        let mut watch = match start {
            Ok(watch) => watch,
            Err(refusal) => {
                // Who is gone need not be told.
                let _ = self.error(&refusal).await;
                return;
            }
        };
        // The last line of a watch, or none if nobody is there for it.
        let Ok(end) = self.follow(&mut watch, initial, marks, until).await else {
            return;
        };
        if let Some(refusal) = end {
            let _ = self.error(&refusal).await;
        } else if self.bookmarks
            && let Some(line) = self.bookmark(&watch)
        {
            let _ = self.line(line).await;
        }
    }

    /// Writes what there is and what happens, until the end: for a reason, or because its time is over.
    async fn follow(
        &mut self,
        watch: &mut Watch,
        initial: Vec<Kept>,
        marks: Option<Revision>,
        until: Instant,
    ) -> Result<Option<Refusal>, Gone> {
        for object in initial {
            let line = self.event(EventKind::Added, &object, object.revision());
            self.line(line).await?;
        }
        if let Some(revision) = marks {
            let line =
                self.render(|rendition, columns| rendition.bookmark(revision, true, columns));
            self.line(line).await?;
        }
        let hub = self.api.hub.clone();
        let mut bookmark_at = Instant::now() + BOOKMARKS;
        loop {
            let changed = hub.changed.notified();
            match self.next(watch) {
                Next::Line(line) => {
                    self.line(line).await?;
                    continue;
                }
                Next::Nothing => continue,
                Next::Expired(floor) => {
                    let at = {
                        let relay = hub.relay.borrow();
                        watch.position(&relay).unwrap_or(Revision::ZERO)
                    };
                    return Ok(Some(Refusal::expired_watch(at, floor)));
                }
                Next::Idle => {}
            }
            tokio::select! {
                () = changed => {}
                () = hub.stopped() => return Ok(None),
                () = self.send.closed() => return Err(Gone),
                () = tokio::time::sleep_until(until) => return Ok(None),
                () = tokio::time::sleep_until(bookmark_at), if self.bookmarks => {
                    bookmark_at = Instant::now() + BOOKMARKS;
                    if let Some(line) = self.bookmark(watch) {
                        self.line(line).await?;
                    }
                }
            }
        }
    }

    async fn line(&self, line: Bytes) -> Result<(), Gone> {
        self.send.send(line).await.map_err(|_| Gone)
    }

    async fn error(&self, refusal: &Refusal) -> Result<(), Gone> {
        let event = serde_json::json!({"type": "ERROR", "object": refusal.object()});
        self.line(format!("{event}\n").into()).await
    }

    fn next(&mut self, watch: &mut Watch) -> Next {
        let hub = self.api.hub.clone();
        let relay = hub.relay.borrow();
        match relay.poll(watch, hub.clock.now()) {
            Step::Event(change) => {
                Next::Line(self.event(change.kind, change.object, change.revision))
            }
            Step::Synced(_) => Next::Nothing,
            Step::Idle => Next::Idle,
            Step::Expired | Step::Ended(_) => {
                let track = relay.tracks().get(self.open.track);
                Next::Expired(track.map_or(Revision::ZERO, |track| track.floor()))
            }
        }
    }

    fn event(&mut self, kind: EventKind, object: &Kept, revision: Revision) -> Bytes {
        self.render(|rendition, columns| rendition.event(kind, object, revision, columns))
    }

    /// Says how far the watch has come, if that is as far as the relay: one that begins in the future has nothing to say.
    fn bookmark(&mut self, watch: &Watch) -> Option<Bytes> {
        let revision = {
            let relay = self.api.hub.relay.borrow();
            let revision = relay.tracks().get(self.open.track)?.revision();
            if watch.position(&relay) != Some(revision) {
                return None;
            }
            revision
        };
        Some(self.render(|rendition, columns| rendition.bookmark(revision, false, columns)))
    }

    /// A line, with the columns if it is the first one.
    fn render(&mut self, line: impl FnOnce(&Rendition<'_>, bool) -> Vec<u8>) -> Bytes {
        let columns = !std::mem::replace(&mut self.told_columns, true);
        let definitions = self.api.hub.definitions.borrow();
        let rendition = self.view.rendition(&self.api, &definitions);
        line(&rendition, columns).into()
    }
}
