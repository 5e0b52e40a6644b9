//! The body of a watch's answer.

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;

use super::source::{Ended, Source};
use crate::api::rendition::Rendition;
use crate::body::BoxError;
use crate::cache::WatchEvent;
use crate::compress;

/// Events taken from the ring at once.
const EVENTS: NonZeroUsize = NonZeroUsize::new(64).unwrap();
/// A piece that has grown to this is sent, and the rest comes in the next: what a slow reader costs is bounded by it.
const PIECE: usize = 48 * 1024;

/// Events as they come, encoded. Whatever is ready is sent in one piece.
pub(super) struct WatchBody {
    source: Source,
    rendition: Rendition,
    /// Events taken and not sent yet, the next one last. Empty most of the time, and then without memory.
    waiting: Vec<WatchEvent>,
    marks_initial_end: bool,
    compressed: bool,
    over: bool,
}

impl WatchBody {
    pub(super) fn new(
        source: Source,
        rendition: Rendition,
        marks_initial_end: bool,
        compressed: bool,
    ) -> Self {
        Self {
            source,
            rendition,
            waiting: Vec::new(),
            marks_initial_end,
            compressed,
            over: false,
        }
    }

    /// The next piece; `None` at the end.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let mut piece = Vec::new();
        while !self.over {
            while piece.len() < PIECE
                && let Some(event) = self.waiting.pop()
            {
                self.encode(&event, &mut piece);
            }
            if piece.len() >= PIECE || self.over {
                break;
            }
            self.waiting = Vec::new();
            match self.source.poll(context, EVENTS, &mut self.waiting) {
                Poll::Pending if piece.is_empty() => return Poll::Pending,
                Poll::Pending => break,
                Poll::Ready(Ok(())) => self.waiting.reverse(),
                Poll::Ready(Err(end)) => {
                    if let Ended::With(failure) = end {
                        self.rendition.error(&failure, &mut piece);
                    }
                    self.over = true;
                }
            }
        }
        Poll::Ready((!piece.is_empty()).then_some(piece))
    }

    fn encode(&mut self, event: &WatchEvent, piece: &mut Vec<u8>) {
        let skipped = matches!(
            event,
            WatchEvent::Bookmark {
                initial_events_end: true,
                ..
            }
        ) && !self.marks_initial_end;
        if skipped {
            return;
        }
        if let Err(failure) = self.rendition.event(event, piece) {
            // A client that is not told would miss the event in silence.
            self.rendition.error(&failure, piece);
            self.over = true;
        }
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
