//! Blocks of memory for objects and their keys, each with a count of who uses it.
//!
//! An object of a relay is in its store, in the last changes as what came and as what was before, and in a session that is sending it; its key is in the store, and is where a node has
//! come to. One copy of its bytes serves all of them. There are as many blocks as objects and changes; if more are in use, the oldest changes give way.

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::mem::MaybeUninit;

use heapless::arc_pool;
use heapless::pool::arc::{Arc, ArcBlock};
use ringwatch_core::object::Object as _;
use ringwatch_core::revision::Revision;
use ringwatch_edge::engine::{Bytes, Object};
use static_cell::StaticCell;

use super::{BYTES, EVENTS, OBJECTS};

/// Each object as it is; of each change what was before it, if that is not the same as another's; and the one that is coming in.
const BLOCKS: usize = OBJECTS + EVENTS + 1;

arc_pool!(Blocks: Block);

/// The bytes of an object, and how many they are.
#[allow(
    unreachable_pub,
    reason = "the pool is public by its macro, and so must be what it holds"
)]
pub struct Block {
    len: u8,
    bytes: [u8; BYTES],
}

/// Gives the memory to the pool, before which there is none: once.
pub(super) fn fill() {
    /// Named as all memory of ours is, to be counted. Block by block, since all together would be made on the stack.
    static MEMORY: StaticCell<[MaybeUninit<ArcBlock<Block>>; BLOCKS]> = StaticCell::new();
    if let Some(blocks) = MEMORY.try_init([const { MaybeUninit::uninit() }; BLOCKS]) {
        let blocks = blocks.iter_mut();
        blocks.for_each(|block| Blocks.manage(block.write(ArcBlock::new())));
    }
}

/// A use of a block.
#[derive(Clone)]
pub struct Shared(Arc<Blocks>);

impl Bytes for Shared {
    const LONGEST: usize = BYTES;

    fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Option<Self> {
        let mut block = Block {
            len: u8::try_from(len).ok()?,
            bytes: [0; BYTES],
        };
        fill(block.bytes.get_mut(..len)?);
        Blocks.alloc(block).ok().map(Self)
    }
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        let Block { len, bytes } = &*self.0;
        bytes.get(..usize::from(*len)).unwrap_or_default()
    }
}

/// The key of an object, in the bytes of that object.
#[derive(Clone)]
pub struct Name(Object<Shared>);

impl Name {
    /// That of an object, with which it shares its block.
    pub(super) fn of(object: &Object<Shared>) -> Self {
        Self(object.clone())
    }
}

/// A key of which there is no object here takes a block of its own.
impl TryFrom<&str> for Name {
    type Error = NoRoom;

    fn try_from(key: &str) -> Result<Self, NoRoom> {
        let object = Object::new(key, Revision::ZERO, b"{}");
        object.map(Self).map_err(|_| NoRoom)
    }
}

/// There is no key, or no block for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.0.key().as_str()
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key().as_str().cmp(other.0.key().as_str())
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Name {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_used_again_when_nobody_has_it() {
        fill();
        let make = |byte: u8| Shared::build(3, |bytes| bytes.fill(byte));
        assert!(Shared::build(BYTES + 1, |_| ()).is_none());
        for round in 0..3 {
            let mut all: Vec<_> = (0..BLOCKS)
                .map(|n| make(n as u8 ^ round).unwrap())
                .collect();
            assert!(make(0).is_none(), "there are no more");
            for (number, block) in all.iter().enumerate() {
                assert_eq!(block.as_ref(), [number as u8 ^ round; 3]);
            }
            let kept = all.swap_remove(7).clone();
            drop(all);
            assert_eq!(make(9).unwrap().as_ref(), [9; 3]);
            assert_eq!(kept.as_ref(), [7 ^ round; 3]);
        }
    }
}
