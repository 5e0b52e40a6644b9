//! What an answer carries: nothing, bytes, a stream of bytes, or news as they come.
//!
//! One type for every answer, so that handlers and connections need not be generic over bodies. An answer that is whole
//! (most are) costs no allocation here and knows its length, so HTTP/1.1 needs no chunks for it.
//!
//! ```
//! use http_body::Body as _;
//! use ringwatch_server::body::Body;
//!
//! let body = Body::from("ok");
//! assert_eq!(body.size_hint().exact(), Some(2));
//! assert!(Body::Empty.is_end_stream());
//! ```

use std::error::Error;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::then::Then;

/// Whatever ended a stream too early. The connection is closed on it, so that the client does not take the part for the
/// whole.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A body that comes piece by piece.
pub type Stream = Pin<Box<dyn http_body::Body<Data = Bytes, Error = BoxError> + Send>>;

/// News as they come: a body that is silent most of the time, and of which there are thousands.
///
/// It is asked to append to a buffer, which the asker uses for all of them in turn: memory that was just used is near, and
/// nothing is allocated for a piece that leaves at once.
pub trait News: Send {
    /// Appends the next piece to `out`, all of what is there up to some size; `None` at the end.
    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<Option<Result<Then, BoxError>>>;
}

/// The body of an answer.
#[derive(Default)]
pub enum Body {
    /// Nothing.
    #[default]
    Empty,
    /// All of it.
    Full(Bytes),
    /// Piece by piece; see [`Body::stream`].
    Stream(Stream),
    /// As it comes; see [`Body::news`].
    News(Box<dyn News>),
}

impl Body {
    /// Sends what `body` yields. Each piece is written when it comes: who has several ready hands them over as one.
    pub fn stream(
        body: impl http_body::Body<Data = Bytes, Error = BoxError> + Send + 'static,
    ) -> Self {
        Self::Stream(Box::pin(body))
    }

    /// Sends what there is to tell whenever there is something.
    pub fn news(news: impl News + 'static) -> Self {
        Self::News(Box::new(news))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let body = self.get_mut();
        match body {
            Self::Empty => Poll::Ready(None),
            Self::Full(bytes) => {
                let bytes = mem::take(bytes);
                *body = Self::Empty;
                let frame = (!bytes.is_empty()).then(|| Ok(Frame::data(bytes)));
                Poll::Ready(frame)
            }
            Self::Stream(stream) => stream.as_mut().poll_frame(context),
            Self::News(news) => {
                let mut piece = Vec::new();
                news.poll_piece(context, &mut piece)
                    .map(|then| then.map(|then| then.map(|_| Frame::data(piece.into()))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Full(bytes) => bytes.is_empty(),
            Self::Stream(stream) => stream.is_end_stream(),
            Self::News(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(stream) => stream.size_hint(),
            Self::News(_) => SizeHint::default(),
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Full(bytes)
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Full(bytes.into())
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::Full(text.into())
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Self::Full(Bytes::from_static(text.as_bytes()))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
            Self::News(_) => f.write_str("News"),
        }
    }
}
