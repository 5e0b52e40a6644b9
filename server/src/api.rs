//! The Kubernetes API: from a request's head and body to an answer.
//!
//! ```text
//!   path ──► Route ──┬─► documents: discovery, OpenAPI, version, health
//!                    └─► Target + method ──┬─► read: get, list, watch ◄── Reader
//!   query ──► options ─────────────────────┤
//!   Accept ──► Rendition ──────────────────┴─► write ──► storage
//! ```
//!
//! A request is typed before anything is done for it: a bad one is refused before any state exists.

pub mod continuation;
mod documents;
mod list;
pub mod options;
pub mod query;
mod read;
pub mod rendition;
pub mod surface;
mod watch;

use std::sync::{Arc, PoisonError, RwLock};

use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};
use ringwatch_core::revision::Revision;

use crate::body::Body;
use crate::cache::CacheError;
use crate::compress;
use crate::negotiate;
use crate::resources::Route;
use crate::resources::path::PathError;
use crate::status::Failure;
use crate::storage::{Storage, StorageError};
use query::Query;
use surface::Surface;

/// The API over one storage. Cheap to share.
pub struct Api {
    storage: Arc<dyn Storage>,
    /// Swapped as a whole when kinds come and go; held to clone the pointer.
    surface: RwLock<Arc<Surface>>,
}

/// What the head of a request says, besides path and method.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    accept: Option<&'a str>,
    if_none_match: Option<&'a str>,
    user_agent: Option<&'a str>,
    /// Whether the client takes gzip.
    gzip: bool,
}

impl<'a> Head<'a> {
    fn new(headers: &'a HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            accept: text(header::ACCEPT),
            if_none_match: text(header::IF_NONE_MATCH),
            user_agent: text(header::USER_AGENT),
            gzip: compress::accepts_gzip(text(header::ACCEPT_ENCODING)),
        }
    }
}

impl Api {
    /// The API over `storage`, as far as `surface` says.
    pub fn new(storage: Arc<dyn Storage>, surface: Surface) -> Self {
        Self {
            storage,
            surface: RwLock::new(Arc::new(surface)),
        }
    }

    /// What is served now.
    pub fn surface(&self) -> Arc<Surface> {
        let surface = self.surface.read();
        surface.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Answers a request that has no body. Never fails: a failure is an answer.
    pub async fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Response<Body> {
        let head = Head::new(headers);
        let mut response = match self.route(method, uri, &head).await {
            Ok(response) => response,
            Err(failure) => refuse(&failure, &head),
        };
        let audit = headers.get("audit-id").cloned();
        finish(response.headers_mut(), audit);
        response
    }

    async fn route(
        &self,
        method: &Method,
        uri: &Uri,
        head: &Head<'_>,
    ) -> Result<Response<Body>, Failure> {
        let surface = self.surface();
        let path = uri.path();
        let route = match Route::parse(path, &surface.catalog) {
            Ok(route) => route,
            Err(error @ (PathError::NotFound | PathError::Malformed)) => {
                let status = if error == PathError::NotFound {
                    StatusCode::NOT_FOUND
                } else {
                    StatusCode::BAD_REQUEST
                };
                return Ok(documents::text(status, format!("{error}\n")));
            }
            Err(PathError::UnknownResource) => return Err(Failure::no_such_resource()),
            Err(error @ PathError::InvalidName { .. }) => {
                return Err(Failure::bad_request(error.to_string()));
            }
        };
        let reads = matches!(*method, Method::GET | Method::HEAD);
        match route {
            Route::Resource(target) if reads => {
                let query = Query::parse(uri.query());
                read::read(self, &surface, &target, &query, head).await
            }
            Route::Resource(_) => Err(Failure::method_not_allowed()),
            _ if !reads => Err(Failure::method_not_allowed()),
            Route::NonResource => Ok(self.other(&surface, path, head)),
            route => Ok(documents::discovery(&surface, &route, head).unwrap_or_else(nothing_here)),
        }
    }

    /// What is not about resources.
    fn other(&self, surface: &Surface, path: &str, head: &Head<'_>) -> Response<Body> {
        match path.trim_end_matches('/') {
            "/version" => documents::version(),
            path if path.starts_with("/openapi/") => {
                documents::openapi(surface, path, head).unwrap_or_else(nothing_here)
            }
            _ => nothing_here(),
        }
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
    if let Some(seconds) = failure
        .details
        .as_ref()
        .map(|details| details.retry_after)
        .filter(|seconds| *seconds > 0)
    {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
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

fn mark_gzip(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// A whole body, compressed if it is worth it.
fn maybe_gzip(bytes: Vec<u8>, gzip: bool) -> (Body, bool) {
    if gzip && compress::is_large(bytes.len()) {
        (Body::from(compress::gzip([bytes])), true)
    } else {
        (Body::from(bytes), false)
    }
}

/// The cache has nothing to answer from.
fn not_ready(why: Option<String>) -> Failure {
    Failure::too_many_requests(CacheError::NotReady { why }.to_string(), 1)
}

/// Why a read failed.
fn read_failure(error: &CacheError) -> Failure {
    match error {
        CacheError::NotReady { why } => not_ready(why.clone()),
        CacheError::Expired { requested, floor } => Failure::too_old(*requested, *floor),
        CacheError::TooLarge { requested, newest } => {
            Failure::too_large_revision(*requested, *newest, 1)
        }
        CacheError::Storage(error) => storage_failure(error),
    }
}

/// Why a watch could not begin; told in its stream.
fn watch_failure(error: &CacheError) -> Failure {
    match error {
        CacheError::Storage(error) => Failure::internal(error),
        error => read_failure(error),
    }
}

fn storage_failure(error: &StorageError) -> Failure {
    match error {
        StorageError::Future { newest } => {
            Failure::too_large_revision(Revision::ZERO, newest.unwrap_or_default(), 0)
        }
        error => Failure::internal(error),
    }
}
