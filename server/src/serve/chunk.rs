//! The chunks of an answer over HTTP/1.1.
//!
//! Every thread puts its chunks together in one piece of memory, which the next one uses again: it is near, nothing is allocated,
//! and one call writes frame and bytes. Only what the peer does not take at once is kept for its connection.

use std::cell::Cell;
use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite};

use super::io::Io;

/// The length of a chunk in hexadecimal, and the end of its line.
const FRAME: usize = 2 * size_of::<usize>() + 2;
/// What a thread keeps of its memory; larger chunks are rare.
const KEPT: usize = 64 * 1024;
pub(super) const LINE_END: &[u8] = b"\r\n";
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

thread_local! {
    static MEMORY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Lends this thread's memory for one chunk.
pub(super) fn with<T>(work: impl FnOnce(&mut Chunk) -> T) -> T {
    let mut memory = MEMORY.take();
    memory.clear();
    memory.resize(FRAME, 0);
    let mut chunk = Chunk(memory);
    let result = work(&mut chunk);
    let mut memory = chunk.0;
    memory.clear();
    memory.shrink_to(KEPT);
    MEMORY.set(memory);
    result
}

/// A chunk: room for its frame, and its bytes.
pub(super) struct Chunk(Vec<u8>);

impl Chunk {
    /// Where its bytes are to be appended.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// Writes it, in one call if the peer takes it; what it does not take is left in `rest`. An empty one would end
    /// the answer, and is not written.
    pub(super) fn write<S>(
        &mut self,
        io: &mut Io<S>,
        rest: &mut Rest,
        context: &mut Context<'_>,
    ) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let Some(framed) = self.frame() else {
            return Ok(());
        };
        let written = match Pin::new(io).poll_write(context, framed) {
            Poll::Ready(written) => written?,
            Poll::Pending => 0,
        };
        rest.bytes.extend_from_slice(&framed[written..]);
        Ok(())
    }

    /// The whole of it, if it has bytes.
    fn frame(&mut self) -> Option<&[u8]> {
        let length = self.0.len() - FRAME;
        if length == 0 {
            return None;
        }
        let mut frame = [0; FRAME];
        let mut free = &mut frame[..];
        // There is room for any length.
        let _ = write!(free, "{length:x}\r\n");
        let used = FRAME - free.len();
        let begin = FRAME - used;
        self.0[begin..FRAME].copy_from_slice(&frame[..used]);
        self.0.extend_from_slice(LINE_END);
        Some(&self.0[begin..])
    }
}

/// What is to be written before anything else.
#[derive(Debug, Default)]
pub(super) struct Rest {
    bytes: Vec<u8>,
    written: usize,
}

impl From<Vec<u8>> for Rest {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, written: 0 }
    }
}

impl Rest {
    /// Writes it; ready when it is gone, with all that was written before.
    pub(super) fn poll_write<S>(
        &mut self,
        io: &mut Io<S>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        while self.written < self.bytes.len() {
            let left = &self.bytes[self.written..];
            match ready!(Pin::new(&mut *io).poll_write(context, left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.written += written,
            }
        }
        // Its memory is not kept while there is nothing to write.
        *self = Self::default();
        Pin::new(io).poll_flush(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_says_its_length() {
        let text = |bytes: &[u8]| {
            with(|chunk| {
                chunk.bytes().extend_from_slice(bytes);
                chunk.frame().map(<[u8]>::to_vec)
            })
        };
        assert_eq!(text(b""), None);
        assert_eq!(text(b"one"), Some(b"3\r\none\r\n".to_vec()));
        let long = vec![b'x'; 0x1_0000];
        let whole = [b"10000\r\n", &long[..], LINE_END].concat();
        assert_eq!(text(&long), Some(whole));
        // The memory is the next one's, whatever was in it.
        assert_eq!(text(b"two"), Some(b"3\r\ntwo\r\n".to_vec()));
    }

    #[test]
    fn a_thread_does_not_keep_the_memory_of_a_large_chunk() {
        with(|chunk| chunk.bytes().resize(16 * KEPT, b'x'));
        with(|chunk| assert!(chunk.bytes().capacity() <= KEPT));
    }
}
