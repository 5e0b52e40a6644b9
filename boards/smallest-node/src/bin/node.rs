//! The smallest honest node: decodes each frame with the core and keeps what it says.
#![no_std]
#![no_main]

use core::hint::black_box;

use cortex_m_rt::entry;
use ringwatch_core as _;
use smallest_node::{MAX_FRAME, receive};

#[entry]
fn main() -> ! {
    // State goes in statics here, not on the stack: then `.bss` is the whole memory bill.
    static mut FRAME: [u8; MAX_FRAME] = [0; MAX_FRAME];
    receive(FRAME, use_core)
}

/// All that this firmware does with the core.
fn use_core(frame: &[u8]) {
    black_box(frame);
}
