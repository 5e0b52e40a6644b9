//! Why something has ended.

use core::error::Error;
use core::fmt;

use serde::{Deserialize, Serialize};

/// Why a session or a subscription has ended. Complete, and in the order of the wire's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Code {
    /// All is well; the sender has no more use for the session.
    Done,
    /// The sender is about to end: resume elsewhere, or later.
    ShuttingDown,
    /// The peer has sent what it may not: one of the two has a bug.
    Protocol,
    /// No version of the protocol that both ends know.
    Version,
    /// Unknown name, wrong key, or plain text where it is not taken.
    Refused,
    /// The node's key is no longer good.
    Revoked,
    /// Nothing was heard of the peer for too long.
    Silent,
    /// The subscription fell behind what the sender remembers: subscribe again.
    Expired,
    /// The node may not have this.
    Forbidden,
    /// There is no such resource here.
    UnknownResource,
    /// A selector is wrong; the detail says at which byte.
    BadSelector,
    /// The field list is wrong; the detail says at which byte.
    BadProjection,
    /// Too many subscriptions; the detail says how many are possible.
    TooMany,
    /// Not now: ask again after a while.
    Unavailable,
    /// The request is longer than the sender has room for.
    Unsupported,
}

impl Code {
    /// Whether asking for the same again may help.
    pub const fn is_temporary(self) -> bool {
        matches!(
            self,
            Self::Done
                | Self::ShuttingDown
                | Self::Silent
                | Self::Expired
                | Self::UnknownResource
                | Self::Unavailable
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::ShuttingDown => "shutting down",
            Self::Protocol => "protocol",
            Self::Version => "version",
            Self::Refused => "refused",
            Self::Revoked => "revoked",
            Self::Silent => "silent",
            Self::Expired => "expired",
            Self::Forbidden => "forbidden",
            Self::UnknownResource => "unknown resource",
            Self::BadSelector => "bad selector",
            Self::BadProjection => "bad projection",
            Self::TooMany => "too many",
            Self::Unavailable => "unavailable",
            Self::Unsupported => "unsupported",
        })
    }
}

impl Error for Code {}
