//! The node's start-up and input without the core. See the library.
#![no_std]
#![no_main]

use core::hint::black_box;

use cortex_m_rt::entry;
use smallest_node::{MAX_FRAME, receive};

#[entry]
fn main() -> ! {
    static mut FRAME: [u8; MAX_FRAME] = [0; MAX_FRAME];
    receive(FRAME, |frame| {
        black_box(frame);
    })
}
