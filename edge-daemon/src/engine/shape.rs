//! How a relay's memory is laid out: a type for each thing that is stored, and thereby every bound.

use core::borrow::Borrow;

use ringwatch_core::history;
use ringwatch_core::link::serve::{Asked, Parsed, Reported};
use ringwatch_core::object::{Change, Object as _};
use ringwatch_core::room::{InPlace, Room};
use ringwatch_core::slots::{Place, Slots};
use ringwatch_core::store::Slot;

use super::object::{Bytes, Object};
use super::stored::Stored;

/// The storage of a relay.
pub trait Shape: Sized + 'static {
    /// What an object is kept in.
    type Bytes: Bytes;
    /// What a key is kept in.
    type Key: Ord + Clone + Borrow<str> + for<'k> TryFrom<&'k str>;
    /// The key of an object. Where objects share their bytes, so can keys.
    fn key(object: &Object<Self::Bytes>) -> Option<Self::Key> {
        Self::Key::try_from(object.key().as_str()).ok()
    }

    /// What a node asks for is kept as.
    type Asked: Asked;
    /// What a name of the relay's own is kept in.
    type Text: AsRef<str> + Clone + for<'t> TryFrom<&'t str>;
    /// The objects of a track.
    type Objects: Slots<Slot<Self::Key, Stored<Self::Bytes>>>;
    /// The last changes of a track.
    type Changes: Slots<Place<history::Entry<Change<Object<Self::Bytes>>>>>;
    /// Where a session with a node keeps its large parts.
    type Room: Room;
    /// The changes of a track that are not complete. If there are more, those who read are sent a difference instead of them.
    type Pending: Slots<Place<Change<Object<Self::Bytes>>>>;
    /// The last restarts of nodes, and those that are to be passed on.
    type Restarts: Slots<Place<Reported>>;
    /// None of them.
    const NO_RESTARTS: Self::Restarts;
}

/// Everything in arrays: for firmware, and wherever the size is to be known when it is built.
///
/// `OBJECTS` of `BYTES` each (with key and labels), keys of `KEY` bytes, `CHANGES` in the history, of which `PENDING` at once, and selectors
/// of `TEXT` bytes.
#[derive(Debug)]
pub struct Fixed<
    const OBJECTS: usize,
    const BYTES: usize,
    const KEY: usize,
    const CHANGES: usize,
    const PENDING: usize,
    const TEXT: usize,
>;

type FixedObject<const BYTES: usize> = Object<heapless::Vec<u8, BYTES>>;

impl<
    const OBJECTS: usize,
    const BYTES: usize,
    const KEY: usize,
    const CHANGES: usize,
    const PENDING: usize,
    const TEXT: usize,
> Shape for Fixed<OBJECTS, BYTES, KEY, CHANGES, PENDING, TEXT>
{
    type Bytes = heapless::Vec<u8, BYTES>;
    type Key = heapless::String<KEY>;
    type Asked = Parsed<heapless::String<TEXT>>;
    type Text = heapless::String<TEXT>;
    type Room = InPlace;
    type Objects = [Slot<Self::Key, Stored<Self::Bytes>>; OBJECTS];
    type Changes = [Place<history::Entry<Change<FixedObject<BYTES>>>>; CHANGES];
    type Pending = [Place<Change<FixedObject<BYTES>>>; PENDING];
    type Restarts = [Place<Reported>; 4];
    const NO_RESTARTS: Self::Restarts = [const { Place::Free }; 4];
}

/// Everything in boxes: for programs that learn their sizes when they start.
#[cfg(feature = "linux")]
#[derive(Debug)]
pub struct Heap;

#[cfg(feature = "linux")]
type HeapObject = Object<std::sync::Arc<[u8]>>;

#[cfg(feature = "linux")]
impl Shape for Heap {
    type Bytes = std::sync::Arc<[u8]>;
    type Key = Box<str>;
    type Asked = Parsed<Box<str>>;
    type Text = Box<str>;
    type Room = Boxed;
    type Objects = Box<[Slot<Self::Key, Stored<Self::Bytes>>]>;
    type Changes = Box<[Place<history::Entry<Change<HeapObject>>>]>;
    type Pending = Box<[Place<Change<HeapObject>>]>;
    // Few nodes restart by themselves, so that these are not worth a setting.
    type Restarts = [Place<Reported>; 64];
    const NO_RESTARTS: Self::Restarts = [const { Place::Free }; 64];
}

/// Keeps parts in boxes, as long as they are there.
#[cfg(feature = "linux")]
#[derive(Debug)]
pub enum Boxed {}

#[cfg(feature = "linux")]
impl Room for Boxed {
    type Part<T> = Box<T>;
    const RESERVED: bool = false;

    fn make<T>(part: T) -> Box<T> {
        Box::new(part)
    }
}
