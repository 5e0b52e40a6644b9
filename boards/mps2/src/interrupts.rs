//! Which interrupt goes where. Without a description of the chip, all of them arrive in one handler.

// Reason: the runtime requires the handler to be an `unsafe fn`, and unmasking an interrupt may break a critical section.
#![allow(unsafe_code)]

use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;
use cortex_m_rt::exception;

use crate::{lan9118, time};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Interrupt {
    Timer1 = 9,
    Ethernet = 13,
}

// SAFETY: the numbers are those of the board, and stay.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

/// Lets an interrupt through.
pub(crate) fn unmask(interrupt: Interrupt) {
    // SAFETY: called at the start of a driver only, where nothing relies on masked interrupts.
    unsafe { NVIC::unmask(interrupt) };
}

#[exception]
unsafe fn DefaultHandler(number: i16) {
    match number {
        9 => time::on_alarm(),
        13 => lan9118::on_interrupt(),
        other => panic!("nobody waits for interrupt {other}"),
    }
}
