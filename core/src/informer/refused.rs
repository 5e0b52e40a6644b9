//! Why an informer cannot take something in.

use core::error::Error;
use core::fmt;

use crate::revision::Revision;

/// Something was not taken in; the value comes back and the view is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused<T> {
    /// What was refused.
    pub value: T,
    /// Why.
    pub reason: Reason,
}

/// Why an informer refuses an object, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Reason {
    /// Every place is taken, perhaps by deleted objects whose deletion the handler has not heard of: flush
    /// and try again, or ask for fewer objects.
    Full,
    /// The index has no place left.
    IndexFull,
    /// The key does not fit the key type.
    KeyTooLong,
    /// The revision is older than what is known: the sender went back in time. Ask for a snapshot.
    OutOfOrder {
        /// The newest revision known.
        newest: Revision,
    },
}

impl Reason {
    pub(super) fn of<T>(self, value: T) -> Refused<T> {
        Refused {
            value,
            reason: self,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("informer is full"),
            Self::IndexFull => f.write_str("index of the informer is full"),
            Self::KeyTooLong => f.write_str("key is too long for the informer"),
            Self::OutOfOrder { newest } => write!(f, "event is older than revision {newest}"),
        }
    }
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<T: fmt::Debug> Error for Refused<T> {}
