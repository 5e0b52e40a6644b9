//! The time and the dice: what decisions need from outside.

use jiff::Timestamp;

use super::create::{RANDOM, Stamp};
use crate::status::Failure;

/// Where the time and random bytes come from.
pub trait Environment: Send + Sync + 'static {
    /// The moment.
    fn now(&self) -> Timestamp;

    /// Fills the buffer with bytes that nobody can guess.
    ///
    /// # Errors
    ///
    /// Why there are none.
    fn random(&self, buffer: &mut [u8]) -> Result<(), String>;
}

/// The operating system's.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Environment for System {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn random(&self, buffer: &mut [u8]) -> Result<(), String> {
        getrandom::fill(buffer).map_err(|error| error.to_string())
    }
}

impl dyn Environment {
    /// What the next object gets.
    pub(super) fn stamp(&self) -> Result<Stamp, Failure> {
        let mut random = [0; RANDOM];
        self.random(&mut random).map_err(Failure::internal)?;
        Ok(Stamp::new(self.now(), random))
    }
}
