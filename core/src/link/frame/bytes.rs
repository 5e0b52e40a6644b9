//! Numbers and bytes at the front of a buffer, as postcard writes them.

use super::{Malformed, NoRoom};

/// Fills a buffer from the front.
pub(super) struct Writer<'b> {
    rest: &'b mut [u8],
    written: usize,
}

impl<'b> Writer<'b> {
    pub(super) fn new(buffer: &'b mut [u8]) -> Self {
        Self {
            rest: buffer,
            written: 0,
        }
    }

    pub(super) fn written(&self) -> usize {
        self.written
    }

    pub(super) fn byte(&mut self, byte: u8) -> Result<(), NoRoom> {
        self.raw(&[byte])
    }

    pub(super) fn varint(&mut self, mut number: u64) -> Result<(), NoRoom> {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80)?;
            number >>= 7;
        }
        self.byte(number as u8)
    }

    pub(super) fn signed(&mut self, number: i64) -> Result<(), NoRoom> {
        self.varint(((number << 1) ^ (number >> 63)) as u64)
    }

    /// A length and the bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        self.varint(bytes.len() as u64)?;
        self.raw(bytes)
    }

    fn raw(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        let rest = core::mem::take(&mut self.rest);
        let (front, rest) = rest.split_at_mut_checked(bytes.len()).ok_or(NoRoom)?;
        front.copy_from_slice(bytes);
        self.rest = rest;
        self.written += bytes.len();
        Ok(())
    }
}

/// Takes from the front of a packet.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.0.split_first().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Malformed);
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }

    pub(super) fn signed(&mut self) -> Result<i64, Malformed> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
        let (front, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(front)
    }
}
