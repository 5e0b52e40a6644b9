//! Flash for what is kept: a part of the chip's own, or simulated flash for boards that have none, which is memory that a reset leaves as it is.
//!
//! [`Simulated`] is as strict as flash: bits go from one to zero, and only erasing a page sets them again. Bytes are kept inverted, so that memory that was never written
//! (QEMU starts with zeros) is erased flash.

use core::convert::Infallible;

use embedded_storage::nor_flash as blocking;
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

/// A part of the flash that the program is in too: whole pages, which the linker leaves alone.
///
/// The processor waits while flash is written or erased; it could not fetch its program meanwhile anyway.
pub struct Part<F> {
    flash: F,
    start: u32,
    size: u32,
}

impl<F> Part<F> {
    /// `size` bytes from an offset on, which is not an address.
    pub const fn new(flash: F, start: u32, size: u32) -> Self {
        Self { flash, start, size }
    }
}

impl<F: ErrorType> ErrorType for Part<F> {
    type Error = F::Error;
}

impl<F: blocking::ReadNorFlash> ReadNorFlash for Part<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), F::Error> {
        self.flash.read(self.start + offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.size as usize
    }
}

impl<F: blocking::NorFlash> NorFlash for Part<F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), F::Error> {
        self.flash.erase(self.start + from, self.start + to)
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), F::Error> {
        self.flash.write(self.start + offset, bytes)
    }
}
