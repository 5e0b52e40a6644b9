//! The bytes of a connection: with those that were read to tell its protocol, with a note of when some come in, and with its
//! place among the connections.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;

use super::activity::{Activity, Clock};

/// What every HTTP/2 connection begins with.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The first bytes of a connection without ALPN, which tell its protocol.
#[derive(Debug, Default)]
pub(super) struct Opening {
    bytes: [u8; PREFACE.len()],
    filled: u8,
}

impl Opening {
    /// Reads until it is clear what is spoken: no more than differs from HTTP/2.
    pub(super) async fn read(io: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut opening = Self::default();
        while !opening.is_http2() && opening.could_be_http2() {
            let (_, free) = opening.bytes.split_at_mut(usize::from(opening.filled));
            let read = io.read(free).await?;
            if read == 0 {
                break;
            }
            // At most the 24 free bytes.
            opening.filled += read as u8;
        }
        Ok(opening)
    }

    /// Whether it is HTTP/2, whose preface has come.
    pub(super) fn is_http2(&self) -> bool {
        self.bytes == *PREFACE
    }

    fn could_be_http2(&self) -> bool {
        let filled = &self.bytes[..usize::from(self.filled)];
        PREFACE.starts_with(filled)
    }

    /// What has been read, to be read again.
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::copy_from_slice(&self.bytes[..usize::from(self.filled)])
    }
}

/// A connection's bytes. The place it takes is given back when it is dropped, also by whom it was handed to in an
/// upgrade.
#[derive(Debug)]
pub(super) struct Io<S> {
    pub(super) stream: S,
    /// What was read before it was its turn, and is read again before anything else.
    pub(super) ahead: Bytes,
    pub(super) activity: Arc<Activity>,
    pub(super) clock: Clock,
    pub(super) _place: OwnedSemaphorePermit,
}

impl<S> Io<S> {
    /// Hands over what was read ahead.
    fn take_ahead(&mut self, buffer: &mut ReadBuf<'_>) -> usize {
        let count = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead[..count]);
        self.ahead.advance(count);
        if self.ahead.is_empty() {
            // The memory behind it is not needed any more.
            self.ahead = Bytes::new();
        }
        count
    }

    /// Notes whether all of what was to be written has been.
    fn wrote(&self, wanted: usize, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let all = matches!(&written, Poll::Ready(Ok(count)) if *count >= wanted);
        self.activity.set_blocked(!all);
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Io<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        // With what follows them, as if they had never been apart: hyper doubles its buffer for a read that leaves less room
        // than the last one had.
        let opened = self.take_ahead(buffer);
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {}
            // What is to be said about the stream will be said again.
            _ if opened > 0 => {}
            other => return other,
        }
        if buffer.filled().len() > before {
            self.activity.received(self.clock.now());
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Io<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(bytes.len(), written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        let wanted = slices.iter().map(|slice| slice.len()).sum();
        self.wrote(wanted, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8]) -> Opening {
        Opening::read(&mut &*bytes).await.unwrap()
    }

    #[tokio::test]
    async fn the_preface_and_nothing_else_is_http2() {
        assert!(read(PREFACE).await.is_http2());
        for other in [
            &b""[..],
            b"PRI * HTTP/2.0\r\n",
            b"PUT / HTTP/1.1\r\n\r\n",
            b"GET",
        ] {
            assert!(!read(other).await.is_http2(), "{other:?}");
        }
    }

    #[tokio::test]
    async fn what_was_read_is_there_to_be_read_again() {
        assert_eq!(read(b"PUT /").await.bytes(), "PUT /");
    }
}
