//! A restart that nobody asked for, as it is reported: whose, why, and which start it led to.

use core::fmt;

use serde::{Deserialize, Serialize};

/// The most bytes of [`Restart::node`]: two names and a slash.
pub const MAX_WHOSE: usize = 127;
/// The most bytes of [`Restart::detail`].
pub const MAX_DETAIL: usize = 120;

/// A node has restarted by itself, and says so to whoever looks after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart<'a> {
    /// Whose it was: nobody's for the sender's own, otherwise the names by which the node is reached from the sender, with slashes between them.
    pub node: &'a str,
    /// Which start it led to, as the node counts them: the same number is the same restart.
    pub boot: u32,
    /// Why, in a word.
    pub cause: Cause,
    /// Why, in more; perhaps nothing.
    pub detail: &'a str,
}

/// Why a node restarts by itself. Complete, and in the order of the wire's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Cause {
    /// The program gave up.
    Panic,
    /// The processor did, at an instruction that it could not carry out.
    Fault,
    /// The stack was too deep.
    Stack,
    /// Nothing had run for too long.
    Watchdog,
    /// Anything else.
    Other,
}

impl Cause {
    /// Each of them.
    pub const ALL: [Self; 5] = [
        Self::Panic,
        Self::Fault,
        Self::Stack,
        Self::Watchdog,
        Self::Other,
    ];

    /// In a word, the same for all of a kind.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Fault => "fault",
            Self::Stack => "stack",
            Self::Watchdog => "watchdog",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl<'a> Restart<'a> {
    /// Whether the texts are of one line and not too long, as everybody may rely on who prints them.
    pub(super) fn is_sound(&self) -> bool {
        let line = |text: &str, most| text.len() <= most && !text.contains(char::is_control);
        line(self.node, MAX_WHOSE) && line(self.detail, MAX_DETAIL)
    }

    /// With as much of the detail as a frame of so many bytes has room for.
    pub(in crate::link) fn within(self, bytes: usize) -> Self {
        // Kind, two lengths, the start and the cause.
        let room = bytes.saturating_sub(1 + 1 + self.node.len() + 5 + 1 + 1);
        let most = self.detail.floor_char_boundary(room.min(MAX_DETAIL));
        Self {
            detail: self.detail.get(..most).unwrap_or_default(),
            ..self
        }
    }
}
