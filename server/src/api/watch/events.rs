//! The events of a watch, encoded one after the other.

use std::num::NonZeroUsize;
use std::task::{Context, Poll};

use super::counted::Counted;
use super::source::{Ended, Source};
use crate::api::rendition::Rendition;
use crate::cache::{Seen, WatchEvent};
use crate::then::Then;

/// Events taken from the ring at once.
const EVENTS: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// The events of a watch in the form that the client asked for.
pub(super) struct Events {
    source: Source,
    rendition: Rendition,
    /// Events taken and not encoded yet, the next one last. Empty most of the time, and then without memory.
    waiting: Vec<WatchEvent>,
    counted: Counted,
    marks_initial_end: bool,
    end: Option<End>,
}

/// How the events of a watch end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its time was up, or the last event says what is wrong.
    Over,
    /// The server stops.
    ShuttingDown,
}

impl Events {
    pub(super) fn new(
        source: Source,
        rendition: Rendition,
        counted: Counted,
        marks_initial_end: bool,
    ) -> Self {
        Self {
            source,
            rendition,
            waiting: Vec::new(),
            counted,
            marks_initial_end,
            end: None,
        }
    }

    /// Whether events are text.
    pub(super) fn are_text(&self) -> bool {
        self.rendition.is_text()
    }

    /// Appends the next event to `out`, with its frame.
    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<Result<Then, End>> {
        let before = out.len();
        loop {
            if let Some(end) = self.end {
                return Poll::Ready(Err(end));
            }
            if let Some(event) = self.waiting.pop() {
                self.encode(&event, out);
                if out.len() > before {
                    self.counted.sent.count(out.len() - before);
                    return Poll::Ready(Ok(Then::Ask));
                }
                continue;
            }
            self.waiting = Vec::new();
            let (rendition, waiting) = (&self.rendition, &mut self.waiting);
            let mut take = |event: Seen<'_>| {
                // Most events come alone, and leave as they are.
                let first = out.len() == before && waiting.is_empty();
                if !(first && rendition.copy(event, out)) {
                    waiting.push(event.into());
                }
            };
            match self.source.poll(context, EVENTS, &mut take) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(then)) => {
                    self.waiting.reverse();
                    if out.len() > before {
                        self.counted.sent.count(out.len() - before);
                        let all = self.waiting.is_empty();
                        return Poll::Ready(Ok(if all { then } else { Then::Ask }));
                    }
                }
                Poll::Ready(Err(Ended::TimedOut)) => self.end = Some(End::Over),
                Poll::Ready(Err(Ended::ShuttingDown)) => self.end = Some(End::ShuttingDown),
                Poll::Ready(Err(Ended::With(failure))) => {
                    self.rendition.error(&failure, out);
                    self.end = Some(End::Over);
                    return Poll::Ready(Ok(Then::Ask));
                }
            }
        }
    }

    fn encode(&mut self, event: &WatchEvent, out: &mut Vec<u8>) {
        let ends_state = matches!(
            event,
            WatchEvent::Bookmark {
                initial_events_end: true,
                ..
            }
        );
        if ends_state && !self.marks_initial_end {
            return;
        }
        let before = out.len();
        if let Err(failure) = self.rendition.event(event, out) {
            // A client that is not told would miss the event in silence.
            out.truncate(before);
            self.rendition.error(&failure, out);
            self.end = Some(End::Over);
        } else if ends_state {
            self.counted.listed();
        }
    }
}
