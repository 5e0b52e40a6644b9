//! The checks, in the order in which they run.

use core::sync::atomic::{AtomicU32, Ordering};

/// A check says in a few words what was wrong.
type Check = fn() -> Result<(), &'static str>;

pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("data is copied from flash", data_is_copied),
    ("bss is zeroed", bss_is_zeroed),
];

/// The start-up code and `memory.x` agree on where initialised statics live.
fn data_is_copied() -> Result<(), &'static str> {
    static WORD: AtomicU32 = AtomicU32::new(0x5249_4e47);
    match WORD.fetch_add(1, Ordering::Relaxed) {
        0x5249_4e47 => Ok(()),
        _ => Err("an initialised static does not hold its value"),
    }
}

/// Zeroed statics are zero although RAM is painted before `main`.
fn bss_is_zeroed() -> Result<(), &'static str> {
    static WORDS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
    if WORDS
        .iter()
        .all(|word| word.fetch_add(1, Ordering::Relaxed) == 0)
    {
        Ok(())
    } else {
        Err("a zeroed static is not zero")
    }
}
