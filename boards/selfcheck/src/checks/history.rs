//! The ring on a 32-bit target: what it evicts, it says.

use ringwatch_core::{history::History, revision::Revision};

use super::ensure;

pub(crate) fn full_ring() -> Result<(), &'static str> {
    const PLACES: u64 = 4;
    let mut history = History::<u64, [_; PLACES as usize]>::array();
    let slow = history
        .since(Revision::ZERO)
        .map_err(|_| "an empty ring refuses a reader from the start")?;
    // Past 2³², so that a counter of the wrong width would show.
    let first = u64::from(u32::MAX) - 2;
    for n in 0..2 * PLACES {
        history
            .push(Revision::new(first + n), n)
            .map_err(|_| "a newer revision was refused")?;
    }
    ensure(
        history.len() == PLACES as usize,
        "a ring of 4 does not hold 4",
    )?;
    ensure(
        history.next(&mut slow.clone()).is_err(),
        "a reader that fell off the ring was not told",
    )?;
    let mut cursor = history
        .since(Revision::new(first + PLACES))
        .map_err(|_| "a revision in the ring counts as expired")?;
    for n in PLACES + 1..2 * PLACES {
        let entry = history.next(&mut cursor).ok().flatten();
        ensure(
            entry.is_some_and(|entry| entry.change == n),
            "a change is missing or out of order",
        )?;
    }
    ensure(history.next(&mut cursor) == Ok(None), "a change too many")
}
