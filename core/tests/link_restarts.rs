//! A node tells of its restart: once, through every cut, and only to who understands.

#[path = "common/lamp.rs"]
mod lamp;

use std::cell::{Cell, RefCell};

use lamp::Lamp;
use ringwatch_core::history::History;
use ringwatch_core::link::frame::{Cause, MAX_DETAIL, Origin, Restart};
use ringwatch_core::link::node::{self, Mirror, Security, Standing, View, Wanted};
use ringwatch_core::link::serve::{self, Access, Admission, Local, LocalWatch, Reported, Restarts};
use ringwatch_core::link::{PresharedKey, Seed};
use ringwatch_core::object::Change;
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::store::Store;
use ringwatch_core::time::Instant;

type Name = heapless::String<16>;
type Serving = serve::Session<LocalWatch<Name, 8>, Lamp, 1, 512, 4>;
type Node<'a> = node::Session<'a, 1, 256, 4, 16>;

/// Lets everybody in, and notes restarts as long as it is willing to.
struct Door {
    key: Option<PresharedKey>,
    table: RefCell<Restarts<[Place<Reported>; 2]>>,
    willing: Cell<bool>,
}

impl Door {
    fn new(key: Option<&PresharedKey>) -> Self {
        Self {
            key: key.cloned(),
            table: RefCell::new(Restarts::new([const { Place::Free }; 2])),
            willing: Cell::new(true),
        }
    }
}

impl Access for Door {
    type Name = serve::Name;

    fn name(&self, node: &str) -> Option<serve::Name> {
        node.try_into().ok()
    }

    fn admit(&self, _: &str, _: bool) -> Admission {
        let key = self.key.clone();
        key.map_or(Admission::Plain, Admission::Sealed)
    }

    fn restarted(&self, node: &str, restart: &Restart<'_>) -> bool {
        self.willing.get() && self.table.borrow_mut().note(node, restart)
    }
}

const PANIC: Restart<'static> = Restart {
    node: "",
    boot: 3,
    cause: Cause::Panic,
    detail: "panicked at src/main.rs:40:9",
};

/// One connection from its hello until nothing moves any more, except that only so many bytes come up. Whether the restart was noted; how often it was told.
fn connection(
    door: &Door,
    restart: &Restart<'_>,
    up: usize,
    alter: impl Fn(&mut [u8]),
) -> (bool, u32) {
    let mut left = up;
    let (mut noted, mut told) = (false, 0);
    let mut now = Instant::from_millis(0);
    let mut store = Store::<Name, Lamp, [_; 2]>::array();
    let history = History::<Change<Lamp>, [_; 2]>::array();
    let name = "hall/lamp".try_into().unwrap();
    store.put(name, Revision::new(1), Lamp::PLAIN).unwrap();
    let source = Local {
        resource: "lamps",
        origin: Origin([1; 8]),
        store: &store,
        history: &history,
        in_step: now,
    }
    .selecting::<8>();
    let mut server = Serving::new(serve::Config::default(), Seed::new([1; 32]), now);
    let wanted = [Wanted::all("lamps")];
    let security = match &door.key {
        Some(key) => Security::Sealed(key),
        None => Security::PlainText,
    };
    let config = node::Config::new("heater", security);
    let mut node = Node::new(config, &wanted, [], Seed::new([2; 32]), now);
    let mut mirror = Mirror::<Name, (), [_; 2]>::array();
    let mut nobody = ();
    let mut feed = mirror.feed(|_| Some(()), &mut nobody);
    let mut views: [&mut dyn View; 1] = [&mut feed];
    let mut wire = [0; 600];
    let mut deliver = |server: &mut Serving, bytes: &mut [u8], now| {
        alter(bytes);
        let bytes = &bytes[..bytes.len().min(left)];
        left -= bytes.len();
        server.receive(bytes, door, &source, now);
    };
    // Long enough for two bookmarks more.
    for _ in 0..7 {
        for _ in 0..4 {
            while let Some(len) = node.poll_output(&views, now, &mut wire).map(<[u8]>::len) {
                deliver(&mut server, &mut wire[..len], now);
            }
            if !noted && let Some(len) = node.report(restart, &mut wire).map(<[u8]>::len) {
                told += 1;
                deliver(&mut server, &mut wire[..len], now);
            }
            while let Some(bytes) = server.poll_output(&source, now, &mut wire) {
                node.receive(bytes, &mut views, now);
            }
            noted |= node.noted();
            assert!(!node.noted(), "said once");
        }
        now = now + std::time::Duration::from_secs(10);
    }
    if up == usize::MAX {
        assert_eq!(node.standing(0), Some(Standing::Live));
        assert_eq!((node.ended(), server.ended()), (None, None));
    }
    (noted, told)
}

fn untouched(_: &mut [u8]) {}

#[test]
fn it_is_told_once_and_noted_by_name() {
    let key = PresharedKey::new([7; 32]);
    for key in [Some(&key), None] {
        let door = Door::new(key);
        let once = connection(&door, &PANIC, usize::MAX, untouched);
        assert_eq!(once, (true, 1));
        let table = door.table.borrow();
        let known = table.get("heater").unwrap().restart();
        let named = Restart {
            node: "heater",
            ..PANIC
        };
        assert_eq!(known, named);
    }
}

/// Cut at any byte, the next connection tells it; and it is counted once.
#[test]
fn a_cut_loses_nothing_and_counts_nothing_twice() {
    let key = PresharedKey::new([7; 32]);
    let mut cuts_before_it_was_noted = 0;
    for cut in 0..400 {
        let door = Door::new(Some(&key));
        let (noted, _) = connection(&door, &PANIC, cut, untouched);
        cuts_before_it_was_noted += u32::from(!noted);
        assert_eq!(noted, door.table.borrow().count() == 1, "{cut}");
        // A node that did not hear the answer tells it again.
        let (noted, _) = connection(&door, &PANIC, usize::MAX, untouched);
        assert!(noted);
        assert_eq!(door.table.borrow().count(), 1, "{cut}");
    }
    assert!((100..400).contains(&cuts_before_it_was_noted));
}

/// Who has no place now is told again, at the pace of its own bookmarks.
#[test]
fn who_has_no_place_is_told_again() {
    let door = Door::new(None);
    door.willing.set(false);
    let (noted, told) = connection(&door, &PANIC, usize::MAX, untouched);
    assert!(!noted);
    assert!((2..=4).contains(&told), "{told} times");
}

/// A server of version 1 would end the session; it is not told. The opening is plain text here, so that it can be made that of an older node.
#[test]
fn who_does_not_know_restarts_is_not_told() {
    let door = Door::new(None);
    let older = |bytes: &mut [u8]| {
        if let [_, _, b'R', b'W', 1, newest, ..] = bytes {
            *newest = 1;
        }
    };
    let (noted, told) = connection(&door, &PANIC, usize::MAX, older);
    assert_eq!((noted, told), (false, 0));
}

/// Between the oldest and the newest of both; nothing else is spoken.
#[test]
fn versions_that_do_not_meet_are_refused() {
    for (oldest, newest, told) in [(1, 9, 1), (2, 2, 1), (3, 9, 0)] {
        let door = Door::new(None);
        let other = |bytes: &mut [u8]| {
            if let [_, _, b'R', b'W', first, last, ..] = bytes {
                (*first, *last) = (oldest, newest);
            }
        };
        let up = 1_000_000;
        assert_eq!(connection(&door, &PANIC, up, other).1, told, "{oldest}");
    }
}

#[test]
fn a_long_detail_is_cut_to_what_fits() {
    let door = Door::new(None);
    let long = "ü".repeat(500);
    let restart = Restart {
        detail: &long,
        ..PANIC
    };
    assert!(connection(&door, &restart, usize::MAX, untouched).0);
    let table = door.table.borrow();
    let known = table.get("heater").unwrap().restart();
    assert_eq!(known.detail, "ü".repeat(MAX_DETAIL / 2));
}
