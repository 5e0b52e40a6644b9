//! UART 0 (ARM CMSDK), polled.
//!
//! [`Uart`] is a [`core::fmt::Write`], so `writeln!(Uart::start(), "…")` prints.

// Reason: memory-mapped registers are reached through raw pointers.
#![allow(unsafe_code)]

use core::fmt;

const DATA: *mut u32 = 0x4000_4000 as *mut u32;
const STATE: *mut u32 = 0x4000_4004 as *mut u32;
const CONTROL: *mut u32 = 0x4000_4008 as *mut u32;
const BAUD_DIVISOR: *mut u32 = 0x4000_4010 as *mut u32;

const STATE_TRANSMIT_FULL: u32 = 1;
const STATE_RECEIVE_FULL: u32 = 1 << 1;
const CONTROL_TRANSMIT: u32 = 1;
const CONTROL_RECEIVE: u32 = 1 << 1;

/// The board's first serial port, switched on.
pub struct Uart(());

impl Uart {
    /// Switches the port on. Doing so twice is harmless.
    pub fn start() -> Self {
        // SAFETY: both are registers of this board's UART 0; writing them has no effect on memory.
        // 16 is the smallest divisor that the hardware takes; QEMU does not slow down for it.
        unsafe {
            BAUD_DIVISOR.write_volatile(16);
            CONTROL.write_volatile(CONTROL_TRANSMIT | CONTROL_RECEIVE);
        }
        Self(())
    }

    /// Sends one byte, waiting while the transmitter is busy.
    pub fn write(&mut self, byte: u8) {
        // SAFETY: registers of this board's UART 0; reading the state has no side effect, and
        // writing the data register sends the byte.
        unsafe {
            while STATE.read_volatile() & STATE_TRANSMIT_FULL != 0 {}
            DATA.write_volatile(u32::from(byte));
        }
    }

    /// The next byte received, if there is one.
    pub fn read(&mut self) -> Option<u8> {
        // SAFETY: registers of this board's UART 0; reading the data register takes the byte.
        unsafe {
            (STATE.read_volatile() & STATE_RECEIVE_FULL != 0).then(|| DATA.read_volatile() as u8)
        }
    }
}

impl fmt::Write for Uart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.write(byte));
        Ok(())
    }
}
