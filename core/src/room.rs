//! Where large parts of a value are kept: inside of it, or where an allocator puts them.
//!
//! Firmware wants one value whose size is known. A program with thousands of them wants each to take what it uses: so what is rarely all there is
//! [made](Room::make) when it is needed, in the [`Room`] of the owner's choice.

use core::ops::{Deref, DerefMut};

/// A way to keep parts.
pub trait Room {
    /// A part that is kept.
    type Part<T>: DerefMut<Target = T>;
    /// Whether a part takes its room even when there is none; then there is nothing to gain by giving it up.
    const RESERVED: bool;

    /// Keeps a part.
    fn make<T>(part: T) -> Self::Part<T>;
}

/// Keeps parts inside: no allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlace {}

impl Room for InPlace {
    type Part<T> = Inside<T>;
    const RESERVED: bool = true;

    fn make<T>(part: T) -> Inside<T> {
        Inside(part)
    }
}

/// A part that is kept [`InPlace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inside<T>(T);

impl<T> Deref for Inside<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Inside<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Bytes to work in, which are there only while they are used.
pub(crate) struct Buffer<R: Room, const N: usize>(Option<R::Part<[u8; N]>>);

impl<R: Room, const N: usize> Buffer<R, N> {
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// The bytes, as they were left, or zeros.
    pub(crate) fn bytes(&mut self) -> &mut [u8; N] {
        self.0.get_or_insert_with(|| R::make([0; N]))
    }

    /// What is in it is not needed any more.
    pub(crate) fn give_up(&mut self) {
        if !R::RESERVED {
            self.0 = None;
        }
    }
}
