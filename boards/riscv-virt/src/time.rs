//! embassy's clock, without ticks: the machine's own timer counts and wakes.

// Reason: memory-mapped registers are reached through raw pointers.
#![allow(unsafe_code)]

use core::cell::RefCell;
use core::task::Waker;

use critical_section::Mutex;
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

const COMPARE: *mut u32 = 0x0200_4000 as *mut u32;
const TIME: *const u32 = 0x0200_bff8 as *const u32;

struct Clock {
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static DRIVER: Clock = Clock {
    queue: Mutex::new(RefCell::new(Queue::new())),
});

impl Clock {
    /// Wakes who is due, and sets the alarm for the next. One that is past comes at once.
    fn arm(&self, queue: &mut Queue) {
        wake_at(queue.next_expiration(self.now()));
    }
}

impl Driver for Clock {
    fn now(&self) -> u64 {
        loop {
            // SAFETY: registers of this board; reading them has no side effect. The upper half is read twice, since it may change in between.
            let (high, low, again) = unsafe {
                let high = TIME.wrapping_add(1);
                (
                    high.read_volatile(),
                    TIME.read_volatile(),
                    high.read_volatile(),
                )
            };
            if high == again {
                return u64::from(high) << 32 | u64::from(low);
            }
        }
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|token| {
            let mut queue = self.queue.borrow(token).borrow_mut();
            if queue.schedule_wake(at, waker) {
                self.arm(&mut queue);
            }
        });
    }
}

fn wake_at(at: u64) {
    // SAFETY: registers of this board; writing them has no effect on memory. In between the alarm is in the far future.
    unsafe {
        COMPARE.wrapping_add(1).write_volatile(u32::MAX);
        COMPARE.write_volatile(at as u32);
        COMPARE.wrapping_add(1).write_volatile((at >> 32) as u32);
    }
}

/// Starts the clock, with no alarm.
pub fn start() {
    wake_at(u64::MAX);
}

pub(crate) fn on_alarm() {
    critical_section::with(|token| DRIVER.arm(&mut DRIVER.queue.borrow(token).borrow_mut()));
}
