//! The power is cut at every single write to flash, and what is found afterwards is right or known to be in doubt.
//!
//! A node follows a list of steps and saves after each, on flash that keeps a copy of itself from the middle of every word that is written and of every page that is
//! erased. From each copy the node is started again: what it finds must be what some step had saved, exactly, or be in doubt, and saving must work again.

use core::cell::Cell;
use core::convert::Infallible;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::rc::Rc;

use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use heapless::String;
use ringwatch_app::device::Device;
use ringwatch_app::keep::{Keep, Restored};
use ringwatch_core::digest::Digest;
use ringwatch_core::informer::Held;
use ringwatch_core::link::frame::{How, Origin};
use ringwatch_core::link::node::{Bookmark, Mirror, Position, View, projected};
use ringwatch_core::revision::Revision;
use ringwatch_core::store::Slot;
use ringwatch_core::time::Instant;

const PLACES: usize = 4;
const PAGE: usize = 1024;
const PAGES: usize = 3;
const NOW: Instant = Instant::from_millis(0);

type Name = String<32>;
type Devices = Mirror<Name, Device, [Slot<Name, Held<Device>>; PLACES]>;

/// Flash that keeps the rules, and remembers what it would have been, had the power gone in the middle of each word and of each erasure.
struct Flash {
    bytes: Vec<u8>,
    cuts: Vec<Cut>,
    /// How far saving has come.
    saved: Rc<Cell<usize>>,
    erased: usize,
}

struct Cut {
    bytes: Vec<u8>,
    saved: usize,
}

impl Flash {
    fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            cuts: Vec::new(),
            saved: Rc::default(),
            erased: 0,
        }
    }

    /// This part has happened, and the power may be gone now.
    fn cut(&mut self) {
        self.cuts.push(Cut {
            bytes: self.bytes.clone(),
            saved: self.saved.get(),
        });
    }
}

impl ErrorType for Flash {
    type Error = Infallible;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        let at = offset as usize;
        bytes.copy_from_slice(&self.bytes[at..at + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        let (from, to) = (from as usize, to as usize);
        self.erased += 1;
        self.bytes[from..(from + to) / 2].fill(0xff);
        self.cut();
        self.bytes[from..to].fill(0xff);
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        assert!(offset.is_multiple_of(4) && bytes.len().is_multiple_of(4));
        for (at, word) in (offset as usize..).step_by(4).zip(bytes.chunks(4)) {
            for (at, half) in [(at, &word[..2]), (at + 2, &word[2..])] {
                self.bytes[at] &= half[0];
                self.bytes[at + 1] &= half[1];
                self.cut();
            }
        }
        Ok(())
    }
}

/// Flash here is never waited for.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

enum Step {
    Put(&'static str, f32),
    Delete(&'static str),
}

/// What happens at each revision, from 1 up: places fill up, are freed and used again, and pages wrap.
fn steps() -> Vec<Step> {
    let mut steps = Vec::new();
    for round in 0..30 {
        steps.push(Step::Put("hall/heater", round as f32));
        steps.push(Step::Put("hall/fan", 10.0 + round as f32));
        steps.push(Step::Put("yard/gate", 0.5));
        steps.push(Step::Delete("hall/fan"));
        steps.push(Step::Put("yard/lamp", 1.0));
        steps.push(Step::Put("hall/pump", -3.25));
        steps.push(Step::Delete("yard/gate"));
    }
    steps
}

const ORIGIN: Origin = Origin([3; 8]);

fn follow(devices: &mut Devices, step: &Step, revision: Revision) {
    let mut nobody = ();
    let mut feed = devices.feed(projected, &mut nobody);
    match step {
        Step::Put(key, setpoint) => {
            let mut body = vec![1];
            body.extend(setpoint.to_le_bytes());
            body.extend([0, 0, 0, 0]);
            feed.put(key, revision, &body);
        }
        Step::Delete(key) => feed.delete(key, revision),
    }
    feed.settle(revision);
}

fn begin(devices: &mut Devices) {
    let mut nobody = ();
    let mut feed = devices.feed(projected, &mut nobody);
    feed.begin(ORIGIN, How::Snapshot);
    let bookmark = Bookmark {
        revision: Revision::ZERO,
        digest: Some(Digest::EMPTY),
        age: core::time::Duration::ZERO,
        skipped: 0,
        ends_snapshot: true,
    };
    feed.bookmark(bookmark, NOW);
}

/// What is in view.
type State = Vec<(std::string::String, Revision, Device)>;

fn state(devices: &Devices) -> State {
    let entries = devices.informer().entries();
    entries
        .map(|(key, revision, device)| (key.to_owned(), revision, device.clone()))
        .collect()
}

#[test]
fn whatever_is_found_after_a_cut_is_right_or_in_doubt() {
    let flash = Flash::new(vec![0xff; PAGE * PAGES]);
    let saved = flash.saved.clone();
    let mut keep = Keep::<_, PLACES>::new(flash);
    let mut devices = Devices::array();
    begin(&mut devices);
    // What was in view at each revision.
    let mut states = vec![state(&devices)];
    now(keep.boot()).expect("it can be written");
    for (step, number) in steps().iter().zip(1..) {
        follow(&mut devices, step, Revision::new(number));
        states.push(state(&devices));
        now(keep.save(&mut devices)).expect("it can be written");
        saved.set(number as usize);
    }
    let flash = keep.into_flash();
    assert!(flash.erased > 2 * PAGES, "every page is used again");

    let (mut exact, mut doubtful, mut nothing) = (0, 0, 0);
    for (number, cut) in flash.cuts.into_iter().enumerate() {
        match found_after(number, cut, &states) {
            Restored::At(_) => exact += 1,
            Restored::Doubtful => doubtful += 1,
            Restored::Nothing => nothing += 1,
        }
    }
    println!("{exact} exact, {doubtful} doubtful, {nothing} with nothing");
    assert!(exact > 0 && doubtful > 0 && nothing > 0);
}

/// What the next start finds, which is checked, and that the node can go on from there.
fn found_after(number: usize, cut: Cut, states: &[State]) -> Restored {
    let Cut { bytes, saved } = cut;
    let mut keep = Keep::<_, PLACES>::new(Flash::new(bytes));
    now(keep.boot()).unwrap_or_else(|error| panic!("cut {number}: {error:?}"));
    let mut devices = Devices::array();
    let restored = now(keep.restore(&mut devices, &mut (), NOW));
    let restored = restored.unwrap_or_else(|error| panic!("cut {number}: {error:?}"));
    let state_now = state(&devices);
    let mut nobody = ();
    let feed = devices.feed(projected, &mut nobody);
    match (restored, feed.position()) {
        (Restored::Nothing, position) => {
            assert_eq!(saved, 0, "cut {number}: what was saved is gone");
            assert_eq!(position, Position::Nothing);
        }
        (
            Restored::At(at),
            Position::At {
                origin, revision, ..
            },
        ) => {
            assert_eq!((origin, revision), (ORIGIN, at), "cut {number}");
            let at = at.get() as usize;
            assert!(
                at == saved || at == saved + 1,
                "cut {number}: {at}, not {saved}"
            );
            assert_eq!(state_now, states[at], "cut {number}");
        }
        (Restored::Doubtful, position) => {
            assert_eq!(position, Position::Doubtful { origin: ORIGIN });
        }
        (restored, position) => panic!("cut {number}: {restored:?} at {position:?}"),
    }

    let mut repaired = Devices::array();
    begin(&mut repaired);
    follow(
        &mut repaired,
        &Step::Put("hall/new", 7.0),
        Revision::new(9999),
    );
    now(keep.save(&mut repaired)).unwrap_or_else(|error| panic!("cut {number}: {error:?}"));
    let mut keep = Keep::<_, PLACES>::new(keep.into_flash());
    let mut again = Devices::array();
    let found = now(keep.restore(&mut again, &mut (), NOW));
    assert_eq!(found, Ok(Restored::At(Revision::new(9999))), "cut {number}");
    assert_eq!(state(&again), state(&repaired), "cut {number}");
    restored
}

#[test]
fn starts_are_counted() {
    let mut flash = Flash::new(vec![0xff; PAGE * PAGES]);
    for boot in 1..200 {
        let mut keep = Keep::<_, PLACES>::new(flash);
        assert_eq!(now(keep.boot()), Ok(boot));
        flash = keep.into_flash();
    }
}
