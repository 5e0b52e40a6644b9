//! An output that breaks its board on purpose: one setpoint makes it panic, another one takes all the stack, a third one all the time. For images that show what becomes of that.
//!
//! Each happens once: who has just restarted for that reason holds the setpoint, as the node that it is.

use core::hint::{black_box, spin_loop};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::device::Drive;
use crate::restart::{Cause, Note};

const PANICS: f32 = 1001.0;
const TOO_DEEP: f32 = 1002.0;
/// For boards with a watchdog.
const FOR_EVER: f32 = 1003.0;

/// Why the board has restarted, if it has.
static RESTARTED: AtomicU32 = AtomicU32::new(u32::MAX);

/// The output of a board that has restarted for this reason.
pub fn output(restarted: &Note) -> Drive {
    if let Some(restart) = restarted.restart(0) {
        RESTARTED.store(restart.cause as u32, Ordering::Relaxed);
    }
    drive
}

#[allow(clippy::panic, reason = "to see what becomes of it")]
fn drive(setpoint: f32) {
    let is_first = |cause: Cause| RESTARTED.load(Ordering::Relaxed) != cause as u32;
    if setpoint == PANICS && is_first(Cause::Panic) {
        panic!("on purpose");
    }
    if setpoint == TOO_DEEP && is_first(Cause::Stack) {
        too_deep(1);
    }
    if setpoint == FOR_EVER && is_first(Cause::Watchdog) {
        loop {
            spin_loop();
        }
    }
}

/// Takes all the stack that there is, from level 1 on.
pub fn too_deep(level: u32) -> u32 {
    let frame = black_box([level; 64]);
    match black_box(level) {
        0 => 0,
        _ => too_deep(level + 1).wrapping_add(frame[1]),
    }
}
