//! A watch over HTTP: the same cursors as the nodes', written as lines of JSON.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use ringwatch_core::json::Limits;
use ringwatch_core::json::line::{Bookmark, EventLine, RevisionSpot};
use ringwatch_core::link::serve::{Begin, Change, Content, OpenError, Request, Source, Step};
use ringwatch_core::object::Object as _;
use ringwatch_core::transition::EventKind;
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::Instant;

use super::answer::{Body, Refusal, with};
use super::kinds::Kind;
use super::list::{Form, Kept};
use super::path::Target;
use super::{Api, table};
use crate::engine::{self, Heap};
use crate::hub::Relay;
use crate::policy::{Grant, Rules};

type Watch = engine::Watch<Heap, Rules>;

/// How often a watch that wants to know is told how far it has come.
const BOOKMARKS: Duration = Duration::from_secs(10);
/// How long a watch lasts that does not say.
const LASTS: u64 = 1800;
/// Lines that may wait for a client that does not read.
const WAITING: usize = 16;

/// Begins a watch.
pub(super) fn begin(
    api: &Rc<Api>,
    relay: &Relay,
    track: usize,
    target: &Target,
    request: &Request<'_>,
    kind: Kind,
    form: Form,
) -> Result<Response<Body>, Refusal> {
    let now = api.hub.clock.now();
    let after = target.after()?;
    let begin = match after {
        None => Begin::State,
        Some(revision) => Begin::After(revision),
    };
    let (send, receive) = channel(WAITING);
    let watch = match relay.watch(request, Grant::EVERYTHING, begin, now) {
        Ok(watch) => Some(watch),
        Err(OpenError::Expired) => None,
        Err(OpenError::Failed(code)) => {
            let message = format!("cannot watch: {code:?}");
            return Err(Refusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "ServiceUnavailable",
                message,
            ));
        }
    };
    let stream = Stream {
        api: api.clone(),
        send,
        kind,
        form,
        track,
        include: target.include.clone(),
        bookmarks: target.bookmarks,
        marks_initial: target.initial == Some(true),
        told_columns: false,
    };
    let lasts = Duration::from_secs(
        target
            .timeout
            .filter(|seconds| *seconds > 0)
            .unwrap_or(LASTS),
    );
    tokio::task::spawn_local(stream.run(watch, Instant::now() + lasts));
    Ok(with("application/json", Body::Stream(receive)))
}

struct Stream {
    api: Rc<Api>,
    send: Sender<Bytes>,
    kind: Kind,
    form: Form,
    track: usize,
    include: Option<String>,
    bookmarks: bool,
    marks_initial: bool,
    told_columns: bool,
}

/// What a look at the relay gave.
enum Next {
    Line(Bytes),
    Nothing,
    Idle,
    Over,
}

impl Stream {
    async fn run(mut self, watch: Option<Watch>, until: Instant) {
        let Some(mut watch) = watch else {
            // Who is gone need not be told.
            let _ = self.send.send(expired()).await;
            return;
        };
        let hub = self.api.hub.clone();
        let mut bookmark_at = Instant::now() + BOOKMARKS;
        loop {
            let changed = hub.changed.notified();
            match self.next(&mut watch) {
                Next::Line(line) => {
                    if self.send.send(line).await.is_err() {
                        return;
                    }
                    continue;
                }
                Next::Nothing => continue,
                Next::Over => {
                    let _ = self.send.send(expired()).await;
                    return;
                }
                Next::Idle => {}
            }
            tokio::select! {
                () = changed => {}
                () = hub.stopped() => return,
                () = self.send.closed() => return,
                () = tokio::time::sleep_until(until) => return,
                () = tokio::time::sleep_until(bookmark_at), if self.bookmarks => {
                    bookmark_at = Instant::now() + BOOKMARKS;
                    let line = self.bookmark(&watch, false);
                    if let Some(line) = line && self.send.send(line).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn next(&mut self, watch: &mut Watch) -> Next {
        let hub = self.api.hub.clone();
        let relay = hub.relay.borrow();
        match relay.poll(watch, hub.clock.now()) {
            Step::Event(change) => Next::Line(self.line(&change)),
            Step::Synced(_) if self.marks_initial => {
                drop(relay);
                self.bookmark(watch, true).map_or(Next::Nothing, Next::Line)
            }
            Step::Synced(_) => Next::Nothing,
            Step::Idle => Next::Idle,
            Step::Expired | Step::Ended(_) => Next::Over,
        }
    }

    fn line(&mut self, change: &Change<&Kept>) -> Bytes {
        let object = change.object;
        if self.form == Form::Table {
            let kind = match change.kind {
                EventKind::Added => "ADDED",
                EventKind::Modified => "MODIFIED",
                EventKind::Deleted => "DELETED",
            };
            let columns = !std::mem::replace(&mut self.told_columns, true);
            let table = table::of(
                std::slice::from_ref(object),
                change.revision,
                columns,
                self.include.as_deref(),
            );
            let mut line = format!(r#"{{"type":"{kind}","object":"#).into_bytes();
            line.extend_from_slice(&table);
            line.extend_from_slice(b"}\n");
            return line.into();
        }
        let json = object.json();
        let line = match RevisionSpot::find(json, &Limits::default()) {
            // A deletion is shown as of when it happened.
            Ok(spot) if change.revision != object.revision() => {
                EventLine::with_revision(change.kind, json, spot, change.revision)
            }
            _ => EventLine::new(change.kind, json),
        };
        let mut out = Vec::with_capacity(line.len());
        line.pieces().for_each(|piece| out.extend_from_slice(piece));
        out.into()
    }

    /// Says how far the watch has come, if that is as far as the relay: one that begins in the future has nothing to say.
    fn bookmark(&self, watch: &Watch, initial_events_end: bool) -> Option<Bytes> {
        let relay = self.api.hub.relay.borrow();
        let revision = relay.tracks().get(self.track)?.revision();
        if watch.position(&relay) != Some(revision) {
            return None;
        }
        let bookmark = Bookmark {
            kind: &self.kind.kind,
            api_version: &self.kind.api_version(),
            revision,
            initial_events_end,
        };
        let mut buffer = [0; 512];
        let len = bookmark.write_to(&mut buffer).ok()?;
        Some(Bytes::copy_from_slice(buffer.get(..len)?))
    }
}

/// The line that ends a watch which has missed something.
fn expired() -> Bytes {
    Bytes::from_static(
        b"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version\",\"reason\":\"Expired\",\"code\":410}}\n",
    )
}
