//! Why the board has restarted: a note in memory that a reset leaves as it is.
//!
//! The board finds a place for the note and knows how to reset; what is in it is here.

use core::fmt::{self, Write};

pub use ringwatch_core::link::frame::Cause;
use ringwatch_core::link::frame::{MAX_DETAIL, Restart};
use static_cell::StaticCell;

/// How much of a reason is kept: as much as can be reported.
const TEXT: usize = MAX_DETAIL;
const SET: u32 = 0x5245_5354;

/// The note. Any bytes make one, since memory that nobody has written holds anything.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Note {
    set: u32,
    /// Which of all causes.
    cause: u32,
    len: u32,
    text: [u8; TEXT],
}

impl Note {
    /// Says nothing.
    pub const BLANK: Self = Self {
        set: 0,
        cause: 0,
        len: 0,
        text: [0; TEXT],
    };

    /// Says why.
    pub fn because(cause: Cause, why: fmt::Arguments<'_>) -> Self {
        let mut note = Self::of(cause);
        // What does not fit is left out, which is no error.
        let _ = note.write_fmt(why);
        note
    }

    /// Says why, without formatting anything: for who has little stack.
    pub fn because_of(cause: Cause, why: &str) -> Self {
        let mut note = Self::of(cause);
        let _ = note.write_str(why);
        note
    }

    /// Says that the watchdog did it, after so many seconds.
    pub fn of_watchdog(seconds: u64) -> Self {
        Self::because(Cause::Watchdog, format_args!("{seconds} s of nothing"))
    }

    const fn of(cause: Cause) -> Self {
        Self {
            set: SET,
            cause: cause as u32,
            ..Self::BLANK
        }
    }

    /// The note in a place of its own, for as long as the board runs: it is long, and is looked at more than once. There is one note.
    pub fn placed(self) -> &'static Self {
        static PLACE: StaticCell<Note> = StaticCell::new();
        PLACE.try_init(self).map_or(&Self::BLANK, |note| note)
    }

    /// What is to be reported of it, if it says anything: it led to the start with this number.
    pub fn restart(&self, boot: u32) -> Option<Restart<'_>> {
        let detail = self.reason()?;
        let mut causes = Cause::ALL.into_iter();
        let cause = causes.find(|cause| *cause as u32 == self.cause);
        Some(Restart {
            node: "",
            boot,
            cause: cause.unwrap_or(Cause::Other),
            detail,
        })
    }

    /// What it says, if anything.
    pub fn reason(&self) -> Option<&str> {
        let text = self.text.get(..self.len as usize)?;
        let text = core::str::from_utf8(text).ok()?;
        (self.set == SET).then_some(text)
    }
}

/// Takes what fits, as one line of ASCII.
impl Write for Note {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            let byte = if byte.is_ascii_graphic() { byte } else { b' ' };
            if let Some(place) = self.text.get_mut(self.len as usize) {
                *place = byte;
                self.len += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_what_it_was_told_and_nothing_else() {
        assert_eq!(Note::BLANK.reason(), None);
        let note = Note::because(Cause::Panic, format_args!("panicked at {}:\nü", 7));
        assert_eq!(note.reason(), Some("panicked at 7:   "));
        let restart = note.restart(4).unwrap();
        assert_eq!((restart.boot, restart.cause), (4, Cause::Panic));
        let long = Note::because_of(Cause::Stack, &"x".repeat(500));
        assert_eq!(long.reason().map(str::len), Some(TEXT));
        for byte in [0xaa, 0xff] {
            let garbage = Note {
                set: SET,
                cause: 9,
                len: u32::from_le_bytes([byte; 4]),
                text: [byte; TEXT],
            };
            assert_eq!(garbage.reason(), None);
        }
    }
}
