//! Stack use, measured by painting, and a guard below the stack.
//!
//! The stack grows from the top of RAM down to the statics. What is in between is painted before anything runs; the lowest word that no longer holds the pattern is the
//! high-water mark. Nobody can write to the last kilobyte: who tries has a stack that is too deep, which restarts the board.
//!
//! ```text
//!   statics │ guard │ painted … ▼ stack │ top of RAM
//! ```

// Reason: the memory between the statics and the stack belongs to no Rust object, and so do the stack pointer and the registers that protect memory.
#![allow(unsafe_code)]

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicUsize, Ordering};

use ringwatch_app::restart::{Cause, Note};
use ringwatch_app::stack::Depth;
use riscv::register::{Permission, Range, pmpaddr0, pmpcfg0};

use crate::restart;

const GUARD: usize = 1024;
const PAINT: usize = 0xcccc_cccc;
/// What whoever paints may take of the stack meanwhile.
const IN_USE: usize = 512;

unsafe extern "C" {
    /// Top of RAM, where the stack starts; from the linker script.
    static _stack_start: usize;
}

/// Where the guard ends, once there is one. A stack pointer below it is wrong.
static GUARD_END: AtomicUsize = AtomicUsize::new(0);

// Before anything is pushed on the way to a trap's handler, since a stack that is too deep has no room for that.
// A stack pointer below the guard's end begins anew at the top, of which nothing is needed any more.
global_asm!(
    ".section .trap.start, \"ax\"",
    ".global _pre_default_start_trap",
    "_pre_default_start_trap:",
    "csrw mscratch, t0",
    "la t0, {guard_end}",
    "lw t0, 0(t0)",
    "bltu sp, t0, 1f",
    "csrr t0, mscratch",
    "j _pre_default_start_trap_ret",
    "1:",
    "la sp, _stack_start",
    "j {too_deep}",
    guard_end = sym GUARD_END,
    too_deep = sym too_deep,
);

extern "C" fn too_deep() -> ! {
    restart::because(Note::because_of(Cause::Stack, "the stack was too deep"))
}

/// The guard begins on its own boundary above the statics.
fn guard_start() -> usize {
    (riscv_rt::heap_start() as usize).next_multiple_of(GUARD)
}

/// The last word that the stack may have.
fn bottom() -> *mut usize {
    (guard_start() + GUARD) as *mut usize
}

/// Paints what nobody has used yet, and from then on guards the stack: once, before there are interrupts.
#[inline(never)]
pub(crate) fn guard() {
    let sp: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mv {}, sp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    // Not the guard itself: not every QEMU lifts it at a reset.
    let mut word = bottom();
    while (word as usize) < sp.saturating_sub(IN_USE) {
        // SAFETY: aligned RAM between the guard and what is in use of the stack, which the linker script set aside.
        unsafe { word.write_volatile(PAINT) };
        word = word.wrapping_add(1);
    }
    let start = guard_start();
    // A power of two and where it begins are one number: the ones at its end say how long it is.
    let region = start >> 2 | (GUARD / 8 - 1);
    // SAFETY: everything but the guard stays as it was, and what is there belongs to nobody. Locked, or it would not be for programs of this mode. It can be read, to measure the stack.
    unsafe {
        pmpaddr0::write(region);
        pmpcfg0::set_pmp(0, Range::NAPOT, Permission::R, true);
    }
    GUARD_END.store(bottom() as usize, Ordering::Relaxed);
}

/// How deep the stack has been since reset.
fn measure() -> Depth {
    let bottom = bottom().cast_const();
    let top = &raw const _stack_start;
    let mut word = bottom;
    // SAFETY: `bottom..top` is RAM that the linker script set aside; every word in it is aligned and readable. Volatile, since the live stack is in it.
    while word < top && unsafe { word.read_volatile() } == PAINT {
        word = word.wrapping_add(1);
    }
    Depth {
        used: top as usize - word as usize,
        available: top as usize - bottom as usize,
    }
}

/// Says how deep the stack has been, for ever.
pub(crate) async fn report() -> ! {
    ringwatch_app::stack::report(measure).await
}
