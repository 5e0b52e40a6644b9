//! A panic, a fault or a [stack](crate::stack) that is too deep restarts the board, and the next start can say why. The reason is in memory beyond what the linker knows of.

// Reason: memory that outlives a reset is behind a raw pointer, and so is the register that resets.
#![allow(unsafe_code)]

use core::panic::PanicInfo;

use ringwatch_app::restart::{Cause, Note};
use riscv::register::{mcause, mepc};

const NOTE: *mut Note = 0x8110_0000 as *mut Note;
const FINISHER: *mut u32 = 0x10_0000 as *mut u32;
const RESET: u32 = 0x7777;

/// Why the board has restarted, if it did so by itself; said once.
pub fn note() -> Note {
    // SAFETY: the board has memory there, the linker gives it to nobody, and any bytes make a note.
    unsafe {
        let note = NOTE.read_volatile();
        NOTE.write_volatile(Note::BLANK);
        note
    }
}

/// Restarts the board after a panic: for the firmware's panic handler.
pub fn panicked(info: &PanicInfo<'_>) -> ! {
    because(Note::because(Cause::Panic, format_args!("{info}")))
}

pub(crate) fn because(note: Note) -> ! {
    // SAFETY: the place is a note's, and nothing else runs before the reset; the register is that which resets this board.
    unsafe {
        NOTE.write_volatile(note);
        FINISHER.write_volatile(RESET);
    }
    loop {
        riscv::asm::wfi();
    }
}

// SAFETY: the runtime declares this symbol with this signature, and there is no other.
#[unsafe(export_name = "ExceptionHandler")]
extern "C" fn fault(_: &riscv_rt::TrapFrame) -> ! {
    let (code, pc) = (mcause::read().code(), mepc::read());
    because(Note::because(
        Cause::Fault,
        format_args!("a fault of kind {code} at {pc:#010x}"),
    ))
}
