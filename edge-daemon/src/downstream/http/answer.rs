//! Answers: a document, a refusal in the form that clients of Kubernetes know, or a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body::Frame;
use ringwatch_core::revision::Revision;
use serde_json::{Value, json as tree};
use tokio::sync::mpsc::Receiver;

/// A body: all at once, or as it is made.
pub(in crate::downstream) enum Body {
    Whole(Option<Bytes>),
    Stream(Receiver<Bytes>),
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(stream) => stream
                .poll_recv(context)
                .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }
}

/// Why something cannot be had: a Status, made by one function for each condition.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    status: StatusCode,
    reason: &'static str,
    message: String,
    /// More, for programs.
    details: Value,
    /// With an expired page: a token that goes on all the same.
    next: Option<String>,
}

impl Refusal {
    fn new(status: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            reason,
            message: message.into(),
            details: Value::Null,
            next: None,
        }
    }

    /// The request makes no sense.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// The options of a list or watch contradict each other: field and what is wrong with it, for each.
    pub(super) fn invalid_options(faults: &[String]) -> Self {
        let faults = match faults {
            [fault] => fault.clone(),
            faults => format!("[{}]", faults.join(", ")),
        };
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {faults}");
        Self {
            details: tree!({"group": "meta.k8s.io", "kind": "ListOptions"}),
            ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
        }
    }

    /// There is no such path.
    pub(super) fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self {
            details: tree!({}),
            ..Self::new(StatusCode::NOT_FOUND, "NotFound", message)
        }
    }

    /// There is no such object. A resource is `pods` or `devices.example.com`.
    pub(super) fn not_found(resource: &str, name: &str) -> Self {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        let mut details = tree!({"name": name, "kind": plural});
        if let Some(members) = details.as_object_mut().filter(|_| !group.is_empty()) {
            members.insert("group".to_owned(), group.into());
        }
        let message = format!("{resource} {name:?} not found");
        Self {
            details,
            ..Self::new(StatusCode::NOT_FOUND, "NotFound", message)
        }
    }

    /// Only a part of the resource is here, and more was asked for.
    pub(super) fn in_part_only(resource: &str) -> Self {
        let message = format!("{resource} is relayed in part only: name a namespace that is");
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
    }

    /// A write.
    pub(super) fn read_only() -> Self {
        let message = "the relay is read-only: write to the server that it follows";
        Self {
            details: tree!({}),
            ..Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
        }
    }

    /// The answer cannot be given in a form that the client takes.
    pub(super) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json";
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// There is nothing to read yet.
    pub(super) fn not_here_yet(resource: &str) -> Self {
        let message = format!("{resource} has not come from upstream yet");
        Self {
            details: tree!({"retryAfterSeconds": 1}),
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "ServiceUnavailable",
                message,
            )
        }
    }

    /// A revision was asked for that has not come.
    pub(super) fn too_large_version(wanted: Revision, current: Revision) -> Self {
        let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
        let cause =
            tree!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        Self {
            details: tree!({"causes": [cause], "retryAfterSeconds": 1}),
            ..Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
        }
    }

    /// The state at a revision is not known any more.
    pub(super) fn expired_list() -> Self {
        let message = "The resourceVersion for the provided list is too old.";
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The state of which the first page was is not known any more. `next` goes on in the state as it is now.
    pub(super) fn expired_page(next: String) -> Self {
        let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, \
            or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent \
            list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
        Self {
            next: Some(next),
            ..Self::new(StatusCode::GONE, "Expired", message)
        }
    }

    /// What a watch would have to begin with is not known any more.
    pub(super) fn expired_watch(wanted: Revision, floor: Revision) -> Self {
        let message = format!("too old resource version: {wanted} ({floor})");
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The Status object.
    pub(super) fn object(&self) -> Value {
        let metadata = match &self.next {
            Some(next) => tree!({"continue": next}),
            None => tree!({}),
        };
        let mut object = tree!({
            "kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.status.as_u16(),
        });
        if let Some(members) = object.as_object_mut().filter(|_| !self.details.is_null()) {
            members.insert("details".to_owned(), self.details.clone());
        }
        object
    }

    pub(super) fn response(&self) -> Response<Body> {
        let mut response = json(&self.object());
        *response.status_mut() = self.status;
        let seconds = self.details.get("retryAfterSeconds");
        if let Some(seconds) = seconds.and_then(Value::as_u64) {
            let headers = response.headers_mut();
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

pub(super) fn with(content: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content));
    response
}

pub(super) fn whole(bytes: impl Into<Bytes>) -> Response<Body> {
    with("application/json", Body::Whole(Some(bytes.into())))
}

pub(super) fn text(text: &str) -> Response<Body> {
    with(
        "text/plain; charset=utf-8",
        Body::Whole(Some(Bytes::copy_from_slice(text.as_bytes()))),
    )
}

pub(super) fn json(value: &Value) -> Response<Body> {
    whole(value.to_string())
}
