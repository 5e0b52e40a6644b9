//! An object with another resourceVersion, in pieces.

use super::digits::Digits;
use super::spot::RevisionSpot;
use crate::revision::Revision;

/// An object in pieces, in which at most the resourceVersion is another.
///
/// ```
/// use ringwatch_core::json::{Limits, line::RevisionSpot};
/// use ringwatch_core::revision::Revision;
///
/// let stored = br#"{"metadata":{"name":"hall"},"spec":{}}"#;
/// let spot = RevisionSpot::find(stored, &Limits::default())?;
/// let object = spot.splice(stored, Revision::new(42));
/// let joined: Vec<u8> = object.pieces().flatten().copied().collect();
/// assert_eq!(joined, br#"{"metadata":{"resourceVersion":"42","name":"hall"},"spec":{}}"#);
/// // What stood at byte 28 of the stored object stands here in the new one:
/// assert_eq!(&joined[object.moved(28)..], br#""spec":{}}"#);
/// # Ok::<(), ringwatch_core::json::line::SpotError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Spliced<'a> {
    /// The object before and behind the rewritten part; without a rewrite all is in front.
    front: &'a [u8],
    back: &'a [u8],
    /// Where `back` begins in the object as it was.
    resumes: usize,
    rewrite: Option<(RevisionSpot, Digits)>,
}

impl<'a> Spliced<'a> {
    pub(super) fn unchanged(object: &'a [u8]) -> Self {
        Self {
            front: object,
            back: &[],
            resumes: object.len(),
            rewrite: None,
        }
    }

    pub(super) fn new(object: &'a [u8], spot: RevisionSpot, revision: Revision) -> Self {
        let (front, back) = spot.split(object);
        Self {
            front,
            back,
            resumes: object.len() - back.len(),
            rewrite: Some((spot, Digits::new(revision.get()))),
        }
    }

    /// The slices that make up the object, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let pieces = self.parts().into_iter();
        pieces.filter(|piece| !piece.is_empty())
    }

    /// How many bytes the object has.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an object is never empty")]
    pub fn len(&self) -> usize {
        self.parts().iter().map(|piece| piece.len()).sum()
    }

    /// Where a byte of the object as it was stands now. The rewritten bytes themselves are gone and
    /// have no meaningful answer.
    #[must_use]
    pub fn moved(&self, offset: usize) -> usize {
        match offset.checked_sub(self.resumes) {
            Some(behind) => self.len() - self.back.len() + behind,
            None => offset,
        }
    }

    /// The place of the resourceVersion in the object as it is now, so that it can be rewritten again
    /// without a scan; `None` if nothing was rewritten.
    ///
    /// ```
    /// use ringwatch_core::json::{Limits, line::RevisionSpot};
    /// use ringwatch_core::revision::Revision;
    ///
    /// let stored = br#"{"metadata":{"name":"hall"}}"#;
    /// let first = RevisionSpot::find(stored, &Limits::default())?.splice(stored, Revision::new(9));
    /// let joined: Vec<u8> = first.pieces().flatten().copied().collect();
    /// assert_eq!(first.spot(), Some(RevisionSpot::find(&joined, &Limits::default())?));
    /// # Ok::<(), ringwatch_core::json::line::SpotError>(())
    /// ```
    #[must_use]
    pub fn spot(&self) -> Option<RevisionSpot> {
        let (spot, digits) = self.rewrite.as_ref()?;
        // The prefix ends with the opening quote.
        let start = self.front.len() + spot.prefix().len() - 1;
        RevisionSpot::value_at(start, start + digits.as_bytes().len() + 2)
    }

    fn parts(&self) -> [&[u8]; 5] {
        let (prefix, digits, suffix): (&[u8], &[u8], &[u8]) = match &self.rewrite {
            Some((spot, digits)) => (spot.prefix(), digits.as_bytes(), spot.suffix()),
            None => (&[], &[], &[]),
        };
        [self.front, prefix, digits, suffix, self.back]
    }
}
