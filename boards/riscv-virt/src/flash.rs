//! Simulated flash, in memory beyond what the linker knows of.

// Reason: the memory belongs to no Rust object.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicBool, Ordering};

use ringwatch_app::flash::{PAGE, Simulated};

const START: *mut u8 = 0x8100_0000 as *mut u8;
const SIZE: usize = 4 * PAGE;

/// All of it, once.
pub fn take() -> Option<Simulated> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let free = !TAKEN.swap(true, Ordering::Relaxed);
    // SAFETY: the board has memory there, the linker gives it to nobody, and nobody was here before.
    free.then(|| Simulated::new(unsafe { core::slice::from_raw_parts_mut(START, SIZE) }))
}
