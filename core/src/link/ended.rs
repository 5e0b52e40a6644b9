//! How a session has ended.

use core::error::Error;
use core::fmt;

use super::frame::Code;
use super::wire::WireError;

/// How a session has ended. Another one can be begun at once, except where a code says that it is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Ended {
    /// The serving end does not let the node in.
    Refused(Code),
    /// The peer said goodbye.
    ByPeer(Code),
    /// This end said goodbye.
    Here(Code),
    /// The bytes made no packets.
    Wire(WireError),
    /// A packet did not open: it was changed, repeated, left out, or sealed with another key.
    Forged,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(code) => write!(f, "refused: {code}"),
            Self::ByPeer(code) => write!(f, "ended by the peer: {code}"),
            Self::Here(code) => write!(f, "ended here: {code}"),
            Self::Wire(error) => error.fmt(f),
            Self::Forged => f.write_str("packet does not open"),
        }
    }
}

impl Error for Ended {}
