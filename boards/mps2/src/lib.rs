//! The ARM MPS2 board with the AN385 image (Cortex-M3), as QEMU's `mps2-an385` emulates it.
//!
//! Everything in the firmware that touches hardware is here, and with it all the `unsafe`:
//!
//! - [`uart`]: text out, bytes in
//! - [`exit`](exit()): ends QEMU with an exit code
//! - [`stack`]: how much of the stack has been used since reset
//! - a `HardFault` handler that says where it happened and exits with 102
#![no_std]

mod exit;
mod fault;
pub mod stack;
pub mod uart;

pub use exit::exit;
