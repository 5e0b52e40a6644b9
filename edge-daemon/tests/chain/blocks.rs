//! Objects in blocks of which there are few: what there is comes before what there was.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use ringwatch_core::history;
use ringwatch_core::link::frame::How;
use ringwatch_core::link::node::{Bookmark, View};
use ringwatch_core::link::serve::{Reported, Texts};
use ringwatch_core::object::Change;
use ringwatch_core::predicate::Scope;
use ringwatch_core::revision::Revision;
use ringwatch_core::room::InPlace;
use ringwatch_core::slots::Place;
use ringwatch_core::store::Slot;
use ringwatch_core::time::Instant;
use ringwatch_edge::engine::{Bytes, Object, Shape, Stored, Subject, Track};

use crate::world::{ORIGIN, RESOURCE};

const OBJECTS: usize = 4;
const CHANGES: usize = 8;
/// Too few for as many versions as there may be.
const BLOCKS: usize = 7;

thread_local! {
    static FREE: Cell<usize> = const { Cell::new(BLOCKS) };
}

/// Bytes in a block.
#[derive(Debug, Clone)]
struct Block(Rc<Taken>);

#[derive(Debug)]
struct Taken(Vec<u8>);

impl Drop for Taken {
    fn drop(&mut self) {
        FREE.set(FREE.get() + 1);
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.0.0
    }
}

impl Bytes for Block {
    const LONGEST: usize = 128;

    fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Option<Self> {
        FREE.set(FREE.get().checked_sub(1)?);
        let mut bytes = vec![0; len];
        fill(&mut bytes);
        Some(Self(Rc::new(Taken(bytes))))
    }
}

struct InBlocks;

impl Shape for InBlocks {
    type Bytes = Block;
    type Key = heapless::String<16>;
    type Text = heapless::String<32>;
    type Room = InPlace;
    type Asked = Texts<32>;
    type Objects = [Slot<Self::Key, Stored<Block>>; OBJECTS];
    type Changes = [Place<history::Entry<Change<Object<Block>>>>; CHANGES];
    type Pending = [Place<Change<Object<Block>>>; 2];
    type Restarts = [Place<Reported>; 1];
    const NO_RESTARTS: Self::Restarts = [const { Place::Free }; 1];
}

#[test]
fn if_there_is_no_block_the_oldest_changes_give_way() {
    let mut track = Track::<InBlocks>::array(Subject {
        resource: RESOURCE.try_into().unwrap(),
        scope: Scope::Resource,
    });
    let at = Revision::new;
    track.begin(ORIGIN, How::Snapshot);
    for number in 1..=OBJECTS as u64 {
        track.put(&format!("hall/{number}"), at(number), b"{}");
    }
    let end = Bookmark {
        revision: at(4),
        digest: None,
        age: Duration::ZERO,
        skipped: 0,
        ends_snapshot: true,
    };
    track.bookmark(end, Instant::from_millis(1));
    assert_eq!(FREE.get(), BLOCKS - OBJECTS);
    for revision in 5..100 {
        track.put(&format!("hall/{}", revision % 4 + 1), at(revision), b"{}");
        track.settle(at(revision));
        assert!(track.has_all(), "{revision} is missing");
        assert_eq!(track.revision(), at(revision));
        // One block for each object, and each change that is remembered keeps one for what was before it.
        let remembered = revision.saturating_sub(4).min((BLOCKS - OBJECTS) as u64);
        assert_eq!(track.floor(), at(revision - remembered), "{revision}");
    }
    // An object of its own that is longer than any block is missing, and nothing gives way for it.
    let floor = track.floor();
    track.put(
        "hall/1",
        at(100),
        format!("{{\"a\":\"{}\"}}", "b".repeat(128)).as_bytes(),
    );
    track.settle(at(100));
    assert!(!track.has_all());
    assert_eq!(track.floor(), floor);
}
