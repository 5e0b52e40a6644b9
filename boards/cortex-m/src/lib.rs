//! What boards with a Cortex-M share, whoever made the rest of the chip.
//!
//! - [`stack`]: how much of the stack has been used since reset
//! - `restart`, with the feature of that name: a panic, a fault or a stack that is too deep restarts the board, and the next start knows why
#![no_std]

#[cfg(feature = "restart")]
pub mod restart;
pub mod stack;
