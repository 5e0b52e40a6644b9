//! The body of a watch's answer.

use std::task::{Context, Poll};

use super::events::Events;
use crate::body::{BoxError, News};
use crate::compress;
use crate::then::Then;

/// A piece that has grown to this is sent, and the rest comes in the next: what a slow reader costs is bounded by it.
const PIECE: usize = 48 * 1024;

/// Events as they come, encoded. Whatever is ready is sent in one piece.
pub(super) struct WatchBody {
    events: Events,
    compressed: bool,
}

impl WatchBody {
    pub(super) fn new(events: Events, compressed: bool) -> Self {
        Self { events, compressed }
    }

    /// Appends what is ready; `None` at the end.
    fn poll_events(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Option<Then>> {
        let before = out.len();
        while out.len() - before < PIECE {
            match self.events.poll_next(context, out) {
                Poll::Ready(Ok(Then::Ask)) => {}
                Poll::Pending if out.len() == before => return Poll::Pending,
                Poll::Ready(Ok(Then::Wait)) | Poll::Pending => {
                    return Poll::Ready(Some(Then::Wait));
                }
                Poll::Ready(Err(_)) if out.len() == before => return Poll::Ready(None),
                // The end is found again next time.
                Poll::Ready(Err(_)) => break,
            }
        }
        Poll::Ready(Some(Then::Ask))
    }
}

impl News for WatchBody {
    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<Option<Result<Then, BoxError>>> {
        if !self.compressed {
            return self.poll_events(context, out).map(|then| then.map(Ok));
        }
        let mut piece = Vec::new();
        self.poll_events(context, &mut piece).map(|then| {
            let then = then?;
            out.extend_from_slice(&compress::gzip([piece]));
            Some(Ok(then))
        })
    }
}
