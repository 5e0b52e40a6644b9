//! The start-up code and `memory.x` agree on where statics live.

use core::sync::atomic::{AtomicU32, Ordering};

use super::ensure;

pub(crate) fn data_is_copied() -> Result<(), &'static str> {
    static WORD: AtomicU32 = AtomicU32::new(0x5249_4e47);
    ensure(
        WORD.fetch_add(1, Ordering::Relaxed) == 0x5249_4e47,
        "an initialised static does not hold its value",
    )
}

/// Zeroed statics are zero although RAM is painted before `main`.
pub(crate) fn bss_is_zeroed() -> Result<(), &'static str> {
    static WORDS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
    ensure(
        WORDS
            .iter()
            .all(|word| word.fetch_add(1, Ordering::Relaxed) == 0),
        "a zeroed static is not zero",
    )
}
