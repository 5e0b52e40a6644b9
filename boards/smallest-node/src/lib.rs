//! What both firmwares of this package share: receiving frames from the UART.
//!
//! `node` uses the core on each frame, `baseline` does not; `cargo xtask size` reports the
//! difference as what the core costs a node. Bytes come from a device register, so the compiler can
//! assume nothing about them and removes no decoding.
#![no_std]

/// The example in the core's documentation, compiled for this board. No firmware has it.
#[path = "../../../core/docs/firmware.rs"]
#[allow(missing_docs)]
pub mod documented;

use core::panic::PanicInfo;

use mps2::{exit, uart::Uart};

/// The longest frame that the node takes. A longer one is dropped whole.
pub const MAX_FRAME: usize = 128;

/// Calls `on_frame` with each frame received, for ever.
///
/// A frame on this wire is a length byte and that many bytes. The node link has its own framing;
/// it is not measured here.
pub fn receive(frame: &mut [u8; MAX_FRAME], mut on_frame: impl FnMut(&[u8])) -> ! {
    let mut uart = Uart::start();
    loop {
        let length = usize::from(next(&mut uart));
        for at in 0..length {
            let byte = next(&mut uart);
            if let Some(place) = frame.get_mut(at) {
                *place = byte;
            }
        }
        if let Some(whole) = frame.get(..length) {
            on_frame(whole);
        }
    }
}

fn next(uart: &mut Uart) -> u8 {
    loop {
        if let Some(byte) = uart.read() {
            return byte;
        }
    }
}

/// Prints nothing: formatting would be larger than the node.
#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    exit(101)
}
