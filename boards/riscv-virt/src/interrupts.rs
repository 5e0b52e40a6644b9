//! Which interrupt goes where.

// Reason: switching interrupts on may break a critical section.
#![allow(unsafe_code)]

use riscv::interrupt::Interrupt;
use riscv_rt::core_interrupt;

use crate::{network, time};

/// Lets interrupts through. Clock and network are started before.
pub(crate) fn start() {
    // SAFETY: called at the start, where nothing relies on masked interrupts.
    unsafe {
        riscv::register::mie::set_mtimer();
        riscv::register::mie::set_mext();
        riscv::interrupt::enable();
    }
}

#[core_interrupt(Interrupt::MachineTimer)]
fn on_timer() {
    time::on_alarm();
}

#[core_interrupt(Interrupt::MachineExternal)]
fn on_external() {
    network::on_interrupt();
}
