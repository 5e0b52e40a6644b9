//! The Kubernetes API, read-only, for kubectl and programs beside the relay: online and offline alike.
//!
//! | path | |
//! |---|---|
//! | `/api…`, `/apis…`, `/version` | discovery |
//! | `/apis/GROUP/VERSION/[namespaces/NS/]PLURAL[/NAME]` | get, list, watch; as JSON or as a Table |
//! | `/healthz`, `/livez`, `/readyz`, `/metrics`, `/nodes` | for whoever looks after it |
//!
//! Revisions are those of the origin. Each answer says in the header `Ringwatch-Age` how many seconds ago the relay was in step with
//! it.

mod answer;
mod kinds;
mod list;
mod path;
mod stall;
mod table;
mod watch;

use std::convert::Infallible;
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ringwatch_core::link::frame::Restart;
use ringwatch_core::link::serve::Reported;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::link::Present;
use crate::config::Watch;
use crate::hub::Hub;
use crate::metrics::{self, add};
use answer::{Body, failure, json, text};
use kinds::Kinds;
use path::Target;
use stall::Stall;

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(10);
/// How long a client may take none of what is written to it.
const STUCK: Duration = Duration::from_secs(20);
/// The most of a request's head that is read.
const BUFFER: usize = 16 * 1024;

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
                        async move { Ok::<_, Infallible>(api.answer(&request)) }
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

impl Api {
    fn answer(self: &Rc<Self>, request: &Request<Incoming>) -> Response<Body> {
        add(&self.hub.metrics.requests, 1);
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let message = "the relay is read-only: write to the server that it follows";
            return failure(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message);
        }
        let path = request.uri().path();
        match path {
            "/healthz" | "/livez" => return text("ok"),
            "/readyz" => return self.ready(),
            "/metrics" => return text(&metrics::render(&self.hub)),
            "/nodes" => return text(&self.nodes()),
            "/version" | "/version/" => {
                return json(&serde_json::json!({
                    "major": "1", "minor": "30", "gitVersion": concat!("v1.30.0+ringwatch-edge.", env!("CARGO_PKG_VERSION")),
                    "platform": "linux",
                }));
            }
            _ => {}
        }
        if let Some(document) = self.kinds.document(path, &self.hub.relay.borrow()) {
            return json(&document);
        }
        let target = Target::parse(path, request.uri().query().unwrap_or_default());
        let accept = request.headers().get(http::header::ACCEPT);
        let accept = accept
            .and_then(|accept| accept.to_str().ok())
            .unwrap_or_default();
        let found = match target {
            Ok(target) => list::find(self, target, accept),
            Err(refusal) => Err(refusal),
        };
        found.unwrap_or_else(|refusal| refusal.response())
    }

    fn ready(&self) -> Response<Body> {
        let relay = self.hub.relay.borrow();
        match relay.tracks().iter().find(|track| !track.is_complete()) {
            None => text("ok"),
            Some(track) => {
                let mut response =
                    text(&format!("{} has not come yet\n", track.subject().resource));
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response
            }
        }
    }

    /// The nodes: how far each is, how far that is behind, how long ago it was heard, and why it last restarted by itself. Then those that another relay has told of.
    fn nodes(&self) -> String {
        let relay = self.hub.relay.borrow();
        let now = self.hub.clock.now();
        let newest = relay
            .tracks()
            .iter()
            .map(|track| track.revision())
            .max()
            .unwrap_or_default();
        let mut out = format!(
            "{:<32} {:<10} {:>12} {:>10} {:>12}  {}\n",
            "NODE", "CONNECTED", "REVISION", "BEHIND", "HEARD", "LAST RESTART"
        );
        let restarts = relay.restarts();
        let present = self.present.borrow();
        for name in relay.policy().names() {
            let here = present
                .iter()
                .map(|here| here.borrow())
                .find(|here| here.node == name);
            let known = relay.nodes().get(name);
            let revision = match &here {
                Some(here) => here.revision,
                None => known.map(|known| known.revision),
            };
            let heard = match (&here, known) {
                (Some(_), _) => "now".to_owned(),
                (None, Some(known)) => format!("{}s ago", now.since(known.seen).as_secs()),
                (None, None) => "never".to_owned(),
            };
            let connected = if here.is_some() { "yes" } else { "no" };
            let number =
                |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
            let behind =
                number(revision.map(|revision| newest.get().saturating_sub(revision.get())));
            let revision = number(revision.map(|revision| revision.get()));
            let restart = restarts.get(name).map_or("-".to_owned(), restarted);
            // Writing to a string does not fail.
            let _ = writeln!(
                out,
                "{name:<32} {connected:<10} {revision:>12} {behind:>10} {heard:>12}  {restart}"
            );
        }
        let behind = restarts
            .iter()
            .filter(|reported| reported.restart().node.contains('/'));
        for reported in behind {
            let (name, restart) = (reported.restart().node, restarted(reported));
            let _ = writeln!(
                out,
                "{name:<32} {:<10} {:>12} {:>10} {:>12}  {restart}",
                "-", "-", "-", "-"
            );
        }
        out
    }
}

/// A restart in a few words: `panic, boot 3: panicked at src/main.rs:40:9`.
fn restarted(reported: &Reported) -> String {
    let Restart {
        boot,
        cause,
        detail,
        ..
    } = reported.restart();
    match detail {
        "" => format!("{cause}, boot {boot}"),
        detail => format!("{cause}, boot {boot}: {detail}"),
    }
}
