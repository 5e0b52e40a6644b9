//! Storage that the caller chooses: a fixed number of places, however they are kept.
//!
//! Every bounded structure of this crate is one implementation over a `Slots` type. `N` places mean
//! `N` usable places.
//!
//! | kept as | for |
//! |---|---|
//! | `[T; N]` | a `static`, or a field of a struct |
//! | `heapless::Vec<T, N>` (filled) | firmware that already uses heapless |
//! | `&mut [T]` | memory borrowed from somewhere |
//! | `Box<[T]>`, `Vec<T>` | a size that is known when the program starts |

/// Anything that lends out the same slice each time.
///
/// The length must not change while a structure owns it. If it does, nothing panics and nothing
/// unsound happens, but entries may be lost.
pub trait Slots<T>: AsRef<[T]> + AsMut<[T]> {}

impl<T, S: AsRef<[T]> + AsMut<[T]>> Slots<T> for S {}

/// A place that is free or taken.
///
/// An `Option` in all but its memory: a free place is all zeros whatever `T` is, since its tag is never
/// hidden in `T`. So an empty structure in a `static` lies in `.bss`: it takes no flash and is not
/// copied at start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Place<T> {
    /// Nothing is here.
    #[default]
    Free = 0,
    /// Something is.
    Taken(T) = 1,
}

impl<T> Place<T> {
    /// What is here.
    pub const fn as_ref(&self) -> Option<&T> {
        match self {
            Self::Free => None,
            Self::Taken(value) => Some(value),
        }
    }

    /// What is here, to be changed.
    pub const fn as_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Free => None,
            Self::Taken(value) => Some(value),
        }
    }

    /// Frees the place and gives what was there.
    pub fn take(&mut self) -> Option<T> {
        core::mem::take(self).into()
    }

    /// Fills the place and gives what was there.
    pub fn replace(&mut self, value: T) -> Option<T> {
        core::mem::replace(self, Self::Taken(value)).into()
    }
}

impl<T> From<Place<T>> for Option<T> {
    fn from(place: Place<T>) -> Self {
        match place {
            Place::Free => None,
            Place::Taken(value) => Some(value),
        }
    }
}
