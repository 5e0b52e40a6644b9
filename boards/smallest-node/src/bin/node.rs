//! The smallest honest node: takes each frame into an informer and acts on what has changed.
#![no_std]
#![no_main]

use core::hint::black_box;

use cortex_m_rt::entry;
use heapless::String;
use ringwatch_core::{
    informer::{Handler, Held, Informer},
    revision::Revision,
    store::Slot,
};
use smallest_node::{MAX_FRAME, receive};

/// What the RAM budget speaks of: 16 objects of 64 bytes.
const CAPACITY: usize = 16;
type Object = [u8; 64];
type Key = String<32>;
type Objects = Informer<Key, Object, [Slot<Key, Held<Object>>; CAPACITY]>;

#[entry]
fn main() -> ! {
    // State goes in statics here, not on the stack: then the sections are the whole memory bill.
    static mut FRAME: [u8; MAX_FRAME] = [0; MAX_FRAME];
    static mut OBJECTS: Objects = Informer::array();
    receive(FRAME, |frame| {
        black_box(take(OBJECTS, frame));
    })
}

/// All that this firmware does with the core. `None`: the frame is none, or was refused.
fn take(objects: &mut Objects, frame: &[u8]) -> Option<()> {
    let (&kind, rest) = frame.split_first()?;
    let (revision, rest) = rest.split_first_chunk()?;
    let revision = Revision::new(u64::from_le_bytes(*revision));
    let (&length, rest) = rest.split_first()?;
    let (key, value) = rest.split_at_checked(length.into())?;
    let key = str::from_utf8(key).ok()?;
    match kind {
        0 => objects.delete(key, revision, &mut Act).ok(),
        _ => {
            let value = *value.first_chunk()?;
            objects.put(key, revision, value, &mut Act).ok()
        }
    }
}

/// Stands for what a device does when its objects change.
struct Act;

impl Handler<Object> for Act {
    fn on_add(&mut self, key: &str, new: &Object) {
        black_box((key, new));
    }
    fn on_update(&mut self, key: &str, old: Option<&Object>, new: &Object) {
        black_box((key, old, new));
    }
    fn on_delete(&mut self, key: &str, last: &Object) {
        black_box((key, last));
    }
}
