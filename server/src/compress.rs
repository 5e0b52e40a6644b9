//! gzip for answers that are large enough to gain by it.
//!
//! Answers to one request are compressed when they are larger than [`THRESHOLD`], fast rather than
//! tight: on repetitive JSON the first level saves most of what there is to save. A streamed list is
//! compressed batch by batch, each a gzip *member* of its own ([`Stream`]): a client sees every batch at
//! once, and a stream that waits holds no compressor, which is a few hundred kilobytes. A body of which parts come again is
//! compressed in [sections](Section) that are kept and joined: to a client it is one member like any other.
//!
//! ```
//! use ringwatch_server::compress::{accepts_gzip, gzip};
//!
//! assert!(accepts_gzip(Some("deflate, gzip")));
//! let body = gzip([b"{\"items\":[".as_slice(), b"]}"]);
//! assert_eq!(body[..2], [0x1f, 0x8b]);
//! ```

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use bytes::{BufMut as _, Bytes};
use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};

/// Answers up to this size are sent as they are: 128 KiB, as by a kube-apiserver.
pub const THRESHOLD: usize = 128 * 1024;

/// How hard to try, from 1 to 9.
const LEVEL: u32 = 1;

/// Whether a client takes gzip: its `Accept-Encoding` lists it, with whatever weight, as by a kube-apiserver.
#[must_use]
pub fn accepts_gzip(header: Option<&str>) -> bool {
    let mut codings = header.unwrap_or("").split(',');
    codings.any(|coding| {
        let name = coding.split(';').next().unwrap_or("");
        name.trim().eq_ignore_ascii_case("gzip")
    })
}

/// Whether an answer of this length is worth compressing.
#[must_use]
pub const fn is_large(len: usize) -> bool {
    len > THRESHOLD
}

/// Compresses a body, given in pieces, as one gzip member.
#[must_use]
pub fn gzip<B: AsRef<[u8]>>(pieces: impl IntoIterator<Item = B>) -> Vec<u8> {
    let mut stream = Stream::new();
    for piece in pieces {
        stream.write(piece.as_ref());
    }
    // An empty body is a member too.
    stream.member();
    stream.flush()
}

/// A part of a body, compressed for itself. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Section {
    /// Ends at a byte and refers to nothing before itself, so it can stand anywhere in a member.
    deflated: Bytes,
    /// Of the plain bytes.
    crc: Arc<Crc>,
}

impl Section {
    /// Compresses a part.
    #[must_use]
    pub fn new(plain: &[u8]) -> Self {
        let mut crc = Crc::new();
        crc.update(plain);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(LEVEL));
        // A vector takes everything.
        let written = encoder.write_all(plain).and_then(|()| encoder.flush());
        debug_assert!(written.is_ok(), "{written:?}");
        Self {
            deflated: std::mem::take(encoder.get_mut()).into(),
            crc: Arc::new(crc),
        }
    }

    /// Joins parts to a whole body, one gzip member. Gives the parts as they lie in it, so that nothing is held twice.
    #[must_use]
    pub fn join(sections: &[Self]) -> (Bytes, Vec<Self>) {
        let deflated: usize = sections.iter().map(|part| part.deflated.len()).sum();
        let mut body = Vec::with_capacity(HEADER.len() + deflated + LAST_BLOCK.len() + 8);
        body.extend_from_slice(&HEADER);
        let mut crc = Crc::new();
        for section in sections {
            body.extend_from_slice(&section.deflated);
            crc.combine(&section.crc);
        }
        body.extend_from_slice(&LAST_BLOCK);
        body.put_u32_le(crc.sum());
        body.put_u32_le(crc.amount());
        let body = Bytes::from(body);
        let mut from = HEADER.len();
        let placed = sections.iter().map(|section| {
            let until = from + section.deflated.len();
            let deflated = body.slice(from..until);
            from = until;
            let crc = section.crc.clone();
            Self { deflated, crc }
        });
        let placed = placed.collect();
        (body, placed)
    }
}

/// The header of a member: deflated, without a name or a time, made fast, by an unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];
/// An empty block that says it is the last.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// A body that is compressed as it comes into being.
#[derive(Default)]
pub struct Stream {
    /// There is one only between the first write of a batch and its flush.
    member: Option<GzEncoder<Vec<u8>>>,
}

impl Stream {
    /// A stream in which nothing was written.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds to the batch. What can be sent of it already stays until the flush.
    pub fn write(&mut self, bytes: &[u8]) {
        let written = self.member().write_all(bytes);
        debug_assert!(written.is_ok(), "a vector takes everything: {written:?}");
    }

    /// Ends the batch and gives all that is to be sent of it: one whole member, or nothing if nothing
    /// was written.
    #[must_use = "the bytes are nowhere else"]
    pub fn flush(&mut self) -> Vec<u8> {
        let member = self.member.take();
        // Finishing writes to a vector, which takes everything.
        member
            .and_then(|member| member.finish().ok())
            .unwrap_or_default()
    }

    fn member(&mut self) -> &mut GzEncoder<Vec<u8>> {
        self.member
            .get_or_insert_with(|| GzEncoder::new(Vec::new(), Compression::new(LEVEL)))
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("batch", &self.member.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::{GzDecoder, MultiGzDecoder};

    use super::*;

    fn unpacked(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        MultiGzDecoder::new(bytes).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn gzip_is_for_those_who_list_it() {
        for (header, expected) in [
            (None, false),
            (Some(""), false),
            (Some("gzip"), true),
            (Some("GZIP"), true),
            (Some("deflate, gzip;q=0.5, br"), true),
            (Some("gzip; q=0.1"), true),
            (Some("gzip;q=0"), true),
            (Some("identity"), false),
            (Some("xgzip, gzipx"), false),
            (Some("*"), false),
        ] {
            assert_eq!(accepts_gzip(header), expected, "{header:?}");
        }
    }

    #[test]
    fn the_threshold_itself_is_not_large() {
        assert!(!is_large(131_072));
        assert!(is_large(131_073));
    }

    #[test]
    fn a_body_comes_back_whole_and_smaller() {
        let piece = br#"{"metadata":{"name":"object","labels":{"app":"web"}}},"#.repeat(100);
        let packed = gzip([&piece, &piece]);
        assert_eq!(unpacked(&packed), piece.repeat(2));
        assert!(
            packed.len() * 10 < piece.len() * 2,
            "{} bytes",
            packed.len()
        );
        assert_eq!(unpacked(&gzip::<&[u8]>([])), b"");
    }

    #[test]
    fn sections_can_be_joined_in_any_order_and_again() {
        let text = |word: &str| format!("{{\"name\":\"{word}\"}},").repeat(2_000);
        let texts = ["one", "two", "three"].map(text);
        let sections = texts.each_ref().map(|text| Section::new(text.as_bytes()));
        let (body, placed) = Section::join(&sections);
        assert_eq!(unpacked(&body), texts.concat().as_bytes());
        let mut one_member = Vec::new();
        GzDecoder::new(&*body).read_to_end(&mut one_member).unwrap();
        assert_eq!(one_member, texts.concat().as_bytes());
        let [one, two, three] = placed.try_into().unwrap();
        let end = Section::new(b"end");
        let (body, _) = Section::join(&[three, Section::new(b""), one, two, end]);
        let expected = [&texts[2], &texts[0], &texts[1], "end"].concat();
        assert_eq!(unpacked(&body), expected.as_bytes());
        assert_eq!(unpacked(&Section::join(&[]).0), b"");
    }

    #[test]
    fn each_batch_is_a_member_that_can_be_read_at_once() {
        let mut stream = Stream::new();
        assert_eq!(stream.flush(), b"");
        stream.write(b"one ");
        stream.write(b"two ");
        let first = stream.flush();
        let mut seen = Vec::new();
        GzDecoder::new(first.as_slice())
            .read_to_end(&mut seen)
            .unwrap();
        assert_eq!(seen, b"one two ");
        assert_eq!(stream.flush(), b"");
        stream.write(b"three");
        assert_eq!(
            unpacked(&[first, stream.flush()].concat()),
            b"one two three"
        );
    }
}
