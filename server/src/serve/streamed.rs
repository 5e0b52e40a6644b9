//! Answers over HTTP/1.1 whose length is not known when they begin: watches.
//!
//! A watch is on its connection for minutes or hours, is silent most of that time, and there are thousands. hyper is made for
//! requests: while one lasts it keeps buffers for the head of the next, and looks at both directions for every piece. So the
//! connection is taken out of its hands when the answer begins, written to here (a chunk with its frame in one call),
//! and given back when the answer has ended. That makes a watch a third of the memory, and cheaper to tell of an event.
//!
//! Only answers to requests without a body are taken, so that what is read meanwhile can be nothing but the next request;
//! and only once all that was written before them has left.

use std::future::poll_fn;
use std::io::{self, IoSlice, Write as _};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use http::{Method, Request as HttpRequest, Response, Version, header};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};

use super::Shutdown;
use super::activity::{Answer, Request};
use super::io::Io;
use crate::body::{Body, Stream};

/// What a client may send behind its request while the answer lasts. More is left to the system to hold.
const AHEAD: usize = 16 * 1024;
/// What is read of it at once: next to nothing is expected.
const READ: usize = 512;
/// The length of a chunk in hexadecimal, and the end of its line.
const FRAME: usize = 2 * size_of::<usize>() + 2;
/// Up to this, a chunk is put together before it is written: to copy so little takes less than to write it from three places.
const COPIED: usize = 4 * 1024;
const LINE_END: &[u8] = b"\r\n";
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

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
            Body::Stream(body) if self.allowed && body.size_hint().exact().is_none() => {
                Writer::Here(Streamed {
                    head: head(&parts, self.closes),
                    body,
                    closes: self.closes,
                    request,
                })
            }
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
    head: Bytes,
    body: Stream,
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
            piece: Piece::plain(self.head),
            body: self.body,
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
    /// What is being written.
    piece: Piece,
    body: Stream,
    /// Whether the piece is the last.
    last: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Writing<S> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Finish> {
        if self.poll_hear(context).is_ready() {
            return Poll::Ready(Finish::Gone);
        }
        loop {
            if ready!(self.piece.poll_write(&mut self.io, context)).is_err() {
                return Poll::Ready(Finish::Gone);
            }
            if self.last {
                return Poll::Ready(Finish::Whole);
            }
            self.piece = match ready!(self.body.as_mut().poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => Piece::chunk(data),
                    _ => continue,
                },
                Some(Err(error)) => {
                    tracing::debug!(%error, "answer broken off");
                    return Poll::Ready(Finish::Gone);
                }
                None => {
                    self.last = true;
                    Piece::plain(Bytes::from_static(LAST_CHUNK))
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

/// Bytes with what comes before and after them if they are many, and how much of all that has been written.
struct Piece {
    frame: [u8; FRAME],
    framed: usize,
    data: Bytes,
    end: &'static [u8],
    written: usize,
}

impl Piece {
    fn plain(data: Bytes) -> Self {
        Self {
            frame: [0; FRAME],
            framed: 0,
            data,
            end: b"",
            written: 0,
        }
    }

    fn chunk(data: Bytes) -> Self {
        let mut frame = [0; FRAME];
        let mut free = &mut frame[..];
        // There is room for any length.
        let _ = write!(free, "{:x}\r\n", data.len());
        let framed = FRAME - free.len();
        if data.len() <= COPIED {
            return Self::plain([&frame[..framed], &data, LINE_END].concat().into());
        }
        Self {
            frame,
            framed,
            data,
            end: LINE_END,
            written: 0,
        }
    }

    /// Writes what is left, in one call if the peer takes it.
    fn poll_write<S>(&mut self, io: &mut Io<S>, context: &mut Context<'_>) -> Poll<io::Result<()>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let whole = self.framed + self.data.len() + self.end.len();
        while self.written < whole {
            let stream = Pin::new(&mut *io);
            let written = if whole == self.data.len() {
                // From one place: the system has a shorter way for that than for a list of one.
                ready!(stream.poll_write(context, &self.data[self.written..]))?
            } else {
                let parts = [&self.frame[..self.framed], &self.data, self.end];
                let mut slices = parts.map(IoSlice::new);
                let mut left = &mut slices[..];
                IoSlice::advance_slices(&mut left, self.written);
                ready!(stream.poll_write_vectored(context, left))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
        }
        // Not kept while the next one is waited for.
        self.data = Bytes::new();
        (self.framed, self.end, self.written) = (0, b"", 0);
        Pin::new(io).poll_flush(context)
    }
}

/// The head of an answer in chunks.
fn head(parts: &http::response::Parts, closes: bool) -> Bytes {
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
    head.into()
}
