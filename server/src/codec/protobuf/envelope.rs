//! The envelope around every object, and the frames of a watch.

use super::DecodeError;
use super::wire::{Raw, Reader, put_bytes};

const MAGIC: &[u8; 4] = b"k8s\0";

/// Whether a body begins as protobuf does.
pub fn is_envelope(body: &[u8]) -> bool {
    body.starts_with(MAGIC)
}

/// Puts an object's message into its envelope.
pub fn wrap(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut meta = Vec::with_capacity(api_version.len() + kind.len() + 4);
    put_bytes(&mut meta, 1, api_version.as_bytes());
    put_bytes(&mut meta, 2, kind.as_bytes());
    let mut out = Vec::with_capacity(raw.len() + meta.len() + 24);
    out.extend_from_slice(MAGIC);
    put_bytes(&mut out, 1, &meta);
    put_bytes(&mut out, 2, raw);
    // Upstream writes both, empty.
    put_bytes(&mut out, 3, b"");
    put_bytes(&mut out, 4, b"");
    out
}

/// A watch event without its frame, as it goes over a WebSocket: `object` is an object in its envelope.
pub fn watch_event(kind: &str, object: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.len() + kind.len() + 16);
    put_watch_event(&mut out, kind, object);
    out
}

/// A watch event as it goes over HTTP: its length in four bytes, most significant first, then the event.
///
/// ```
/// use ringwatch_server::codec::protobuf;
///
/// let object = protobuf::encode(br#"{"apiVersion":"v1","kind":"Namespace"}"#).unwrap();
/// let frame = protobuf::frame("ADDED", &object);
/// assert_eq!(frame[..4], (frame.len() as u32 - 4).to_be_bytes());
/// ```
pub fn frame(kind: &str, object: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.len() + kind.len() + 20);
    out.extend_from_slice(&[0; 4]);
    put_watch_event(&mut out, kind, object);
    // An event of 4 GiB cannot be: objects are bounded far below.
    let length = u32::try_from(out.len() - 4).unwrap_or(u32::MAX);
    if let Some(head) = out.first_chunk_mut() {
        *head = length.to_be_bytes();
    }
    out
}

fn put_watch_event(out: &mut Vec<u8>, kind: &str, object: &[u8]) {
    put_bytes(out, 1, kind.as_bytes());
    let mut extension = Vec::with_capacity(object.len() + 8);
    put_bytes(&mut extension, 1, object);
    put_bytes(out, 2, &extension);
}

/// An envelope, opened.
#[derive(Debug)]
pub(super) struct Envelope<'a> {
    pub(super) api_version: &'a str,
    pub(super) kind: &'a str,
    pub(super) raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let message = body.strip_prefix(MAGIC).ok_or(DecodeError::NotAnEnvelope)?;
        let mut envelope = Self {
            api_version: "",
            kind: "",
            raw: &[],
        };
        let mut fields = Reader::new(message);
        while let Some(field) = fields.field()? {
            match field {
                (1, Raw::Bytes(meta)) => {
                    let mut fields = Reader::new(meta);
                    while let Some(field) = fields.field()? {
                        match field {
                            (1, Raw::Bytes(bytes)) => envelope.api_version = name(bytes)?,
                            (2, Raw::Bytes(bytes)) => envelope.kind = name(bytes)?,
                            (number @ 1..=2, _) => return Err(DecodeError::BadField { number }),
                            _ => {}
                        }
                    }
                }
                (2, Raw::Bytes(raw)) => envelope.raw = raw,
                (number @ 1..=2, _) => return Err(DecodeError::BadField { number }),
                _ => {}
            }
        }
        Ok(envelope)
    }
}

fn name(bytes: &[u8]) -> Result<&str, DecodeError> {
    core::str::from_utf8(bytes).map_err(|_| DecodeError::BadText)
}
