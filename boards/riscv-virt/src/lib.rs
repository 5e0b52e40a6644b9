//! QEMU's board `virt` with a 32-bit RISC-V processor.
//!
//! Everything in the firmware that touches hardware is here, and with it all the `unsafe`:
//!
//! - [`start`](start()), [`board`]: everything below, begun in the right order
//! - [`uart`]: text out
//! - [`time`]: embassy's clock
//! - [`network`]: Ethernet by virtio
//! - [`flash`]: simulated flash, which survives a reset
//! - [`restart`], `stack`: a panic, a fault or a stack that is too deep restarts the board, and the next start knows why
#![no_std]

pub mod flash;
mod interrupts;
pub mod network;
pub mod restart;
mod stack;
mod start;
pub mod time;
pub mod uart;

pub use start::{board, start};
