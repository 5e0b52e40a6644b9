//! Whether a connection is worth keeping: what happens on it, and until when something has to.
//!
//! Noted by the connection's input (bytes), its service (requests) and its answers (their ends), and read by the task that
//! drives it. Times are milliseconds since the connection began. There are atomics because the requests of an HTTP/2 connection
//! run in tasks of their own; each value stands for itself, and one that is read a moment late only moves a deadline
//! that is looked at again.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::Limits;
use crate::body::{Body, BoxError};

/// What happens on a connection.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Requests that have not been answered to the end.
    requests: AtomicU32,
    /// Whether there has been a request.
    used: AtomicU32,
    /// When the last answer ended.
    quiet_since: AtomicU64,
    /// When the first byte of an unfinished head came, plus one; 0 for none.
    head_since: AtomicU64,
    /// Whether the peer has not taken all that was to be written.
    blocked: AtomicBool,
    /// Whether the last request was refused and may have more of a body than was read.
    refused: AtomicBool,
}

impl Activity {
    /// Bytes came in.
    pub(super) fn received(&self, now: u64) {
        if self.requests.load(Relaxed) == 0 && self.head_since.load(Relaxed) == 0 {
            self.head_since.store(now + 1, Relaxed);
        }
    }

    /// Whether something is still to be written that the peer does not take yet.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.load(Relaxed)
    }

    /// Says so.
    pub(super) fn set_blocked(&self, blocked: bool) {
        self.blocked.store(blocked, Relaxed);
    }

    /// Whether the peer may still be sending what nobody wants.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.load(Relaxed)
    }

    /// Says so.
    pub(super) fn set_refused(&self, refused: bool) {
        self.refused.store(refused, Relaxed);
    }

    /// A request begins. It ends when `clock` is asked for the time by the last drop of what this returns.
    pub(super) fn begin(self: &Arc<Self>, clock: Clock) -> Request {
        self.requests.fetch_add(1, Relaxed);
        self.used.store(1, Relaxed);
        self.head_since.store(0, Relaxed);
        Request {
            activity: self.clone(),
            clock,
        }
    }

    /// When the connection is to be closed unless something happens before; `None` while it is in use.
    ///
    /// On HTTP/2 (`framed`) bytes may be of any frame, so they do not begin a head.
    pub(super) fn deadline(&self, limits: &Limits, framed: bool) -> Option<u64> {
        if self.requests.load(Relaxed) > 0 {
            return None;
        }
        let (header, idle) = (limits.header_timeout, limits.idle_timeout);
        let head_since = self.head_since.load(Relaxed);
        let idle_until = self.quiet_since.load(Relaxed) + idle.as_millis() as u64;
        Some(match head_since {
            _ if self.used.load(Relaxed) == 0 => header.as_millis() as u64,
            since if since > 0 && !framed => since - 1 + header.as_millis() as u64,
            _ => idle_until,
        })
    }
}

/// The age of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock(pub(super) tokio::time::Instant);

impl Clock {
    /// In milliseconds.
    pub(super) fn now(self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }
}

/// A request on the connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Request {
    activity: Arc<Activity>,
    clock: Clock,
}

impl Drop for Request {
    fn drop(&mut self) {
        self.activity.quiet_since.store(self.clock.now(), Relaxed);
        self.activity.requests.fetch_sub(1, Relaxed);
    }
}

/// The body of an answer, whose end is the end of its request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) body: Body,
    pub(super) request: Request,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;

    fn limits() -> Limits {
        Limits {
            header_timeout: Duration::from_millis(100),
            idle_timeout: Duration::from_millis(1000),
            ..Limits::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_lives_as_long_as_it_is_used() {
        let (limits, clock) = (limits(), Clock(Instant::now()));
        let activity = Arc::new(Activity::default());
        let deadline = |framed| activity.deadline(&limits, framed);
        // A new one has to begin soon, byte by byte or not.
        assert_eq!(deadline(false), Some(100));
        activity.received(50);
        assert_eq!(deadline(false), Some(100));
        // Nothing is asked of one that works.
        let first = activity.begin(clock);
        let second = activity.begin(clock);
        assert_eq!(deadline(false), None);
        tokio::time::advance(Duration::from_millis(5000)).await;
        drop(first);
        assert_eq!(deadline(false), None);
        drop(second);
        assert_eq!(deadline(false), Some(6000));
        // The next head has to come swiftly once it begins; frames are no heads.
        activity.received(5500);
        activity.received(5590);
        assert_eq!(deadline(false), Some(5600));
        assert_eq!(deadline(true), Some(6000));
        let third = activity.begin(clock);
        // Bytes of a request's body begin nothing.
        activity.received(5700);
        drop(third);
        assert_eq!(deadline(false), Some(6000));
    }
}
