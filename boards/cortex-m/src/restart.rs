//! A panic, a fault or a stack that is too deep restarts the board, and the next start can say why.
//!
//! The reason is in memory that the runtime does not clear. The stack grows down towards the statics; [`guard`] lets nobody write to the last kilobyte in between. Who does
//! causes a fault, whose handler is outside the guard's reach and has that kilobyte for itself.

// Reason: memory that outlives a reset is behind a raw pointer, and so are the registers of the memory protection unit.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;
use core::panic::PanicInfo;

use cortex_m::peripheral::{MPU, SCB};
use cortex_m_rt::{ExceptionFrame, exception, heap_start};
use ringwatch_app::restart::{Cause, Note};

const GUARD: usize = 1024;
/// Memory is protected in regions that begin on their own boundary. With the smallest that any Cortex-M has, no more than this is lost above the statics.
const REGION: usize = 256;

// SAFETY: a section that the runtime sets aside and leaves alone.
#[unsafe(link_section = ".uninit.RESTART")]
static mut NOTE: MaybeUninit<Note> = MaybeUninit::uninit();

/// Why the board has restarted, if it did so by itself; said once.
pub fn note() -> Note {
    let place = (&raw mut NOTE).cast::<Note>();
    // SAFETY: any bytes make a note, and nobody else looks at it: handlers write it on their way to a reset only.
    unsafe {
        let note = place.read_volatile();
        place.write_volatile(Note::BLANK);
        note
    }
}

/// Restarts the board after a panic: for the firmware's panic handler.
pub fn panicked(info: &PanicInfo<'_>) -> ! {
    because(Note::because(Cause::Panic, format_args!("{info}")))
}

/// Restarts the board on behalf of a watchdog that was not fed for so many seconds, and does not itself say so after a reset.
pub fn by_watchdog(seconds: u64) -> ! {
    because(Note::of_watchdog(seconds))
}

fn because(note: Note) -> ! {
    // SAFETY: the place is a note's, and nothing else runs before the reset.
    unsafe { (&raw mut NOTE).cast::<Note>().write_volatile(note) };
    SCB::sys_reset()
}

/// Where the guard begins: the first kilobyte above the statics, in regions.
fn guard_start() -> usize {
    (heap_start() as usize).next_multiple_of(REGION)
}

/// The last byte of the stack is above this.
pub(crate) fn guard_end() -> usize {
    guard_start() + GUARD
}

/// A fault, to see what happens then: reads where nothing is.
pub fn fault() {
    // SAFETY: nothing is there, which is the purpose; the value is not used.
    unsafe { (0x6000_0000 as *const u32).read_volatile() };
}

/// From now on a stack that is too deep is a fault. Doing so twice is harmless.
pub fn guard() {
    const VALID: u32 = 1 << 4;
    const READ_ONLY_NEVER_EXECUTE: u32 = 0b110 << 24 | 1 << 28;
    // That of a region, as one less than the power of two.
    const SIZE: u32 = (REGION.ilog2() - 1) << 1;
    const ENABLE: u32 = 1;
    const OTHERWISE_AS_USUAL: u32 = 1 << 2;
    let starts = (guard_start()..).step_by(REGION);
    let regions = (0..).zip(starts).take(GUARD / REGION);
    // SAFETY: everything but the guard stays as it was, and what is there below the stack belongs to nobody. It can be read, to measure the stack.
    unsafe {
        let mpu = &*MPU::PTR;
        for (number, start) in regions {
            mpu.rbar.write(start as u32 | VALID | number);
            mpu.rasr.write(READ_ONLY_NEVER_EXECUTE | SIZE | ENABLE);
        }
        mpu.ctrl.write(OTHERWISE_AS_USUAL | ENABLE);
    }
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
}

#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    let sp = core::ptr::from_ref(frame) as usize;
    // Formatting numbers takes stack, of which there is a kilobyte in the first case.
    because(match sp < guard_end() {
        true => Note::because_of(Cause::Stack, "the stack was too deep"),
        false => Note::because(
            Cause::Fault,
            format_args!("a fault at {:#010x}", frame.pc()),
        ),
    })
}
