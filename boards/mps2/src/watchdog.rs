//! The watchdog (ARM CMSDK): a board whose tasks are not run any more restarts.
//!
//! It counts down and then interrupts whatever runs, which cannot be masked. Once is no reason yet: a host that stands still for seconds lets all of QEMU's clocks go
//! on at once. Twice without being fed in between is. Should even that interrupt not be served, the chip resets by itself.

// Reason: memory-mapped registers are reached through raw pointers, and the runtime requires the handler to be an `unsafe fn`.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m_rt::exception;
use embassy_time::Timer;

use crate::restart;

const LOAD: usize = 0x4000_8000;
const CONTROL: usize = 0x4000_8008;
const CLEAR_INTERRUPT: usize = 0x4000_800c;
const LOCK: usize = 0x4000_8c00;
const UNLOCKED: u32 = 0x1acc_e551;
const INTERRUPT: u32 = 1;
const RESET: u32 = 1 << 1;

const PER_SECOND: u32 = 25_000_000;
/// How long it counts.
const SECONDS: u32 = 4;
/// How often it may have counted to the end before the board restarts.
const PERIODS: u32 = 2;

/// How often it has counted to the end since it was fed.
static STARVED: AtomicU32 = AtomicU32::new(0);

fn write(register: usize, value: u32) {
    // SAFETY: a register of this board's watchdog; writing it has no effect on memory.
    unsafe { (register as *mut u32).write_volatile(value) };
}

/// Starts it, and feeds it as long as tasks are run at all.
pub(crate) async fn feed() -> ! {
    write(LOCK, UNLOCKED);
    write(LOAD, SECONDS * PER_SECOND);
    write(CONTROL, INTERRUPT | RESET);
    loop {
        // Counts from there anew.
        write(LOAD, SECONDS * PER_SECOND);
        STARVED.store(0, Ordering::Relaxed);
        Timer::after_secs(u64::from(SECONDS) / 4).await;
    }
}

#[exception]
unsafe fn NonMaskableInt() {
    write(CLEAR_INTERRUPT, 1);
    if STARVED.fetch_add(1, Ordering::Relaxed) + 1 >= PERIODS {
        restart::by_watchdog(u64::from(SECONDS * PERIODS));
    }
}
