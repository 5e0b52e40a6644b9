//! The body of a watch's answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;

use super::events::Events;
use crate::body::BoxError;
use crate::compress;

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

    /// The next piece; `None` at the end.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let mut piece = Vec::new();
        while piece.len() < PIECE {
            match self.events.poll_next(context, &mut piece) {
                Poll::Pending if piece.is_empty() => return Poll::Pending,
                Poll::Ready(Ok(())) => {}
                // The end is found again next time.
                Poll::Pending | Poll::Ready(Err(_)) => break,
            }
        }
        Poll::Ready((!piece.is_empty()).then_some(piece))
    }
}

impl http_body::Body for WatchBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let body = self.get_mut();
        let compressed = body.compressed;
        body.poll_piece(context).map(|piece| {
            let piece = piece?;
            let piece = if compressed {
                compress::gzip([piece])
            } else {
                piece
            };
            Some(Ok(Frame::data(piece.into())))
        })
    }
}
