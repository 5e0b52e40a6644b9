//! embassy's clock, in microseconds, without ticks: timer 0 counts, timer 1 wakes.
//!
//! `SysTick` would do on any Cortex-M, but loses ticks in QEMU on a busy host.

// Reason: memory-mapped registers are reached through raw pointers.
#![allow(unsafe_code)]

use core::cell::{Cell, RefCell};
use core::task::Waker;

use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

use crate::interrupts::{Interrupt, unmask};

/// A timer (ARM CMSDK), which counts down.
#[derive(Clone, Copy)]
struct Timer(usize);

const CLOCK: Timer = Timer(0x4000_0000);
const ALARM: Timer = Timer(0x4000_1000);
/// One half of the dual timer, of another kind.
const NUDGE: Timer = Timer(0x4000_2000);

const CONTROL: usize = 0;
const VALUE: usize = 4;
const RELOAD: usize = 8;
const CLEAR_INTERRUPT: usize = 12;
const RUN: u32 = 1;
const INTERRUPT: u32 = 1 << 3;

const PER_MICROSECOND: u64 = 25;
/// The alarm sleeps no longer, so that no wrap of the clock (after 171 s) is missed.
const LONGEST_SLEEP: u64 = 60_000_000;

impl Timer {
    fn read(self, register: usize) -> u32 {
        // SAFETY: a register of this board; reading it has no side effect.
        unsafe { ((self.0 + register) as *const u32).read_volatile() }
    }

    fn write(self, register: usize, value: u32) {
        // SAFETY: a register of this board; writing it has no effect on memory.
        unsafe { ((self.0 + register) as *mut u32).write_volatile(value) }
    }
}

struct Clock {
    /// The counter when it was last looked at, and all that it has counted.
    counted: Mutex<Cell<(u32, u64)>>,
    queue: Mutex<RefCell<Queue>>,
    /// When the alarm is due, if it is set.
    alarm: Mutex<Cell<u64>>,
}

embassy_time_driver::time_driver_impl!(static DRIVER: Clock = Clock {
    counted: Mutex::new(Cell::new((u32::MAX, 0))),
    queue: Mutex::new(RefCell::new(Queue::new())),
    alarm: Mutex::new(Cell::new(0)),
});

impl Clock {
    fn now(&self, token: CriticalSection<'_>) -> u64 {
        let value = CLOCK.read(VALUE);
        let (last, total) = self.counted.borrow(token).get();
        let total = total + u64::from(last.wrapping_sub(value));
        self.counted.borrow(token).set((value, total));
        total / PER_MICROSECOND
    }

    /// Wakes who is due, and sets the alarm for the next.
    fn arm(&self, token: CriticalSection<'_>) {
        let now = self.now(token);
        let next = self.queue.borrow(token).borrow_mut().next_expiration(now);
        // One that comes too early does no harm, and to set it costs more than anything else here: in QEMU each write wakes another thread.
        let alarm = self.alarm.borrow(token);
        if now < alarm.get() && alarm.get() <= next {
            return;
        }
        let sleep = next.saturating_sub(now).clamp(1, LONGEST_SLEEP);
        alarm.set(now + sleep);
        let count = (sleep * PER_MICROSECOND) as u32;
        ALARM.write(CONTROL, 0);
        ALARM.write(CLEAR_INTERRUPT, 1);
        ALARM.write(RELOAD, count);
        ALARM.write(VALUE, count);
        ALARM.write(CONTROL, RUN | INTERRUPT);
    }
}

impl Driver for Clock {
    fn now(&self) -> u64 {
        critical_section::with(|token| self.now(token))
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|token| {
            let mut queue = self.queue.borrow(token).borrow_mut();
            let earlier = queue.schedule_wake(at, waker);
            drop(queue);
            if earlier {
                self.arm(token);
            }
        });
    }
}

/// Starts the clock. Before that, no time passes.
pub fn start() {
    CLOCK.write(CONTROL, 0);
    CLOCK.write(RELOAD, u32::MAX);
    CLOCK.write(VALUE, u32::MAX);
    CLOCK.write(CONTROL, RUN);
    critical_section::with(|token| DRIVER.arm(token));
    unmask(Interrupt::Timer1);
}

pub(crate) fn on_alarm() {
    critical_section::with(|token| {
        // Whatever the clock says it is: it is not set any more.
        DRIVER.alarm.borrow(token).set(0);
        DRIVER.arm(token);
    });
}

/// Makes QEMU's main loop run within a millisecond, by a timer that nobody waits for.
///
/// QEMU's network looks at what was sent only when that loop wakes; while this board sleeps without ticks, that may take half a second. On the real
/// board this does nothing.
pub(crate) fn nudge() {
    const ENABLE: u32 = 1 << 7;
    const WIDE: u32 = 1 << 1;
    const ONCE: u32 = 1;
    NUDGE.write(8, 0);
    NUDGE.write(0, 25_000);
    NUDGE.write(8, ENABLE | WIDE | ONCE);
}
