//! A server without resources: it says how it is and which version.

use std::sync::Arc;
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use serde_json::Value;

use super::Parts;
use crate::auth::Access;
use crate::body::Body;
use crate::health::{Check, Endpoint, Question};
use crate::serve::{Handler, Incoming, Kind, Peer};
use crate::status::Failure;
use crate::version;

/// How long storage may take to say that it is there.
const STORAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// Answers questions about the server itself.
pub(super) struct Bare {
    parts: Parts,
}

impl Bare {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts }
    }

    async fn answer(
        &self,
        mut request: Request<Incoming>,
        peer: &Peer,
    ) -> Result<Response<Body>, Failure> {
        let parts = &self.parts;
        let caller = parts.authenticator.identify(request.headers_mut(), peer)?;
        let verb = request.method().as_str().to_ascii_lowercase();
        let path = request.uri().path();
        caller.check(&Access::path(&verb, path))?;
        let Ok(_place) = parts.in_flight.admit(Kind::ReadOnly) else {
            let message = "Too many requests, please try again later.";
            return Err(Failure::too_many_requests(message, 1));
        };
        if let Some(endpoint) = Endpoint::parse(path) {
            let checks = self.checks(endpoint.question).await;
            let query = request.uri().query().unwrap_or_default();
            return Ok(endpoint.answer(query, &checks));
        }
        match path {
            "/version" => Ok(json(StatusCode::OK, &version::document())),
            _ => Err(Failure::no_such_resource()),
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
            let stopping = self.parts.shutdown.has_begun();
            checks.push(Check::new("shutdown", !stopping));
        }
        checks
    }
}

impl Handler for Bare {
    async fn call(self: Arc<Self>, request: Request<Incoming>, peer: Peer) -> Response<Body> {
        match self.answer(request, &peer).await {
            Ok(response) => response,
            Err(failure) => refusal(&failure),
        }
    }
}

fn refusal(failure: &Failure) -> Response<Body> {
    let status = StatusCode::from_u16(failure.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, &failure.to_value());
    let retry_after = failure
        .details
        .as_ref()
        .map_or(0, |details| details.retry_after);
    if retry_after > 0 {
        response
            .headers_mut()
            .insert(RETRY_AFTER, retry_after.into());
    }
    response
}

fn json(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(format!("{value:#}\n").into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}
