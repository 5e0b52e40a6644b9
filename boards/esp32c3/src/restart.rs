//! A panic restarts the board, and so do a fault and a stack that is too deep, of which esp-hal makes panics. The next start can say why: the reason is in memory that a reset
//! leaves as it is.

// Reason: memory that outlives a reset is behind a raw pointer.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;
use core::panic::PanicInfo;

use ringwatch_app::restart::{Cause, Note};

// SAFETY: a section that the runtime sets aside and leaves alone.
#[unsafe(link_section = ".rtc_fast.persistent")]
static mut NOTE: MaybeUninit<Note> = MaybeUninit::uninit();

/// Why the board has restarted, if it did so by itself; said once.
pub fn note() -> Note {
    let place = (&raw mut NOTE).cast::<Note>();
    // SAFETY: any bytes make a note, and nobody else looks at it: a panic writes it on its way to a reset only.
    unsafe {
        let note = place.read_volatile();
        place.write_volatile(Note::BLANK);
        note
    }
}

/// Restarts the board after a panic: for the firmware's panic handler.
pub fn panicked(info: &PanicInfo<'_>) -> ! {
    let note = Note::because(Cause::Panic, format_args!("{info}"));
    // SAFETY: the place is a note's, and nothing else looks at it before the reset.
    unsafe { (&raw mut NOTE).cast::<Note>().write_volatile(note) };
    esp_hal::system::software_reset()
}
