//! What happens on a bad memory access or instruction: say where, exit with 102.
//!
//! It prints by hand, not through `core::fmt`, so that it costs the smallest firmware almost nothing.

// Reason: the runtime requires the handler to be an `unsafe fn`.
#![allow(unsafe_code)]

use cortex_m_rt::{ExceptionFrame, exception};

use crate::{exit, uart::Uart};

const EXIT_CODE: u32 = 102;

#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    let mut uart = Uart::start();
    b"HardFault at pc 0x"
        .iter()
        .for_each(|&byte| uart.write(byte));
    for nibble in (0..8).rev() {
        let digit = (frame.pc() >> (nibble * 4) & 0xf) as u8;
        uart.write(if digit < 10 { b'0' } else { b'a' - 10 } + digit);
    }
    b"\r\n".iter().for_each(|&byte| uart.write(byte));
    exit(EXIT_CODE)
}
