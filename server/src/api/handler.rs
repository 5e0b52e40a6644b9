//! From a request on a connection to the part of the API that answers it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::query::Query;
use super::surface::Surface;
use super::watch::Offer;
use super::{Api, documents, metrics, options, read, rendition, timeout, write};
use crate::auth::{Access, Caller};
use crate::body::Body;
use crate::compress;
use crate::definitions;
use crate::health::{Check, Endpoint, Question};
use crate::negotiate;
use crate::objects::create::uuid;
use crate::resources::path::{self, PathError};
use crate::resources::{Route, Target, Verb};
use crate::serve::{Handler, Incoming, Kind, Peer};
use crate::status::Failure;
use crate::storage::Got;

/// How long storage may take to say that it is there.
const STORAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// What the head of a request says, besides path and method.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a> {
    pub(super) accept: Option<&'a str>,
    pub(super) if_none_match: Option<&'a str>,
    pub(super) user_agent: Option<&'a str>,
    pub(super) content_type: Option<&'a str>,
    /// Whether the client takes gzip.
    pub(super) gzip: bool,
    /// Whether a watch is to go on as WebSocket.
    pub(super) websocket: Option<&'a Offer>,
}

impl<'a> Head<'a> {
    fn new(headers: &'a HeaderMap, websocket: Option<&'a Offer>) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            accept: text(header::ACCEPT),
            if_none_match: text(header::IF_NONE_MATCH),
            user_agent: text(header::USER_AGENT),
            content_type: text(header::CONTENT_TYPE),
            gzip: compress::accepts_gzip(text(header::ACCEPT_ENCODING)),
            websocket,
        }
    }
}

impl Handler for Api {
    async fn call(self: Arc<Self>, mut request: Request<Incoming>, peer: Peer) -> Response<Body> {
        let identified = self
            .parts
            .authenticator
            .identify(request.headers_mut(), &peer);
        let (mut parts, body) = request.into_parts();
        let offer = Offer::take(&mut parts);
        let head = Head::new(&parts.headers, offer.as_ref());
        let answered = match identified {
            Ok(caller) => {
                let request = Asked {
                    method: &parts.method,
                    path: parts.uri.path(),
                    query: parts.uri.query(),
                    head: &head,
                    caller: &caller,
                };
                self.route(&request, body).await
            }
            Err(failure) => Err(failure),
        };
        let mut response =
            answered.unwrap_or_else(|failure| refuse(&failure, parts.uri.query(), &head));
        finish(
            response.headers_mut(),
            parts.headers.get("audit-id").cloned(),
        );
        response
    }
}

/// A request, without its body.
pub(super) struct Asked<'a> {
    pub(super) method: &'a Method,
    path: &'a str,
    query: Option<&'a str>,
    pub(super) head: &'a Head<'a>,
    pub(super) caller: &'a Caller,
}

impl Asked<'_> {
    /// Whether the caller may ask for this path, whatever is there.
    fn check_path(&self) -> Result<(), Failure> {
        let verb = self.method.as_str().to_ascii_lowercase();
        self.caller.check(&Access::path(&verb, self.path))
    }
}

impl Api {
    async fn route(&self, asked: &Asked<'_>, body: Incoming) -> Result<Response<Body>, Failure> {
        let mut surface = self.surface();
        let mut parsed = Route::parse(asked.path, &surface.catalog);
        if parsed.is_err() && self.catch_up(asked.path).await? {
            surface = self.surface();
            parsed = Route::parse(asked.path, &surface.catalog);
        }
        let route = match parsed {
            Ok(route) => route,
            Err(error) => {
                // What there is, and what there is not, is for those to know who may ask.
                asked.check_path()?;
                return lost(&error);
            }
        };
        let query = Query::parse(asked.query);
        let reads = matches!(*asked.method, Method::GET | Method::HEAD);
        let Route::Resource(target) = &route else {
            asked.check_path()?;
            timeout::allowed(&query, self.parts.settings.request_timeout)?;
            let _place = match self.parts.in_flight.admit(Kind::ReadOnly) {
                Ok(place) => place,
                Err(busy) => return Ok(busy.response()),
            };
            let found = match route {
                Route::NonResource => Some(self.other(asked).await),
                _ => documents::discovery(&surface, &route, &query, asked.head)?,
            };
            let found = found.unwrap_or_else(nothing_here);
            // What is not there takes no method at all.
            return match found.status() {
                StatusCode::NOT_FOUND => Ok(found),
                _ if !reads => Err(Failure::method_not_allowed()),
                _ => Ok(found),
            };
        };
        let Some(verb) = verb(asked.method, target, &query) else {
            asked.check_path()?;
            return no_method(asked.method, target);
        };
        let begun = Instant::now();
        let answered = self
            .resource(&surface, target, verb, &query, asked, body)
            .await;
        let (status, size) = match &answered {
            Ok(response) => (response.status(), response.body().size_hint().exact()),
            Err(failure) => (status(failure), None),
        };
        let counted = metrics::Answered {
            status,
            took: begun.elapsed(),
            size: size.filter(|_| matches!(verb, "get" | "list")),
        };
        self.requests.count(target, verb, counted);
        answered
    }

    /// What is about resources.
    async fn resource(
        &self,
        surface: &Surface,
        target: &Target,
        verb: &'static str,
        query: &Query<'_>,
        asked: &Asked<'_>,
        body: Incoming,
    ) -> Result<Response<Body>, Failure> {
        asked.caller.check(&access(target, verb))?;
        let reads = matches!(*asked.method, Method::GET | Method::HEAD);
        let kind = match verb {
            "watch" => Kind::LongRunning,
            _ if reads => Kind::ReadOnly,
            _ => Kind::Mutating,
        };
        let _place = match self.parts.in_flight.admit(kind) {
            Ok(place) => place,
            Err(busy) => return Ok(busy.response()),
        };
        let read = || read::read(self, surface, target, query, asked.head);
        if verb == "watch" {
            return read().await;
        }
        let timeout = timeout::allowed(query, self.parts.settings.request_timeout)?;
        let answer = async {
            if reads {
                return read().await;
            }
            let body = collect(body, self.parts.settings.limits.body_bytes).await?;
            write::write(self, surface, target, query, asked, body).await
        };
        let answered = tokio::time::timeout(timeout, answer).await;
        answered.unwrap_or_else(|_| Err(Failure::timeout()))
    }

    /// Waits until a kind is served that another server has let in a moment ago: its definition is stored, and what is served here
    /// is older. Whether it is worth looking again.
    async fn catch_up(&self, path: &str) -> Result<bool, Failure> {
        let Some(name) = path::definition_of(path) else {
            return Ok(false);
        };
        let Ok(_place) = self.parts.in_flight.admit(Kind::ReadOnly) else {
            let message = "Too many requests, please try again later.";
            return Err(Failure::too_many_requests(message, 1));
        };
        let mut served = self.kinds.subscribe();
        if served.borrow().is_none() {
            let message = "the kinds that are defined are not known yet";
            return Err(Failure::new(503, "ServiceUnavailable", message).retry_after(1));
        }
        let key = definitions::key(&name);
        let got = tokio::time::timeout(STORAGE_TIMEOUT, self.parts.storage.get(&key)).await;
        let Ok(Ok(Got {
            found: Some(found), ..
        })) = got
        else {
            return Ok(false);
        };
        let wanted = Some(found.mod_revision);
        let caught_up = served.wait_for(|served| *served >= wanted);
        let caught_up = tokio::time::timeout(STORAGE_TIMEOUT, caught_up).await;
        Ok(caught_up.is_ok())
    }

    /// What is not about resources.
    async fn other(&self, asked: &Asked<'_>) -> Response<Body> {
        if let Some(endpoint) = Endpoint::parse(asked.path) {
            let checks = self.checks(endpoint.question).await;
            return endpoint.answer(asked.query.unwrap_or(""), &checks);
        }
        let surface = self.surface();
        match asked.path.trim_end_matches('/') {
            "" => documents::paths(&surface),
            "/version" => documents::version(),
            "/metrics" => {
                let in_flight = self.parts.in_flight.counts();
                metrics::answer(&surface, in_flight, &self.requests, &self.restarts)
            }
            path => {
                let query = Query::parse(asked.query);
                let document = documents::openapi(&surface, path, query.text("hash"), asked.head);
                document.unwrap_or_else(nothing_here)
            }
        }
    }

    async fn checks(&self, question: Question) -> Vec<Check> {
        let mut checks = vec![Check::new("ping", true)];
        if question != Question::Live {
            let revision = self.parts.storage.revision();
            let revision = tokio::time::timeout(STORAGE_TIMEOUT, revision).await;
            checks.push(Check::new("storage", matches!(revision, Ok(Ok(_)))));
            let writes = Check::new("storage-writes", self.parts.storage.is_writable());
            checks.push(writes.otherwise(
                "a write has failed, see the log; put that right and start the server again",
            ));
        }
        if question == Question::Ready {
            let surface = self.surface();
            checks.push(Check::new("watch-cache", surface.is_ready()));
            let defined = self.kinds.borrow().is_some();
            checks.push(Check::new("custom-kinds", defined));
            let stopping = self.parts.shutdown.has_begun();
            checks.push(Check::new("shutdown", !stopping));
        }
        checks
    }
}

/// What a request does, in the words of authorization; `None` if the path does not take the method.
fn verb(method: &Method, target: &Target, query: &Query<'_>) -> Option<&'static str> {
    let named = target.name.is_some();
    // All namespaces at once can only be read.
    let everywhere = target.resource.is_namespaced() && target.namespace.is_none();
    match *method {
        Method::GET | Method::HEAD if options::is_watch(target, query) => Some("watch"),
        Method::GET | Method::HEAD if named => Some("get"),
        Method::GET | Method::HEAD => Some("list"),
        _ if target.watch_path || everywhere => None,
        Method::POST if !named || target.subresource.is_some() || target.resource.is_custom() => {
            Some("create")
        }
        Method::PUT if named => Some("update"),
        Method::PATCH if named => Some("patch"),
        Method::DELETE if named => Some("delete"),
        Method::DELETE if target.resource.verbs.contains(Verb::DeleteCollection) => {
            Some("deletecollection")
        }
        _ => None,
    }
}

/// The answer for a path that does not take the method. Custom kinds have other words for it.
fn no_method(method: &Method, target: &Target) -> Result<Response<Body>, Failure> {
    let resource = &target.resource;
    if !resource.is_custom() || target.watch_path {
        return Err(Failure::method_not_allowed());
    }
    if resource.is_namespaced() && target.namespace.is_none() {
        return Ok(nothing_here());
    }
    match *method {
        Method::PUT | Method::PATCH => Err(Failure::bad_request("name must be provided")),
        _ => Err(Failure::unsupported(
            &method.as_str().to_ascii_lowercase(),
            resource,
        )),
    }
}

fn access<'a>(target: &'a Target, verb: &'a str) -> Access<'a> {
    Access::Resource {
        verb,
        group: &target.resource.group,
        resource: &target.resource.plural,
        subresource: target.subresource.as_ref().map_or("", |sub| sub.name()),
        namespace: target.namespace.as_deref().unwrap_or(""),
        name: target.name.as_deref().unwrap_or(""),
    }
}

/// The whole body, if it is not too long. One that says so itself is not waited for.
async fn collect(body: Incoming, limit: u32) -> Result<Bytes, Failure> {
    let limit = limit as usize;
    if body.size_hint().lower() > limit as u64 {
        return Err(Failure::body_too_large(limit));
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::body_too_large(limit)),
        Err(error) => Err(Failure::bad_request(format!(
            "the body could not be read: {error}"
        ))),
    }
}

/// The answer for a path that leads nowhere.
fn lost(error: &PathError) -> Result<Response<Body>, Failure> {
    let status = match error {
        PathError::NotFound => StatusCode::NOT_FOUND,
        PathError::Malformed => StatusCode::BAD_REQUEST,
        PathError::UnknownResource => return Err(Failure::no_such_resource()),
        PathError::InvalidName { .. } => return Err(Failure::bad_request(error.to_string())),
    };
    Ok(documents::text(status, format!("{error}\n")))
}

fn nothing_here() -> Response<Body> {
    documents::text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// The status of a failure.
fn status(failure: &Failure) -> StatusCode {
    StatusCode::from_u16(failure.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A failure as an answer.
fn refuse(failure: &Failure, query: Option<&str>, head: &Head<'_>) -> Response<Body> {
    let (media, pretty) = negotiate::for_error(head.accept);
    let query = Query::parse(query);
    let pretty = negotiate::pretty(query.get("pretty"), pretty, head.user_agent);
    let (body, content_type) = rendition::failure(failure, media, pretty);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status(failure);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    let retry_after = failure.details.as_ref().map_or(0, |d| d.retry_after);
    if retry_after > 0 {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_after));
    }
    response
}

/// Headers that every answer has. A client may name its request; one that does not is given a name.
fn finish(headers: &mut HeaderMap, audit: Option<HeaderValue>) {
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, private"));
    if let Some(audit) = audit.or_else(random_name) {
        headers.insert("audit-id", audit);
    }
}

/// A name that no other request has.
fn random_name() -> Option<HeaderValue> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).ok()?;
    HeaderValue::try_from(uuid(random)).ok()
}

pub(super) fn mark_gzip(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// A whole body, compressed if it is worth it.
pub(super) fn maybe_gzip(bytes: Vec<u8>, gzip: bool) -> (Body, bool) {
    if gzip && compress::is_large(bytes.len()) {
        (Body::from(compress::gzip([bytes])), true)
    } else {
        (Body::from(bytes), false)
    }
}
