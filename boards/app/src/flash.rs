//! Simulated flash, for boards that have none: memory that a reset leaves as it is.
//!
//! It is as strict as flash: bits go from one to zero, and only erasing a page sets them again. Bytes are kept inverted, so that memory that was never written
//! (QEMU starts with zeros) is erased flash.

use core::convert::Infallible;

use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

/// What is erased at once.
pub const PAGE: usize = 4096;

/// Flash in some memory, in whole pages.
pub struct Simulated(&'static mut [u8]);

impl Simulated {
    /// Flash in this memory.
    pub const fn new(memory: &'static mut [u8]) -> Self {
        Self(memory)
    }

    /// The bytes from an offset on; none if there are none.
    fn from(&mut self, offset: u32) -> impl Iterator<Item = &mut u8> {
        self.0.iter_mut().skip(offset as usize)
    }
}

impl ErrorType for Simulated {
    type Error = Infallible;
}

impl ReadNorFlash for Simulated {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        for (byte, place) in bytes.iter_mut().zip(self.from(offset)) {
            *byte = !*place;
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }
}

impl NorFlash for Simulated {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        let len = to.saturating_sub(from) as usize;
        self.from(from).take(len).for_each(|place| *place = 0);
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        for (byte, place) in bytes.iter().zip(self.from(offset)) {
            *place |= !byte;
        }
        Ok(())
    }
}
