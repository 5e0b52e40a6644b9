//! One node's connection, from its first byte to its last.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ringwatch_core::link::frame::Code;
use ringwatch_core::link::serve::{Config, Session};
use ringwatch_core::link::{Ended, Seed};
use ringwatch_core::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Sleep;

use super::keys::Keys;
use super::source::{CacheSource, LinkWatch};
use crate::api::Api;
use crate::cache::Object;
use crate::clock::Clock;
use crate::serve::Shutdown;

/// Subscriptions of one node.
const SUBSCRIPTIONS: usize = 16;
/// The longest packet, in both directions.
const PACKET: usize = 4096;
/// Keys that are sent only once.
const KEYS: usize = 256;
/// What is read at once: nodes say little.
const READ: usize = 1024;
/// What a stream adds to a packet, and some.
const WIRE: usize = 16;
/// How long a node may take none of what is written to it.
const STUCK: Duration = Duration::from_secs(60);
/// Packets that are written before others run.
const BURST: usize = 32;
/// How often a connection looks up from a timer that never rings.
const LONG: Duration = Duration::from_secs(24 * 3600);

type NodeSession = Session<LinkWatch, Object, SUBSCRIPTIONS, PACKET, KEYS>;

/// A connection that was accepted.
pub(super) struct Connection {
    pub(super) api: Arc<Api>,
    pub(super) keys: watch::Receiver<Arc<Keys>>,
    pub(super) shutdown: Shutdown,
    pub(super) peer: SocketAddr,
    pub(super) _place: OwnedSemaphorePermit,
}

impl Connection {
    /// Serves it to its end.
    pub(super) async fn run(mut self, stream: TcpStream) {
        // Events are small and wanted at once. If the peer is gone already, reading will tell.
        let _ = stream.set_nodelay(true);
        let mut seed = [0; 32];
        if let Err(error) = getrandom::fill(&mut seed) {
            tracing::error!(%error, "no random bytes; a node is turned away");
            return;
        }
        let clock = Clock::start();
        let session = NodeSession::new(Config::default(), Seed::new(seed), clock.now());
        let keys = self.keys.borrow_and_update().clone();
        let mut line = Box::new(Line {
            stream,
            session,
            out: vec![0; PACKET + WIRE],
            filled: 0,
            written: 0,
            keys,
            clock,
            timer: Box::pin(tokio::time::sleep(LONG)),
            blocked_until: None,
            api: self.api,
        });
        let mut stopping = false;
        let finish = loop {
            tokio::select! {
                finish = poll_fn(|context| line.poll(context)) => break finish,
                Ok(()) = self.keys.changed() => {
                    let keys = self.keys.borrow_and_update().clone();
                    line.rekey(keys);
                }
                () = self.shutdown.begun(), if !stopping => {
                    stopping = true;
                    line.session.close(Code::ShuttingDown);
                }
            }
        };
        let (peer, node) = (self.peer, line.session.node().unwrap_or("?"));
        match finish {
            Ok(ended) => tracing::debug!(%peer, node, ?ended, "node link ended"),
            Err(error) => tracing::debug!(%peer, node, %error, "node link cut"),
        }
    }
}

/// A session and the socket it is on.
struct Line {
    stream: TcpStream,
    session: NodeSession,
    /// What is being written: the bytes from `written` to `filled`.
    out: Vec<u8>,
    filled: usize,
    written: usize,
    keys: Arc<Keys>,
    clock: Clock,
    timer: Pin<Box<Sleep>>,
    /// Until when the node has to take some of what is being written.
    blocked_until: Option<Instant>,
    api: Arc<Api>,
}

impl Line {
    /// Takes other keys; a node whose own have changed has to come in anew.
    fn rekey(&mut self, keys: Arc<Keys>) {
        let name = self.session.name();
        let stays = name.is_empty() || keys.keeps(name, &self.keys);
        self.keys = keys;
        if !stays {
            self.session.close(Code::Revoked);
        }
    }

    /// Moves bytes both ways until there is nothing to do, or the session has ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Ended>> {
        for _ in 0..BURST {
            let now = self.clock.now();
            if self.poll_write(context, now)?.is_pending() {
                return self.poll_blocked(context, now);
            }
            let source = CacheSource {
                api: &self.api,
                keys: &self.keys,
                waker: context.waker(),
            };
            if let Some(bytes) = self.session.poll_output(&source, now, &mut self.out) {
                (self.filled, self.written) = (bytes.len(), 0);
                continue;
            }
            if let Some(ended) = self.session.ended() {
                return Poll::Ready(Ok(ended));
            }
            let mut space = [0; READ];
            let mut buffer = ReadBuf::new(&mut space);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer)? {
                Poll::Ready(()) if buffer.filled().is_empty() => {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                Poll::Ready(()) => {
                    let bytes = buffer.filled();
                    self.session.receive(bytes, &source, &source, now);
                    continue;
                }
                Poll::Pending => {}
            }
            ready!(self.poll_timer(context, self.session.next_deadline()));
        }
        // Others want to run too.
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes what is left of the last output.
    fn poll_write(&mut self, context: &mut Context<'_>, now: Instant) -> io::Result<Poll<()>> {
        while let Some(left) = self.out.get(self.written..self.filled)
            && !left.is_empty()
        {
            match Pin::new(&mut self.stream).poll_write(context, left)? {
                Poll::Ready(0) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(written) => {
                    self.written += written;
                    self.blocked_until = None;
                }
                Poll::Pending => {
                    self.blocked_until.get_or_insert(now + STUCK);
                    return Ok(Poll::Pending);
                }
            }
        }
        Ok(Poll::Ready(()))
    }

    /// Waits for a node that does not read, but not for ever.
    fn poll_blocked(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<io::Result<Ended>> {
        let until = self.blocked_until.unwrap_or(now);
        ready!(self.poll_timer(context, until));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        let at = if at == Instant::NEVER {
            tokio::time::Instant::now() + LONG
        } else {
            self.clock.at(at)
        };
        if self.timer.deadline() != at {
            self.timer.as_mut().reset(at);
        }
        self.timer.as_mut().poll(context)
    }
}
