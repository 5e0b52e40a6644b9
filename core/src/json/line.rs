//! One line of a watch stream.
//!
//! A watch answers with one JSON object per line: `{"type":"ADDED","object":{…}}`. The stored
//! object goes into the line byte for byte; at most its `metadata.resourceVersion` is exchanged,
//! because a stored object does not know the revision of its own write, and a DELETED event carries
//! the last content under the revision of the deletion. Where that value stands is found once per
//! object ([`RevisionSpot`]); building a line then only joins slices.
//!
//! ```
//! use ringwatch_core::json::Limits;
//! use ringwatch_core::json::line::{EventLine, RevisionSpot};
//! use ringwatch_core::revision::Revision;
//! use ringwatch_core::transition::EventKind;
//!
//! let object = br#"{"kind":"Lamp","metadata":{"name":"hall","resourceVersion":"7"}}"#;
//! let spot = RevisionSpot::find(object, &Limits::default())?;
//! let line = EventLine::with_revision(EventKind::Deleted, object, spot, Revision::new(282));
//! let mut buffer = [0; 128];
//! let len = line.write_to(&mut buffer)?;
//! assert_eq!(
//!     &buffer[..len],
//!     br#"{"type":"DELETED","object":{"kind":"Lamp","metadata":{"name":"hall","resourceVersion":"282"}}}
//! "#,
//! );
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! The line ends where the object ends, so an object with raw line breaks between its members is
//! still one valid JSON text but more than one line; some clients split at line breaks. Store
//! compact objects.

mod digits;
mod splice;
mod spot;
mod status;

use core::error::Error;
use core::fmt;

pub use splice::Spliced;
pub use spot::{RevisionSpot, SpotError};
pub use status::{Bookmark, LineFull, Status};

use crate::revision::Revision;
use crate::transition::EventKind;

/// The line for one event, not yet joined.
#[derive(Debug, Clone, Copy)]
pub struct EventLine<'a> {
    kind: EventKind,
    object: Spliced<'a>,
}

impl<'a> EventLine<'a> {
    /// A line with the object as it is. The object must be valid JSON; it is not looked at.
    #[must_use]
    pub fn new(kind: EventKind, object: &'a [u8]) -> Self {
        Self {
            kind,
            object: Spliced::unchanged(object),
        }
    }

    /// A line with the object under the resourceVersion `revision`.
    ///
    /// `spot` must have been found in this object.
    #[must_use]
    pub fn with_revision(
        kind: EventKind,
        object: &'a [u8],
        spot: RevisionSpot,
        revision: Revision,
    ) -> Self {
        Self {
            kind,
            object: spot.splice(object, revision),
        }
    }

    /// The slices that make up the line, in order, for vectored writes.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let ends = [head(self.kind), TAIL];
        let [head, tail] = ends.map(core::iter::once);
        head.chain(self.object.pieces()).chain(tail)
    }

    /// How many bytes the line has, line break included.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a line is never empty")]
    pub fn len(&self) -> usize {
        head(self.kind).len() + self.object.len() + TAIL.len()
    }

    /// Joins the line in the front of `buffer` and gives its length.
    ///
    /// # Errors
    ///
    /// [`BufferTooSmall`] says how large the buffer has to be; nothing was written then.
    pub fn write_to(&self, buffer: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let needed = self.len();
        let too_small = BufferTooSmall { needed };
        let mut rest = buffer.get_mut(..needed).ok_or(too_small)?;
        for piece in self.pieces() {
            let (place, tail) = rest.split_at_mut_checked(piece.len()).ok_or(too_small)?;
            place.copy_from_slice(piece);
            rest = tail;
        }
        Ok(needed)
    }
}

/// The line behind the object.
const TAIL: &[u8] = b"}\n";

/// The line up to the object.
const fn head(kind: EventKind) -> &'static [u8] {
    match kind {
        EventKind::Added => br#"{"type":"ADDED","object":"#,
        EventKind::Modified => br#"{"type":"MODIFIED","object":"#,
        EventKind::Deleted => br#"{"type":"DELETED","object":"#,
    }
}

/// A buffer that cannot hold a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BufferTooSmall {
    /// Bytes that would have been enough.
    pub needed: usize,
}

impl fmt::Display for BufferTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the line needs {} bytes", self.needed)
    }
}

impl Error for BufferTooSmall {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untouched_object_is_framed() {
        let line = EventLine::new(EventKind::Added, b"{}");
        let mut buffer = [0; 64];
        let len = line.write_to(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"{\"type\":\"ADDED\",\"object\":{}}\n");
        assert_eq!(line.pieces().count(), 3);
        assert_eq!(line.pieces().map(<[u8]>::len).sum::<usize>(), line.len());
    }

    #[test]
    fn a_short_buffer_says_what_is_needed() {
        let line = EventLine::new(EventKind::Modified, b"{}");
        let needed = line.len();
        let mut buffer = [0; 64];
        assert_eq!(
            line.write_to(&mut buffer[..needed - 1]),
            Err(BufferTooSmall { needed })
        );
        assert_eq!(line.write_to(&mut buffer[..needed]), Ok(needed));
    }
}
