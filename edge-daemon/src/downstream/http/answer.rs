//! Answers: a document, an error in the form that clients of Kubernetes know, or a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use http_body::Frame;
use serde_json::{Value, json as tree};
use std::convert::Infallible;
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

/// Why something cannot be had.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(
        status: StatusCode,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status,
            reason,
            message: message.into(),
        }
    }

    pub(super) fn response(&self) -> Response<Body> {
        failure(self.status, self.reason, &self.message)
    }
}

pub(super) fn with(content: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content));
    response
}

pub(super) fn text(text: &str) -> Response<Body> {
    with(
        "text/plain; charset=utf-8",
        Body::Whole(Some(Bytes::copy_from_slice(text.as_bytes()))),
    )
}

pub(super) fn json(value: &Value) -> Response<Body> {
    with(
        "application/json",
        Body::Whole(Some(value.to_string().into())),
    )
}

/// A failure as a Status object.
pub(super) fn failure(status: StatusCode, reason: &str, message: &str) -> Response<Body> {
    let mut value = tree!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": status.as_u16(),
    });
    let retry = matches!(status.as_u16(), 429 | 503 | 504);
    if retry && let Value::Object(members) = &mut value {
        members.insert("details".to_owned(), tree!({ "retryAfterSeconds": 1 }));
    }
    let mut response = json(&value);
    *response.status_mut() = status;
    if retry {
        response
            .headers_mut()
            .insert(http::header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}
