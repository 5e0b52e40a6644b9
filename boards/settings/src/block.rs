//! The place in an image that settings are written to.
//!
//! ```text
//!   mark 16 │ capacity u16 │ length u16 │ CRC-32 u32 │ settings, as postcard │ FF…
//! ```
//!
//! The mark is in an image once, so that whoever fills the block finds it without knowing the image's layout. Firmware does not look at it.

use core::fmt;
use core::hint::black_box;

use serde::Deserialize;

/// What the block begins with.
pub(crate) const MARK: [u8; 16] = *b"ringwatch\x01 block";
pub(crate) const HEAD: usize = MARK.len() + 8;
pub(crate) const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
/// What flash is when nothing was written to it.
pub(crate) const BLANK: u8 = 0xff;

/// A block of `N` bytes, to be a `static`.
#[derive(Debug)]
#[repr(C)]
pub struct Block<const N: usize>([u8; N]);

impl<const N: usize> Block<N> {
    /// A block that nobody has filled.
    pub const EMPTY: Self = {
        assert!(N > HEAD && N <= u16::MAX as usize);
        let mut bytes = [BLANK; N];
        let mut at = 0;
        while at < MARK.len() {
            bytes[at] = MARK[at];
            at += 1;
        }
        let capacity = ((N - HEAD) as u16).to_le_bytes();
        bytes[at] = capacity[0];
        bytes[at + 1] = capacity[1];
        Self(bytes)
    };

    /// A block with these bytes.
    pub const fn of(bytes: [u8; N]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn bytes(&self) -> &[u8; N] {
        &self.0
    }

    /// What is in it: the settings of a node or those of a relay, as the image is one.
    pub fn read<T: Deserialize<'static>>(&'static self) -> Result<T, Unset> {
        // The compiler knows what it has put there, and must not take it for what is there.
        let bytes: &'static [u8] = &black_box(self).0;
        let (_, rest) = bytes.split_at_checked(MARK.len() + 2).ok_or(Unset::Blank)?;
        let (head, rest) = rest.split_first_chunk::<6>().ok_or(Unset::Blank)?;
        let [l0, l1, c0, c1, c2, c3] = *head;
        let payload = rest.get(..u16::from_le_bytes([l0, l1]).into());
        let payload = payload.ok_or(Unset::Blank)?;
        if CRC.checksum(payload) != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Err(Unset::Damaged);
        }
        postcard::from_bytes(payload).map_err(|_| Unset::Foreign)
    }
}

/// Why there are no settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unset {
    /// Nobody has filled the block.
    Blank,
    /// It is not what was written.
    Damaged,
    /// It was written for another version.
    Foreign,
}

impl fmt::Display for Unset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blank => "the image has no settings: run or flash it with `cargo xtask`",
            Self::Damaged => "the settings are damaged",
            Self::Foreign => "the settings are for another version of this image",
        })
    }
}
