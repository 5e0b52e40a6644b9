//! Answers over HTTP/1.1 that come as there is news: watches.
//!
//! A watch is on its connection for minutes or hours, is silent most of that time, and there are thousands. hyper is made for
//! requests: while one lasts it keeps buffers for the head of the next, and looks at both directions for every piece. So the
//! connection is taken out of its hands when the answer begins, written to here (a chunk with its frame in one call),
//! and given back when the answer has ended. That makes a watch a third of the memory, and cheaper to tell of an event.
//!
//! Only answers to requests without a body are taken, so that what is read meanwhile can be nothing but the next request;
//! and only once all that was written before them has left.

use std::future::poll_fn;
use std::io::Write as _;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use bytes::BytesMut;
use http::{Method, Request as HttpRequest, Response, Version, header};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};

use super::Shutdown;
use super::activity::{Answer, Request};
use super::chunk::{self, LAST_CHUNK, LINE_END, Rest};
use super::io::Io;
use crate::body::{Body, News};
use crate::then::Then;

/// What a client may send behind its request while the answer lasts. More is left to the system to hold.
const AHEAD: usize = 16 * 1024;
/// What is read of it at once: next to nothing is expected.
const READ: usize = 512;

/// Where an answer that is to be taken from hyper is left for whoever drives the connection.
#[derive(Debug, Default)]
pub(super) struct Handover(Mutex<Option<Streamed>>);

impl Handover {
    /// Leaves it here.
    pub(super) fn put(&self, answer: Streamed) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    /// Whether there is one.
    pub(super) fn is_ready(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// Takes it.
    pub(super) fn take(&self) -> Option<Streamed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What of a request decides whether its answer can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    /// In chunks, with nothing of the request left to read.
    allowed: bool,
    /// The connection ends with the answer.
    closes: bool,
}

impl Terms {
    pub(super) fn of(request: &HttpRequest<Incoming>) -> Self {
        let connection = request.headers().get_all(header::CONNECTION);
        let mut words = connection
            .into_iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        Self {
            allowed: request.version() == Version::HTTP_11
                && request.method() == Method::GET
                && request.body().is_end_stream(),
            closes: words.any(|word| word.trim().eq_ignore_ascii_case("close")),
        }
    }

    /// Who writes the answer.
    pub(super) fn writer_of(self, response: Response<Answer>) -> Writer {
        let (parts, Answer { body, request }) = response.into_parts();
        match body {
            Body::News(news) if self.allowed => Writer::Here(Streamed {
                head: head(&parts, self.closes),
                news,
                closes: self.closes,
                request,
            }),
            body => Writer::Hyper(Response::from_parts(parts, Answer { body, request })),
        }
    }
}

/// Who writes an answer.
pub(super) enum Writer {
    /// This module, piece by piece.
    Here(Streamed),
    /// hyper, as it does all others.
    Hyper(Response<Answer>),
}

/// An answer that comes piece by piece.
pub(super) struct Streamed {
    head: Vec<u8>,
    news: Box<dyn News>,
    closes: bool,
    request: Request,
}

impl std::fmt::Debug for Streamed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streamed").finish_non_exhaustive()
    }
}

impl Streamed {
    /// Writes it to its end. Gives the connection back if it can take another request.
    pub(super) async fn write<S>(
        self,
        io: Io<S>,
        shutdown: Shutdown,
        mut ended: Shutdown,
    ) -> Option<Io<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut ahead = BytesMut::new();
        ahead.extend_from_slice(&io.ahead);
        let mut writing = Writing {
            io,
            ahead,
            rest: Rest::from(self.head),
            news: self.news,
            last: false,
        };
        let cut = ended.clone();
        let finish = {
            let mut cut_off = std::pin::pin!(ended.begun());
            let mut first = true;
            // Asked once and then looked at, since the waker stays the same: see `Driver::drive`.
            poll_fn(|context| {
                if (std::mem::take(&mut first) || cut.is_news())
                    && cut_off.as_mut().poll(context).is_ready()
                {
                    return Poll::Ready(Finish::Gone);
                }
                writing.poll(context)
            })
            .await
        };
        drop(self.request);
        let Writing { mut io, ahead, .. } = writing;
        if matches!(finish, Finish::Gone) {
            return None;
        }
        if self.closes || shutdown.has_begun() {
            // The answer is whole; whether the peer hears the goodbye changes nothing.
            let _ = io.shutdown().await;
            return None;
        }
        io.ahead = ahead.freeze();
        Some(io)
    }
}

/// How an answer ended.
enum Finish {
    /// As it should.
    Whole,
    /// The peer is gone, or has to be told by the connection's end that this is not all.
    Gone,
}

struct Writing<S> {
    io: Io<S>,
    /// What the peer sent already for its next request.
    ahead: BytesMut,
    /// What the peer has not taken yet.
    rest: Rest,
    news: Box<dyn News>,
    /// Whether that is all there will be.
    last: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Writing<S> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Finish> {
        if self.poll_hear(context).is_ready() {
            return Poll::Ready(Finish::Gone);
        }
        let mut then = Then::Ask;
        loop {
            if ready!(self.rest.poll_write(&mut self.io, context)).is_err() {
                return Poll::Ready(Finish::Gone);
            }
            if self.last {
                return Poll::Ready(Finish::Whole);
            }
            if then == Then::Wait {
                return Poll::Pending;
            }
            let news = &mut self.news;
            let (written, told) =
                chunk::with(|chunk| match news.poll_piece(context, chunk.bytes()) {
                    Poll::Ready(Some(Ok(then))) => {
                        let written = chunk.write(&mut self.io, &mut self.rest, context);
                        (written, Poll::Ready(Some(Ok(then))))
                    }
                    other => (Ok(()), other),
                });
            if written.is_err() {
                return Poll::Ready(Finish::Gone);
            }
            then = match ready!(told) {
                Some(Ok(then)) => then,
                Some(Err(error)) => {
                    tracing::debug!(%error, "answer broken off");
                    return Poll::Ready(Finish::Gone);
                }
                None => {
                    self.last = true;
                    self.rest = Rest::from(LAST_CHUNK.to_vec());
                    Then::Ask
                }
            };
        }
    }

    /// Reads what comes, to notice when the peer goes: ready when it has.
    fn poll_hear(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.ahead.len() < AHEAD {
            let mut space = [0; READ];
            let mut buffer = ReadBuf::new(&mut space);
            // What was read ahead is in `self.ahead` already.
            let stream = Pin::new(&mut self.io.stream);
            match ready!(stream.poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {
                    self.ahead.extend_from_slice(buffer.filled());
                }
                _ => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }
}

/// The head of an answer in chunks.
fn head(parts: &http::response::Parts, closes: bool) -> Vec<u8> {
    let mut head = Vec::with_capacity(256);
    let status = parts.status;
    let reason = status.canonical_reason().unwrap_or_default();
    let date = httpdate::HttpDate::from(SystemTime::now());
    // Writing to memory does not fail.
    let _ = write!(head, "HTTP/1.1 {} {reason}\r\n", status.as_str());
    for (name, value) in &parts.headers {
        let _ = write!(head, "{name}: ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(LINE_END);
    }
    if closes {
        head.extend_from_slice(b"connection: close\r\n");
    }
    let _ = write!(head, "transfer-encoding: chunked\r\ndate: {date}\r\n\r\n");
    head
}
