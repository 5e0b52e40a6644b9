//! From a request on a connection to the part of the API that answers it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::query::Query;
use super::watch::Offer;
use super::{Api, documents, metrics, options, read, rendition, timeout, write};
use crate::auth::{Access, Caller};
use crate::body::Body;
use crate::compress;
use crate::health::{Check, Endpoint, Question};
use crate::negotiate;
use crate::resources::path::PathError;
use crate::resources::{Route, Target};
use crate::serve::{Handler, Incoming, Kind, Peer};
use crate::status::Failure;

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
        let mut response = answered.unwrap_or_else(|failure| refuse(&failure, &head));
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

impl Api {
    async fn route(&self, asked: &Asked<'_>, body: Incoming) -> Result<Response<Body>, Failure> {
        let surface = self.surface();
        let route = match Route::parse(asked.path, &surface.catalog) {
            Ok(route) => route,
            Err(error @ (PathError::NotFound | PathError::Malformed)) => {
                let status = match error {
                    PathError::NotFound => StatusCode::NOT_FOUND,
                    _ => StatusCode::BAD_REQUEST,
                };
                return Ok(documents::text(status, format!("{error}\n")));
            }
            Err(PathError::UnknownResource) => return Err(Failure::no_such_resource()),
            Err(error @ PathError::InvalidName { .. }) => {
                return Err(Failure::bad_request(error.to_string()));
            }
        };
        let query = Query::parse(asked.query);
        let reads = matches!(*asked.method, Method::GET | Method::HEAD);
        let Route::Resource(target) = &route else {
            let verb = asked.method.as_str().to_ascii_lowercase();
            asked.caller.check(&Access::path(&verb, asked.path))?;
            if !reads {
                return Err(Failure::method_not_allowed());
            }
            timeout::allowed(&query, self.parts.settings.request_timeout)?;
            let _place = self.admit(Kind::ReadOnly)?;
            if route == Route::NonResource {
                return Ok(self.other(asked).await);
            }
            let found = documents::discovery(&surface, &route, asked.head);
            return Ok(found.unwrap_or_else(nothing_here));
        };
        let verb = verb(asked.method, target, &query).ok_or_else(Failure::method_not_allowed)?;
        asked.caller.check(&access(target, verb))?;
        let _place = self.admit(match verb {
            "watch" => Kind::LongRunning,
            _ if reads => Kind::ReadOnly,
            _ => Kind::Mutating,
        })?;
        let read = || read::read(self, &surface, target, &query, asked.head);
        if verb == "watch" {
            return read().await;
        }
        let timeout = timeout::allowed(&query, self.parts.settings.request_timeout)?;
        let answer = async {
            if reads {
                return read().await;
            }
            let body = collect(body, self.parts.settings.limits.body_bytes).await?;
            write::write(self, &surface, target, &query, asked, body).await
        };
        let answered = tokio::time::timeout(timeout, answer).await;
        answered.unwrap_or_else(|_| Err(Failure::timeout()))
    }

    fn admit(&self, kind: Kind) -> Result<crate::serve::Admitted, Failure> {
        self.parts.in_flight.admit(kind).map_err(|_| {
            Failure::too_many_requests("Too many requests, please try again later.", 1)
        })
    }

    /// What is not about resources.
    async fn other(&self, asked: &Asked<'_>) -> Response<Body> {
        if let Some(endpoint) = Endpoint::parse(asked.path) {
            let checks = self.checks(endpoint.question).await;
            return endpoint.answer(asked.query.unwrap_or(""), &checks);
        }
        let surface = self.surface();
        match asked.path.trim_end_matches('/') {
            "/version" => documents::version(),
            "/metrics" => metrics::answer(&surface, self.parts.in_flight.counts()),
            path => documents::openapi(&surface, path, asked.head).unwrap_or_else(nothing_here),
        }
    }

    async fn checks(&self, question: Question) -> Vec<Check> {
        let mut checks = vec![Check::new("ping", true)];
        if question != Question::Live {
            let revision = self.parts.storage.revision();
            let revision = tokio::time::timeout(STORAGE_TIMEOUT, revision).await;
            checks.push(Check::new("storage", matches!(revision, Ok(Ok(_)))));
        }
        if question == Question::Ready {
            let surface = self.surface();
            let caches = surface.readers().all(|(_, reader)| reader.is_ready());
            checks.push(Check::new("watch-cache", caches));
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
        Method::POST if !named || target.subresource.is_some() => Some("create"),
        Method::PUT if named => Some("update"),
        Method::PATCH if named => Some("patch"),
        Method::DELETE if named => Some("delete"),
        Method::DELETE => Some("deletecollection"),
        _ => None,
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

fn nothing_here() -> Response<Body> {
    documents::text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// A failure as an answer.
fn refuse(failure: &Failure, head: &Head<'_>) -> Response<Body> {
    let (media, pretty) = negotiate::for_error(head.accept);
    let (body, content_type) = rendition::failure(failure, media, pretty);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() =
        StatusCode::from_u16(failure.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    let retry_after = failure.details.as_ref().map_or(0, |d| d.retry_after);
    if retry_after > 0 {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_after));
    }
    response
}

/// Headers that every answer has.
fn finish(headers: &mut HeaderMap, audit: Option<HeaderValue>) {
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, private"));
    if let Some(audit) = audit {
        headers.insert("audit-id", audit);
    }
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
