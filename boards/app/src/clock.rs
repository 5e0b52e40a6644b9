//! The time, as the core counts it and as embassy does.

use ringwatch_core::time::Instant;

/// The time as the core counts it.
pub(crate) fn now() -> Instant {
    Instant::from_millis(embassy_time::Instant::now().as_millis())
}

/// A moment as embassy counts it; the last one that there is, if it is later.
pub(crate) fn moment(at: Instant) -> embassy_time::Instant {
    let ticks = at.as_millis().checked_mul(embassy_time::TICK_HZ / 1000);
    ticks.map_or(
        embassy_time::Instant::MAX,
        embassy_time::Instant::from_ticks,
    )
}
