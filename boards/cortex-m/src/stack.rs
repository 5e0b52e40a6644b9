//! Stack use, measured by painting.
//!
//! Before `main`, the runtime fills the RAM above the statics with a pattern (its feature
//! `paint-stack`). The stack grows down from the top of RAM and overwrites it; the lowest word that
//! no longer holds the pattern is the high-water mark.

// Reason: the memory between the statics and the stack belongs to no Rust object.
#![allow(unsafe_code)]

use cortex_m_rt::{STACK_PAINT_VALUE, heap_start};

unsafe extern "C" {
    /// Top of RAM, where the stack starts; from the linker script.
    static _stack_start: u32;
}

/// Stack sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct StackUse {
    /// What the stack may take: RAM less the statics.
    pub available: usize,
    /// The deepest that it has been since reset.
    pub used: usize,
}

impl StackUse {
    /// Whether the stack may have run into the statics: no painted word is left.
    pub fn overflowed(&self) -> bool {
        self.used >= self.available
    }
}

/// How deep the stack has been since reset.
pub fn measure() -> StackUse {
    let bottom: *const u32 = heap_start();
    let top = &raw const _stack_start;
    let mut word = bottom;
    // SAFETY: `bottom..top` is RAM that the linker script set aside; every word in it is aligned and
    // readable, and was written by the runtime before `main`. Volatile, since the live stack is in it.
    while word < top && unsafe { word.read_volatile() } == STACK_PAINT_VALUE {
        word = word.wrapping_add(1);
    }
    StackUse {
        available: top as usize - bottom as usize,
        used: top as usize - word as usize,
    }
}

/// Says how deep the stack has been, for ever, of what the guard leaves it.
#[cfg(feature = "restart")]
pub async fn report() -> ! {
    let depth = || {
        let StackUse { available, used } = measure();
        let guard = crate::restart::guard_end() - heap_start() as usize;
        ringwatch_app::stack::Depth {
            used,
            available: available.saturating_sub(guard),
        }
    };
    ringwatch_app::stack::report(depth).await
}
