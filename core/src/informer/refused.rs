//! Why an informer cannot take something in.

use core::error::Error;
use core::fmt;

/// An object was not taken in; the value comes back. (To make room for it, a snapshot may have put out an object
/// that it had not named.)
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
        f.write_str(match self {
            Self::Full => "informer is full",
            Self::IndexFull => "index of the informer is full",
            Self::KeyTooLong => "key is too long for the informer",
        })
    }
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<T: fmt::Debug> Error for Refused<T> {}
