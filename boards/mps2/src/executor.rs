//! Runs tasks, and sleeps with `WFI` when there is nothing to do.
//!
//! embassy's own executor for Cortex-M sleeps with `WFE`, which QEMU takes for nothing: each board would keep a core of the host busy.

// Reason: embassy finds the waking function by its name, and leaves it to the caller to poll from one place.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicBool, Ordering};

use embassy_executor::{Spawner, raw};

static WORK: AtomicBool = AtomicBool::new(true);

// SAFETY: embassy declares this symbol with this signature, and there is no other.
#[unsafe(export_name = "__pender")]
fn pender(_: *mut ()) {
    WORK.store(true, Ordering::SeqCst);
}

/// All tasks of the firmware.
pub struct Executor(raw::Executor);

impl Executor {
    /// Without tasks.
    pub fn new() -> Self {
        Self(raw::Executor::new(core::ptr::null_mut()))
    }

    /// Runs what `spawn` spawns, for ever.
    pub fn run(&'static mut self, spawn: impl FnOnce(Spawner)) -> ! {
        spawn(self.0.spawner());
        loop {
            // SAFETY: called here only, and tasks have no way to the executor, so never within itself.
            unsafe { self.0.poll() };
            // With interrupts masked one that is pending still ends the sleep; it is served when they are not any more.
            critical_section::with(|_| {
                if !WORK.swap(false, Ordering::SeqCst) {
                    cortex_m::asm::wfi();
                }
            });
        }
    }
}

impl Default for Executor {
    fn default() -> Self {
        Self::new()
    }
}
