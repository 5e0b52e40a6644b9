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
