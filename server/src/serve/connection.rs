//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use hyper::body::{Body as _, Incoming};
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

use super::activity::{Activity, Answer, Clock};
use super::handshake::handshake;
use super::host;
use super::io::{Io, Opening};
use super::streamed::{Handover, Streamed, Terms, Writer};
use super::{Handler, Limits, Peer, Shutdown};
use crate::body::Body;
use crate::status::Failure;

/// How long a connection that is to close may take for it: the peer's answer to a goodbye.
const GOODBYE: Duration = Duration::from_secs(5);
/// How long to read on from a peer whose request was refused before it was sent.
const LINGER: Duration = Duration::from_secs(2);
/// HTTP/2: how often a connection is probed, and how long the answer may take; as in kube-apiserver.
const PING: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);
/// HTTP/2: what a client may send of bodies before they are read, per stream and per connection.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// The smallest buffer that hyper takes.
const MIN_BUFFER: usize = 8 * 1024;

/// How HTTP is spoken: the same for all connections.
pub(super) struct Http {
    limits: Limits,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
}

/// What carries the bytes.
#[derive(Clone)]
pub(super) enum Transport {
    Plain,
    Tls(TlsAcceptor),
}

/// A connection that was accepted.
pub(super) struct Connection<H> {
    pub(super) http: Arc<Http>,
    pub(super) handler: Arc<H>,
    pub(super) peer: Peer,
    /// Tells it to finish.
    pub(super) shutdown: Shutdown,
    /// Tells it that it is too late for that.
    pub(super) ended: Shutdown,
    pub(super) place: OwnedSemaphorePermit,
}

impl Http {
    /// HTTP within limits.
    pub(super) fn new(limits: &Limits) -> Self {
        let (header_bytes, buffer_bytes) = (limits.header_bytes, limits.buffer_bytes as usize);
        let buffer = buffer_bytes.max(header_bytes as usize).max(MIN_BUFFER);
        let mut http1 = http1::Builder::new();
        // Time is kept here, because hyper counts a pause between requests as part of the next one's head.
        http1
            .header_read_timeout(None)
            .max_header_size(header_bytes as usize)
            .max_buf_size(buffer)
            .half_close(false);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        let resets = limits.resets as usize;
        http2
            .timer(TokioTimer::new())
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING_TIMEOUT)
            .max_concurrent_streams(limits.streams)
            .max_header_list_size(header_bytes)
            .max_pending_accept_reset_streams(resets)
            .max_local_error_reset_streams(resets)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(buffer_bytes);
        Self {
            limits: limits.clone(),
            http1,
            http2,
        }
    }
}

impl<H: Handler> Connection<H> {
    /// Serves it to its end.
    ///
    /// What is needed only to begin is boxed and freed, so that a connection that stays does not carry it.
    pub(super) async fn run(mut self, mut stream: TcpStream, transport: Transport) {
        let clock = Clock(Instant::now());
        match transport {
            Transport::Plain => {
                let limit = self.http.limits.header_timeout;
                let opening = Box::pin(self.begin(limit, Opening::read(&mut stream))).await;
                let Some(opening) = opening else { return };
                let http2 = opening.is_http2();
                self.speak(stream, opening.bytes(), http2, clock).await;
            }
            Transport::Tls(acceptor) => {
                let limit = self.http.limits.handshake_timeout;
                let handshake = self.begin(limit, handshake(acceptor, stream));
                let Some(stream) = Box::pin(handshake).await else {
                    return;
                };
                let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let stream = Box::new(stream);
                self.speak(stream, Bytes::new(), http2, clock).await;
            }
        }
    }

    /// What comes before HTTP: done in time, or not at all.
    async fn begin<T, E: std::fmt::Display>(
        &mut self,
        limit: Duration,
        work: impl Future<Output = Result<T, E>>,
    ) -> Option<T> {
        let peer = self.peer.address;
        tokio::select! {
            () = self.shutdown.begun() => None,
            done = timeout(limit, work) => match done {
                Ok(Ok(value)) => Some(value),
                Ok(Err(error)) => {
                    tracing::debug!(%peer, %error, "connection failed before its first request");
                    None
                }
                Err(_) => {
                    tracing::debug!(%peer, "connection too slow to begin");
                    None
                }
            },
        }
    }

    /// Speaks HTTP. Each turn is a future of its own, so that none is kept while another has the connection, and the
    /// connection's task stays small.
    async fn speak<S>(self, stream: S, ahead: Bytes, http2: bool, clock: Clock)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = Arc::new(Activity::default());
        let mut io = Io {
            stream,
            ahead,
            activity: activity.clone(),
            clock,
            _place: self.place,
        };
        let mut service = Service {
            handler: self.handler,
            http: self.http.clone(),
            peer: self.peer,
            activity: activity.clone(),
            clock,
            streams: (!http2).then(Arc::default),
        };
        let driver = Driver {
            http: self.http,
            framed: http2,
            activity,
            clock,
            shutdown: self.shutdown,
            ended: self.ended,
        };
        let Some(handover) = service.streams.clone() else {
            return driver.http2(io, service).await;
        };
        loop {
            let Some(taken) = driver.http1(io, service, handover.clone()).await else {
                return;
            };
            service = taken.service;
            let Some(again) = driver.stream(taken.answer, taken.io).await else {
                return;
            };
            io = again;
        }
    }
}

/// Calls the handler.
struct Service<H> {
    handler: Arc<H>,
    http: Arc<Http>,
    peer: Peer,
    activity: Arc<Activity>,
    clock: Clock,
    /// Where answers that are streams are left, on HTTP/1.1.
    streams: Option<Arc<Handover>>,
}

impl<H: Handler> hyper::service::Service<Request<Incoming>> for Service<H> {
    type Response = Response<Answer>;
    type Error = Infallible;
    // Boxed, because hyper keeps the room for an HTTP/1.1 connection's future as long as the connection.
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let guard = self.activity.begin(self.clock);
        if let Err(failure) = host::settle(&mut request) {
            let response = refused(&failure).map(|body| Answer {
                body,
                request: guard,
            });
            return Box::pin(std::future::ready(Ok(response)));
        }
        let limit = self.http.limits.url_bytes as usize;
        let url = request.uri().path_and_query();
        if url.is_some_and(|url| url.as_str().len() > limit) {
            let response = too_long(limit).map(|body| Answer {
                body,
                request: guard,
            });
            return Box::pin(std::future::ready(Ok(response)));
        }
        let streams = self
            .streams
            .clone()
            .map(|place| (place, Terms::of(&request)));
        let sends = !request.body().is_end_stream();
        let activity = self.activity.clone();
        let answer = self.handler.clone().call(request, self.peer);
        Box::pin(async move {
            let response = answer.await.map(|body| Answer {
                body,
                request: guard,
            });
            activity.set_refused(sends && !response.status().is_success());
            let Some((place, terms)) = streams else {
                return Ok(response);
            };
            match terms.writer_of(response) {
                Writer::Hyper(response) => Ok(response),
                Writer::Here(answer) => {
                    place.put(answer);
                    // hyper is not asked again for this request.
                    pending().await
                }
            }
        })
    }
}

/// The URL is longer than is taken.
fn too_long(limit: usize) -> Response<Body> {
    let message = format!("the URL is longer than {limit} bytes");
    refused(&Failure::new(414, "RequestURITooLong", message))
}

/// An answer to what no handler is to see.
fn refused(failure: &Failure) -> Response<Body> {
    let mut response = Response::new(failure.to_json().into());
    *response.status_mut() = StatusCode::from_u16(failure.code).unwrap_or(StatusCode::BAD_REQUEST);
    let json = http::HeaderValue::from_static("application/json");
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, json);
    response
}

/// A connection of either protocol.
trait Closing: Future<Output = hyper::Result<()>> {
    /// Takes no more requests, and ends when those it has are answered.
    fn close(self: Pin<&mut Self>);
}

/// A connection while hyper speaks HTTP/1.1 on it: until it ends, or an answer is to be taken from it.
struct Http1<S, H: Handler> {
    connection: http1::UpgradeableConnection<TokioIo<Io<S>>, Service<H>>,
    activity: Arc<Activity>,
    handover: Arc<Handover>,
}

/// An answer that was taken, and what it was taken from.
struct Taken<S, H> {
    answer: Streamed,
    io: Io<S>,
    service: Service<H>,
}

impl<S, H> Http1<S, H>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    async fn drive(mut self, driver: &Driver) -> Option<Taken<S, H>> {
        driver.drive(Pin::new(&mut self)).await;
        let answer = self.handover.take();
        let parts = self.connection.into_parts()?;
        let mut io = parts.io.into_inner();
        let Some(answer) = answer else {
            if self.activity.is_refused() {
                driver.linger(io).await;
            }
            return None;
        };
        if !parts.read_buf.is_empty() {
            // Copied, since it is a corner of a large buffer.
            io.ahead = [&parts.read_buf[..], &io.ahead].concat().into();
        }
        Some(Taken {
            answer,
            io,
            service: parts.service,
        })
    }
}

impl<S, H> Future for Http1<S, H>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    type Output = hyper::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match Pin::new(&mut self.connection).poll(context) {
            // What was written before has to leave first, and hyper has it.
            Poll::Pending if self.handover.is_ready() && !self.activity.is_blocked() => {
                Poll::Ready(Ok(()))
            }
            other => other,
        }
    }
}

impl<S, H> Closing for Http1<S, H>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    fn close(mut self: Pin<&mut Self>) {
        Pin::new(&mut self.connection).graceful_shutdown();
    }
}

impl<I, H> Closing for http2::Connection<I, Service<H>, TokioExecutor>
where
    I: Read + Write + Unpin + Send + 'static,
    H: Handler,
{
    fn close(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Drives a connection: as long as it is used, or until it is told to end.
struct Driver {
    http: Arc<Http>,
    framed: bool,
    activity: Arc<Activity>,
    clock: Clock,
    shutdown: Shutdown,
    ended: Shutdown,
}

/// The future of a connection's turn, apart from the connection's task.
type Turn<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl Driver {
    /// HTTP/2, to the end of the connection.
    fn http2<S, H>(&self, io: Io<S>, service: Service<H>) -> Turn<'_, ()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        H: Handler,
    {
        let connection = self.http.http2.serve_connection(TokioIo::new(io), service);
        Box::pin(async move { self.drive(pin!(connection)).await })
    }

    /// HTTP/1.1, until the connection ends or an answer is to be taken from it.
    fn http1<S, H>(
        &self,
        io: Io<S>,
        service: Service<H>,
        handover: Arc<Handover>,
    ) -> Turn<'_, Option<Taken<S, H>>>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        H: Handler,
    {
        let connection = self.http.http1.serve_connection(TokioIo::new(io), service);
        let turn = Http1 {
            connection: connection.with_upgrades(),
            activity: self.activity.clone(),
            handover,
        };
        Box::pin(turn.drive(self))
    }

    /// An answer that was taken.
    fn stream<S>(&self, answer: Streamed, io: Io<S>) -> Turn<'_, Option<Io<S>>>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        Box::pin(answer.write(io, self.shutdown.clone(), self.ended.clone()))
    }

    /// Reads on for a moment without looking. A connection that is closed with bytes unread is reset, and the peer may lose
    /// the answer that it has not read yet, because it is still sending.
    async fn linger<S: AsyncRead + Unpin>(&self, mut io: S) {
        let mut ended = self.ended.clone();
        let read = async {
            let mut ignored = vec![0; MIN_BUFFER];
            while io.read(&mut ignored).await.is_ok_and(|read| read > 0) {}
        };
        tokio::select! {
            _ = timeout(LINGER, read) => {}
            () = ended.begun() => {}
        }
    }

    /// Drives it to its end. To be awaited by a task of its own and not polled by anything in between: the signals are asked
    /// once, and then looked at, since the waker that they have stays the same. Thousands of connections are woken
    /// for each event, and asking takes locks.
    async fn drive(&self, mut connection: Pin<&mut impl Closing>) {
        let stopping = self.shutdown.clone();
        let (mut shutdown, mut ended) = (self.shutdown.clone(), self.ended.clone());
        let mut begun = pin!(shutdown.begun());
        let mut ended = pin!(ended.begun());
        let limits = &self.http.limits;
        let at = |millis| self.clock.0 + Duration::from_millis(millis);
        let mut armed = limits.header_timeout.as_millis() as u64;
        let mut timer = pin!(sleep_until(at(armed)));
        let mut first = true;
        let mut closing = false;
        let mut goodbye = false;
        let work = poll_fn(|context| {
            loop {
                if let Poll::Ready(result) = connection.as_mut().poll(context) {
                    return Poll::Ready(result);
                }
                if closing && ended.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Ok(()));
                }
                if (first || stopping.is_news())
                    && !closing
                    && begun.as_mut().poll(context).is_ready()
                {
                    closing = true;
                    connection.as_mut().close();
                    continue;
                }
                let deadline = self.activity.deadline(limits, self.framed);
                if let Some(nearer) = deadline.filter(|deadline| *deadline < armed && !goodbye) {
                    armed = nearer;
                    timer.as_mut().reset(at(nearer));
                    first = true;
                }
                if !first && !timer.is_elapsed() {
                    return Poll::Pending;
                }
                first = false;
                if timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                let now = self.clock.now();
                let over = deadline.is_some_and(|deadline| deadline <= now);
                if goodbye && over {
                    return Poll::Ready(Ok(()));
                }
                armed = if over {
                    goodbye = true;
                    connection.as_mut().close();
                    now + GOODBYE.as_millis() as u64
                } else {
                    let again = now + limits.idle_timeout.as_millis() as u64;
                    deadline.unwrap_or(again)
                };
                timer.as_mut().reset(at(armed));
                first = true;
            }
        });
        if let Err(error) = work.await {
            tracing::debug!(%error, "connection failed");
        }
    }
}
