//! How many requests are worked on at once.
//!
//! Two caps, so that a crowd of readers does not keep writers out, nor the other way round. Who does not fit is told so at
//! once instead of being queued: its client knows better than a queue whether it still wants the answer.

use std::sync::Arc;

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Limits;
use crate::body::Body;

/// The requests in flight, counted by what they do. Clones count together.
///
/// ```
/// use ringwatch_server::serve::{InFlight, Kind, Limits};
///
/// let in_flight = InFlight::new(&Limits { writing: 1, ..Limits::default() });
/// let first = in_flight.admit(Kind::Mutating).unwrap();
/// assert!(in_flight.admit(Kind::Mutating).is_err());
/// assert!(in_flight.admit(Kind::ReadOnly).is_ok());
/// drop(first);
/// assert!(in_flight.admit(Kind::Mutating).is_ok());
/// ```
#[derive(Debug, Clone)]
pub struct InFlight {
    reading: Cap,
    writing: Cap,
}

#[derive(Debug, Clone)]
struct Cap {
    places: Arc<Semaphore>,
    all: usize,
}

/// What a request does, as far as its cost is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It reads: GET, LIST and the like.
    ReadOnly,
    /// It writes.
    Mutating,
    /// It lasts, as watches do. Not capped here: connections and streams are.
    LongRunning,
}

/// A request that is worked on. It counts until this is dropped, so keep it until the answer is made.
#[derive(Debug)]
#[must_use = "the request counts only as long as this is kept"]
pub struct Admitted {
    _place: Option<OwnedSemaphorePermit>,
}

/// There are as many requests as may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

impl InFlight {
    /// Caps from [`Limits::reading`] and [`Limits::writing`].
    pub fn new(limits: &Limits) -> Self {
        Self {
            reading: Cap::new(limits.reading),
            writing: Cap::new(limits.writing),
        }
    }

    /// Counts a request in, if there is a place for it.
    pub fn admit(&self, kind: Kind) -> Result<Admitted, Busy> {
        let place = match kind {
            Kind::LongRunning => None,
            Kind::ReadOnly => Some(self.reading.take()?),
            Kind::Mutating => Some(self.writing.take()?),
        };
        Ok(Admitted { _place: place })
    }

    /// How many there are now, reading and writing: for metrics.
    pub fn counts(&self) -> (usize, usize) {
        (self.reading.count(), self.writing.count())
    }
}

impl Cap {
    fn new(all: u32) -> Self {
        let all = (all as usize).min(Semaphore::MAX_PERMITS);
        Self {
            places: Arc::new(Semaphore::new(all)),
            all,
        }
    }

    fn take(&self) -> Result<OwnedSemaphorePermit, Busy> {
        self.places.clone().try_acquire_owned().map_err(|_| Busy)
    }

    fn count(&self) -> usize {
        self.all.saturating_sub(self.places.available_permits())
    }
}

impl Busy {
    /// The answer that Kubernetes gives: 429, and when to come again.
    pub fn response(self) -> Response<Body> {
        let mut response = Response::new("Too many requests, please try again later.\n".into());
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        headers.insert(CONTENT_TYPE, text);
        response
    }
}
