//! Runs the core on a Cortex-M3 and reports over the UART. There is no allocator: a core that needed
//! one would not link.
//!
//! ```text
//! ok data is copied from flash (stack 264 B)
//! FAILED name: why
//! ...
//! size stack, deepest                      640 B of 65512 B
//! selfcheck: 2 passed, 0 failed
//! ```
//!
//! The exit code is 0 if every check passed, 1 if one failed, 101 after a panic, 102 after a fault.
//! Beside each check stands how deep the stack has been so far. To add a check, add a line to [`checks::CHECKS`]; to report the size of a type, one to
//! [`sizes::SIZES`].
#![no_std]
#![no_main]

mod checks;
mod sizes;

use core::{fmt::Write, panic::PanicInfo};

use cortex_m_rt::entry;
use mps2::{exit, stack, uart::Uart};

#[entry]
fn main() -> ! {
    let mut out = Uart::start();
    let mut passed = 0;
    let mut failed = 0;
    for (name, check) in checks::CHECKS {
        // The UART cannot fail; `write!` has a result only because formatting in general may.
        let _ = match check() {
            Ok(()) => {
                passed += 1;
                writeln!(out, "ok {name} (stack {} B)", stack::measure().used)
            }
            Err(why) => {
                failed += 1;
                writeln!(out, "FAILED {name}: {why}")
            }
        };
    }
    sizes::print(&mut out);
    if stack::measure().overflowed() {
        failed += 1;
        let _ = writeln!(out, "FAILED stack: it has run into the statics");
    }
    let _ = writeln!(out, "selfcheck: {passed} passed, {failed} failed");
    exit(u32::from(failed > 0))
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let _ = writeln!(Uart::start(), "{info}");
    exit(101)
}
