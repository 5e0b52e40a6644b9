//! The ARM MPS2 board with the AN385 image (Cortex-M3) or AN386 (Cortex-M4F), as QEMU emulates it.
//!
//! Everything in the firmware that touches hardware is here, and with it all the `unsafe`:
//!
//! - [`uart`]: text out, bytes in
//! - [`exit`](exit()): ends QEMU with an exit code
//! - [`stack`]: how much of the stack has been used since reset
//! - a `HardFault` handler that says where it happened and exits with 102
//!
//! With the feature `network`, for firmware on embassy:
//!
//! - [`start`](start()), [`board`]: everything below, begun in the right order
//! - [`executor`], [`time`]: tasks, and a clock without ticks
//! - [`lan9118`]: Ethernet, with an interrupt
//! - [`flash`]: simulated flash, which survives a reset
//! - [`restart`], `watchdog`: a panic, a fault, a stack that is too deep or nothing at all restarts the board, and the next start knows why
#![no_std]

mod exit;
#[cfg(not(feature = "network"))]
mod fault;
pub mod uart;

#[cfg(feature = "network")]
pub mod executor;
#[cfg(feature = "network")]
pub mod flash;
#[cfg(feature = "network")]
mod interrupts;
#[cfg(feature = "network")]
pub mod lan9118;
#[cfg(feature = "network")]
mod start;
#[cfg(feature = "network")]
pub mod time;
#[cfg(feature = "network")]
mod watchdog;

pub use exit::exit;
#[cfg(feature = "network")]
pub use ringwatch_cortex_m::restart;
pub use ringwatch_cortex_m::stack;
#[cfg(feature = "network")]
pub use start::{board, start};
