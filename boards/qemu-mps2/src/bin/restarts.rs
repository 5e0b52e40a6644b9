//! Panics, then runs out of stack, then faults; says after each restart why it has, and exits with 0 if it was for the right reasons.
#![no_std]
#![no_main]

use core::fmt::Write;
use core::panic::PanicInfo;

use cortex_m_rt::entry;
use mps2::uart::Uart;
use mps2::{exit, restart};
use ringwatch_app::breaking::too_deep;

#[entry]
fn main() -> ! {
    restart::guard();
    let mut out = Uart::start();
    let note = restart::note();
    let reason = note.reason();
    let _ = writeln!(out, "restarted after {}", reason.unwrap_or("nothing"));
    match reason {
        None => panic!("on purpose"),
        Some(reason) if reason.contains("on purpose") => {
            let _ = writeln!(out, "{}", too_deep(1));
        }
        Some(reason) if reason.contains("too deep") => restart::fault(),
        Some(reason) if reason.contains("a fault at") => exit(0),
        Some(_) => exit(1),
    }
    exit(1)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    restart::panicked(info)
}
