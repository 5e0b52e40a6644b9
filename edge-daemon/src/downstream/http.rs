//! The Kubernetes API, read-only, for kubectl and programs beside the relay: online and offline alike.
//!
//! | path | |
//! |---|---|
//! | `/api…`, `/apis…`, `/version` | discovery |
//! | `/apis/GROUP/VERSION/[namespaces/NS/]PLURAL[/NAME]` | get, list, watch: whole objects, tables or metadata, as JSON |
//! | `/healthz`, `/livez`, `/readyz`, `/metrics`, `/nodes` | for whoever looks after it |
//!
//! ```text
//!   path ──► Target ─┐
//!   query ─► Options ┼─► the track that has it ──► get, list: objects at a revision ─┐
//!   Accept ─► Form ──┘                         └─► watch: objects, then a cursor ────┴─► Rendition ──► bytes
//! ```
//!
//! Revisions are those of the origin. Each answer says in the header `Ringwatch-Age` how many seconds ago the relay was in step with
//! it.

mod accept;
mod answer;
mod columns;
mod continuation;
mod discovery;
mod fields;
mod kinds;
mod list;
mod nodes;
mod options;
mod rendition;
mod stall;
mod state;
mod target;
mod watch;

use std::convert::Infallible;
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

use http::header::{ACCEPT, CACHE_CONTROL, HeaderMap, IF_NONE_MATCH};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ringwatch_core::link::serve;
use ringwatch_core::revision::Revision;
use ringwatch_core::selector::{FieldSelector, LabelSelector};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::link::Present;
use crate::config::Watch;
use crate::definition::Definition;
use crate::engine::{Heap, Object, Shape};
use crate::hub::{Hub, Track};
use crate::metrics::{self, add};
use accept::{Asked, Form, Style};
use answer::{Body, Refusal, json, text};
use kinds::{Kind, Kinds};
use options::{Begin, Include, Options};
use rendition::Rendition;
use stall::Stall;
use target::Target;

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(10);
/// How long a client may take none of what is written to it.
const STUCK: Duration = Duration::from_secs(20);
/// The most of a request's head that is read.
const BUFFER: usize = 16 * 1024;

/// How long a request waits for a revision that the relay does not have yet.
const FRESH: Duration = Duration::from_secs(3);

/// An object as the relay keeps it.
type Kept = Object<<Heap as Shape>::Bytes>;

/// What requests are answered from.
pub(super) struct Api {
    hub: Rc<Hub>,
    kinds: Kinds,
    present: Present,
}

/// Serves programs until it is time to stop. At most `connections` at once; more are closed.
pub async fn serve(
    hub: Rc<Hub>,
    listener: TcpListener,
    connections: usize,
    watches: Vec<Watch>,
    present: Present,
) {
    let api = Rc::new(Api {
        hub: hub.clone(),
        kinds: Kinds::new(watches),
        present,
    });
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = hub.stopped() => break,
            // Their results are nothing; taken so that they do not pile up.
            Some(_) = tasks.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((_, peer)) if tasks.len() >= connections => {
                hub.metrics.closed("http", "limit");
                tracing::warn!(%peer, "too many connections; refusing more");
            }
            Ok((stream, peer)) => {
                let _ = stream.set_nodelay(true);
                let api = api.clone();
                tasks.spawn_local(async move {
                    let service = service_fn(|request| {
                        let api = api.clone();
                        async move { Ok::<_, Infallible>(api.answer(&request).await) }
                    });
                    let connection = http1::Builder::new()
                        .timer(TokioTimer::new())
                        .header_read_timeout(HEAD)
                        .max_buf_size(BUFFER)
                        .serve_connection(TokioIo::new(Stall::new(stream, STUCK)), service);
                    if let Err(error) = connection.await {
                        tracing::debug!(%peer, %error, "a connection was closed");
                        api.hub.metrics.closed("http", reason(&error));
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Why a connection is over, in a word.
fn reason(error: &hyper::Error) -> &'static str {
    let stuck = |error: &std::io::Error| error.kind() == std::io::ErrorKind::TimedOut;
    let source = std::error::Error::source(error);
    if error.is_parse() || error.is_parse_too_large() {
        "malformed"
    } else if error.is_timeout() {
        "slow"
    } else if source
        .and_then(|source| source.downcast_ref())
        .is_some_and(stuck)
    {
        "stuck"
    } else {
        "cut"
    }
}

/// Which objects are shown, and how.
struct View {
    track: usize,
    kind: Kind,
    form: Form,
    include: Include,
}

impl View {
    fn rendition<'v>(
        &'v self,
        api: &'v Api,
        definitions: &'v [Option<Definition>],
    ) -> Rendition<'v> {
        Rendition {
            kind: &self.kind,
            form: self.form,
            include: self.include,
            printer: api.kinds.printer(self.track, definitions),
            now: api.hub.clock.now(),
        }
    }
}

impl Api {
    async fn answer(self: &Rc<Self>, request: &Request<Incoming>) -> Response<Body> {
        add(&self.hub.metrics.requests, 1);
        self.kinds.learn(&self.hub);
        let found = match self.document(request) {
            Ok(Some(document)) => Ok(document),
            Ok(None) => self.objects(request).await,
            Err(refusal) => Err(refusal),
        };
        let mut response = found.unwrap_or_else(|refusal| refusal.response());
        let cached = response.headers_mut().entry(CACHE_CONTROL);
        cached.or_insert(HeaderValue::from_static("no-cache, private"));
        response
    }

    /// The answer to a request that is not about objects.
    fn document(&self, request: &Request<Incoming>) -> Result<Option<Response<Body>>, Refusal> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Err(Refusal::read_only());
        }
        let path = request.uri().path();
        match path {
            "/healthz" | "/livez" => return Ok(Some(text("ok"))),
            "/readyz" => return Ok(Some(self.ready(request.uri().query()))),
            "/metrics" => return Ok(Some(text(&metrics::render(&self.hub)))),
            "/nodes" => return Ok(Some(text(&nodes::table(&self.hub, &self.present)))),
            "/version" | "/version/" => {
                return Ok(Some(json(&version())));
            }
            _ => {}
        }
        if !discovery::is_one(path) {
            return Ok(None);
        }
        let headers = request.headers();
        let style = accept::style(accepted(headers))?;
        let kinds = {
            let definitions = self.hub.definitions.borrow();
            self.kinds.all(&self.hub.relay.borrow(), &definitions)
        };
        let document = discovery::document(path, style, &kinds);
        let document = document.ok_or_else(Refusal::no_such_resource)?;
        let tagged = style == Style::Aggregated && discovery::has_styles(path);
        Ok(Some(match tagged {
            true => discovery::tagged(&document, headers.get(IF_NONE_MATCH)),
            false => json(&document),
        }))
    }

    /// The answer to a request for objects.
    async fn objects(
        self: &Rc<Self>,
        request: &Request<Incoming>,
    ) -> Result<Response<Body>, Refusal> {
        let target = Target::parse(request.uri().path())?;
        let options = Options::decode(request.uri().query().unwrap_or_default())?;
        let key = target.key();
        let watches = target.watch_path || (key.is_none() && options.watch);
        let asked = match (watches, &key) {
            (true, _) => Asked::Watch,
            (false, None) => Asked::List,
            (false, Some(_)) => Asked::Object,
        };
        let form = accept::form(accepted(request.headers()), asked)?;
        let wrong = |text: &str, error: ringwatch_core::selector::SelectorError| {
            Refusal::bad_request(error.describe(text).to_string())
        };
        let wanted = serve::Request {
            resource: &target.resource,
            scope: target.scope(key.as_deref()),
            labels: LabelSelector::parse(&*options.labels)
                .map_err(|error| wrong(&options.labels, error))?,
            fields: FieldSelector::parse(&*options.fields)
                .map_err(|error| wrong(&options.fields, error))?,
            projection: None,
        };
        let (track, kind) = self.find(&target, &wanted)?;
        let view = View {
            track,
            kind,
            form,
            include: options.include,
        };
        let mut response = if watches {
            let plan = options.watch()?;
            if let Begin::State(least) = plan.begin {
                self.reach(track, &target, least).await?;
            }
            watch::begin(self, &wanted, &plan, view)?
        } else if let Some(key) = &key {
            self.reach(track, &target, options.get()?).await?;
            let definitions = self.hub.definitions.borrow();
            self.with_track(track, |track| {
                list::get(track, &target, key, &view.rendition(self, &definitions))
            })?
        } else {
            let plan = options.list()?;
            self.reach(track, &target, list::least(plan.start)).await?;
            list::list(self, &target, &wanted, &plan, view)?
        };
        let age = self.with_track(track, |track| Ok(track.age(self.hub.clock.now())))?;
        let age = HeaderValue::from(age.as_secs());
        response.headers_mut().insert("ringwatch-age", age);
        Ok(response)
    }

    /// The track that has all that is asked for, and its kind.
    fn find(
        &self,
        target: &Target,
        request: &serve::Request<'_>,
    ) -> Result<(usize, Kind), Refusal> {
        let relay = self.hub.relay.borrow();
        let mut tracks = relay.tracks().iter().enumerate();
        let about = |track: &Track| *track.subject().resource == *target.resource;
        if !tracks.clone().any(|(_, track)| about(track)) {
            return Err(Refusal::no_such_resource());
        }
        let found = tracks.find(|(_, track)| track.subject().covers(request));
        let (index, _) = found.ok_or_else(|| Refusal::in_part_only(&target.resource))?;
        let definitions = self.hub.definitions.borrow();
        let kind = self.kinds.get(index, &relay, &definitions);
        let kind = kind.filter(|kind| kind.version == target.version);
        let kind = kind.ok_or_else(Refusal::no_such_resource)?;
        let definition = definitions.get(index).and_then(Option::as_ref);
        let selectable = definition.and_then(|definition| definition.selectable.as_deref());
        fields::check(&request.fields, &kind, selectable)?;
        Ok((index, kind))
    }

    fn with_track<T>(
        &self,
        track: usize,
        look: impl FnOnce(&Track) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let relay = self.hub.relay.borrow();
        let track = relay.tracks().get(track);
        look(track.ok_or_else(Refusal::no_such_resource)?)
    }

    /// Waits until a track can be read at a revision or a later one, but not for long: what has been written upstream is mostly under way.
    async fn reach(&self, track: usize, target: &Target, least: Revision) -> Result<(), Refusal> {
        let until = tokio::time::Instant::now() + FRESH;
        loop {
            let changed = self.hub.changed.notified();
            let newest = self.with_track(track, |track| match track.is_readable() {
                true => Ok(track.revision()),
                false => Err(Refusal::not_here_yet(&target.resource)),
            })?;
            if least <= newest {
                return Ok(());
            }
            if tokio::time::timeout_at(until, changed).await.is_err() {
                return Err(Refusal::too_large_version(least, newest));
            }
        }
    }

    /// Whether every watch has something to serve; with `?verbose`, which.
    fn ready(&self, query: Option<&str>) -> Response<Body> {
        let relay = self.hub.relay.borrow();
        let mut lines = String::new();
        let mut ready = true;
        for track in relay.tracks() {
            let complete = track.is_complete();
            ready &= complete;
            let resource = &track.subject().resource;
            // Writing to a string does not fail.
            let _ = match complete {
                true => writeln!(lines, "[+]{resource} ok"),
                false => writeln!(lines, "[-]{resource} failed: has not come yet"),
            };
        }
        let verbose = query.is_some_and(|query| query.starts_with("verbose"));
        match (ready, verbose) {
            (true, false) => text("ok"),
            (true, true) => text(&format!("{lines}readyz check passed\n")),
            (false, _) => {
                let mut response = text(&format!("{lines}readyz check failed\n"));
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response
            }
        }
    }
}

/// The Kubernetes API that is served, for clients that look at the distance between it and themselves: that of the server.
fn version() -> serde_json::Value {
    serde_json::json!({
        "major": "1", "minor": "37", "gitVersion": concat!("v1.37.0+ringwatch-edge.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": "linux",
    })
}

/// What a client says that it accepts.
fn accepted(headers: &HeaderMap) -> &str {
    let accept = headers.get(ACCEPT);
    accept
        .and_then(|accept| accept.to_str().ok())
        .unwrap_or_default()
}
