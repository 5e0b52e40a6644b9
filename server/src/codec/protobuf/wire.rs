//! The wire form: tags, varints and lengths, read forwards and written backwards.
//!
//! Writing backwards means that a message's length is known when it is due, so nothing is measured first or moved later.

use super::DecodeError;

/// How deep unknown groups may be nested; nobody has written any for years.
const MAX_GROUPS: usize = 16;

/// A field's value as it stands on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) enum Raw<'a> {
    /// A varint.
    Number(u64),
    /// Eight bytes.
    Fixed(u64),
    /// Text, bytes, a message or packed numbers.
    Bytes(&'a [u8]),
    /// Something no field here is written as.
    Other,
}

/// Reads the fields of a message.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field's number and value; none at the end.
    pub(super) fn field(&mut self) -> Result<Option<(u32, Raw<'a>)>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, wire) = self.tag()?;
        let raw = match wire {
            0 => Raw::Number(self.varint()?),
            1 => Raw::Fixed(self.fixed()?),
            2 => Raw::Bytes(self.bytes()?),
            other => {
                self.skip(number, other, 0)?;
                Raw::Other
            }
        };
        Ok(Some((number, raw)))
    }

    /// A bare varint, as in packed numbers; none at the end.
    pub(super) fn packed(&mut self) -> Result<Option<u64>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.varint().map(Some)
    }

    fn tag(&mut self) -> Result<(u32, u8), DecodeError> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| DecodeError::BadNumber)?;
        if number == 0 {
            return Err(DecodeError::BadField { number });
        }
        Ok((number, (tag & 7) as u8))
    }

    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(DecodeError::Truncated)?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(DecodeError::BadNumber);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::BadNumber)
    }

    fn fixed(&mut self) -> Result<u64, DecodeError> {
        let bytes = self.take(8)?;
        let bytes = bytes.first_chunk().ok_or(DecodeError::Truncated)?;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = usize::try_from(self.varint()?).map_err(|_| DecodeError::Truncated)?;
        self.take(length)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn skip(&mut self, number: u32, wire: u8, depth: usize) -> Result<(), DecodeError> {
        match wire {
            0 => self.varint().map(drop),
            1 => self.take(8).map(drop),
            2 => self.bytes().map(drop),
            3 if depth >= MAX_GROUPS => Err(DecodeError::TooDeep),
            3 => loop {
                let (inner, wire) = self.tag()?;
                if wire == 4 {
                    return if inner == number {
                        Ok(())
                    } else {
                        Err(DecodeError::BadField { number: inner })
                    };
                }
                self.skip(inner, wire, depth + 1)?;
            },
            5 => self.take(4).map(drop),
            _ => Err(DecodeError::BadField { number }),
        }
    }
}

/// Writes a message from its end to its beginning.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// The bytes in reverse.
    reversed: Vec<u8>,
}

impl Writer {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self {
            reversed: Vec::with_capacity(bytes),
        }
    }

    /// The bytes in their order.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.reversed.reverse();
        self.reversed
    }

    /// How much is written; what [`Writer::close`] wants to know.
    pub(super) fn mark(&self) -> usize {
        self.reversed.len()
    }

    /// Turns what was written since `mark` into a field of bytes.
    pub(super) fn close(&mut self, number: u32, mark: usize) {
        self.varint((self.reversed.len() - mark) as u64);
        self.tag(number, 2);
    }

    pub(super) fn bytes(&mut self, number: u32, bytes: &[u8]) {
        let mark = self.mark();
        self.reversed.extend(bytes.iter().rev());
        self.close(number, mark);
    }

    pub(super) fn number(&mut self, number: u32, value: u64) {
        self.varint(value);
        self.tag(number, 0);
    }

    pub(super) fn fixed(&mut self, number: u32, value: u64) {
        self.reversed.extend(value.to_be_bytes());
        self.tag(number, 1);
    }

    fn tag(&mut self, number: u32, wire: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire));
    }

    fn varint(&mut self, value: u64) {
        let start = self.reversed.len();
        put_varint(&mut self.reversed, value);
        if let Some(written) = self.reversed.get_mut(start..) {
            written.reverse();
        }
    }
}

/// Appends a field of bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_varint(out, u64::from(number) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
