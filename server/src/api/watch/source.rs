//! Where the events of a watch come from, to be polled.

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::cache::{self, Seen, WatchEnd, WatchEvent};
use crate::reader::{DirectWatch, Watch};
use crate::status::Failure;
use crate::then::Then;

/// A watch, or why there is none.
pub(super) enum Source {
    Cached(cache::Watch),
    /// From storage; the future has the watch and gives it back with an event.
    Direct(Pin<Box<dyn Future<Output = Taken> + Send>>),
    /// Nothing but a failure.
    Failed(Option<Failure>),
}

type Taken = (Box<DirectWatch>, Result<WatchEvent, WatchEnd>);

/// Why there are no more events.
#[derive(Debug)]
pub(super) enum Ended {
    /// Its time is up.
    TimedOut,
    /// The server stops.
    ShuttingDown,
    /// The client has to be told.
    With(Failure),
}

impl Source {
    pub(super) fn failed(failure: Failure) -> Self {
        Self::Failed(Some(failure))
    }

    /// Gives at least one event, up to `limit`.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
        limit: NonZeroUsize,
        take: &mut impl FnMut(Seen<'_>),
    ) -> Poll<Result<Then, Ended>> {
        match self {
            Self::Cached(watch) => watch.poll_many(context, limit, take).map_err(ended),
            Self::Direct(next) => next.as_mut().poll(context).map(|(watch, event)| {
                *self = Self::after(watch);
                event.map_err(ended).map(|event| {
                    take(event.seen());
                    Then::Ask
                })
            }),
            Self::Failed(failure) => Poll::Ready(Err(match failure.take() {
                Some(failure) => Ended::With(failure),
                None => Ended::TimedOut,
            })),
        }
    }

    fn after(mut watch: Box<DirectWatch>) -> Self {
        Self::Direct(Box::pin(async move {
            let event = watch.next().await;
            (watch, event)
        }))
    }
}

impl From<Watch> for Source {
    fn from(watch: Watch) -> Self {
        match watch {
            Watch::Cached(watch) => Self::Cached(watch),
            Watch::Direct(watch) => Self::after(watch),
        }
    }
}

fn ended(end: WatchEnd) -> Ended {
    match end {
        WatchEnd::TimedOut => Ended::TimedOut,
        WatchEnd::ShuttingDown => Ended::ShuttingDown,
        // A client that is not told would take the silence for no news.
        WatchEnd::Expired { floor } => Ended::With(Failure::expired(format!(
            "too old resource version: the watch fell behind ({floor})"
        ))),
        WatchEnd::Storage(error) => Ended::With(Failure::internal(error)),
    }
}
