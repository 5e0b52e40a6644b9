//! Blocks of memory for objects, each with a count of who uses it.
//!
//! An object of a relay is in its store, in the last changes as what came and as what was before, and in a session that is sending it. One copy of its bytes
//! serves all of them; a handle is the number of a block. There are as many blocks as there can be versions at once, so a free one is always found.

// Reason: the bytes of a block are shared by handles, and written where the count says that nobody has one.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};

use critical_section::{CriticalSection, Mutex};
use ringwatch_edge::engine::Bytes;

use super::{BYTES, EVENTS, LINKS, OBJECTS, PENDING};

/// Each object as it is; of each change what was before it, if that is not the same as another's; of what is pending too; what each session
/// sends; and the one that is coming in.
const BLOCKS: usize = OBJECTS + EVENTS + PENDING + LINKS + 2;

/// Named as all memory of ours is, to be counted.
static MEMORY: Pool = Pool {
    blocks: [const { Block::free() }; BLOCKS],
    next: Mutex::new(Cell::new(0)),
};

struct Pool {
    blocks: [Block; BLOCKS],
    /// Where to look first: blocks are freed in about the order in which they were taken.
    next: Mutex<Cell<usize>>,
}

struct Block {
    uses: Mutex<Cell<u16>>,
    len: Mutex<Cell<u16>>,
    bytes: UnsafeCell<[u8; BYTES]>,
}

// SAFETY: `bytes` is written only between `Pool::take` finding a count of 0 and the first handle being made, by whoever found it: the count is 1 from then on, so nobody
// else finds the block. Handles only read, and the last one to go sets the count to 0. Counts are changed in critical sections.
unsafe impl Sync for Block {}

impl Block {
    const fn free() -> Self {
        Self {
            uses: Mutex::new(Cell::new(0)),
            len: Mutex::new(Cell::new(0)),
            bytes: UnsafeCell::new([0; BYTES]),
        }
    }
}

impl Pool {
    /// A free block, which is no longer free.
    fn take(&self, section: CriticalSection<'_>) -> Option<usize> {
        let next = self.next.borrow(section);
        let order = (next.get()..BLOCKS).chain(0..next.get());
        let (number, block) = order
            .filter_map(|number| Some((number, self.blocks.get(number)?)))
            .find(|(_, block)| block.uses.borrow(section).get() == 0)?;
        block.uses.borrow(section).set(1);
        next.set(number + 1);
        Some(number)
    }
}

/// A use of a block.
#[derive(Debug)]
pub struct Shared(u16);

impl Shared {
    fn block(&self) -> Option<&'static Block> {
        MEMORY.blocks.get(usize::from(self.0))
    }
}

impl Bytes for Shared {
    fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Option<Self> {
        let short = u16::try_from(len).ok().filter(|_| len <= BYTES)?;
        let number = critical_section::with(|section| {
            let number = MEMORY.take(section)?;
            MEMORY.blocks.get(number)?.len.borrow(section).set(short);
            u16::try_from(number).ok()
        })?;
        let handle = Self(number);
        // SAFETY: the block was free and is ours alone, since this handle is the only one and has not left this function.
        let bytes = unsafe { &mut *handle.block()?.bytes.get() };
        fill(bytes.get_mut(..len)?);
        Some(handle)
    }
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        let Some(block) = self.block() else {
            return &[];
        };
        let len = critical_section::with(|section| block.len.borrow(section).get());
        // SAFETY: nobody writes to a block of which there is a handle.
        let bytes = unsafe { &*block.bytes.get() };
        bytes.get(..usize::from(len)).unwrap_or_default()
    }
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        if let Some(block) = self.block() {
            critical_section::with(|section| {
                let uses = block.uses.borrow(section);
                uses.set(uses.get() + 1);
            });
        }
        Self(self.0)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(block) = self.block() {
            critical_section::with(|section| {
                let uses = block.uses.borrow(section);
                uses.set(uses.get().saturating_sub(1));
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_used_again_when_nobody_has_it() {
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
