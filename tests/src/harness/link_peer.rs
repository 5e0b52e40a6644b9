//! A hostile peer at either end of the node link.

use core::cell::RefCell;
use core::time::Duration;

use ringwatch_core::{
    history::History,
    key::Key,
    link::{
        Framing, Seed,
        frame::{Cause, Origin, Restart},
        node::{self, Mirror, Security, View, Wanted, projected},
        serve::{self, Access, Admission, Content, Local, LocalWatch, Name, Reported, Restarts},
    },
    object::{Change, Object},
    revision::Revision,
    slots::Place,
    store::Store,
    time::Instant,
};

use crate::input::Input;

#[derive(Clone, Debug)]
struct Lamp(&'static str);

impl Object for Lamp {
    fn key(&self) -> Key<'_> {
        Key::checked_before(self.0)
    }
    fn revision(&self) -> Revision {
        Revision::new(3)
    }
    fn label(&self, _: &str) -> Option<&str> {
        None
    }
    fn field(&self, _: &str) -> Option<&str> {
        None
    }
}

impl Content for Lamp {
    fn json(&self) -> &[u8] {
        br#"{"kind":"Lamp","spec":{"level":7,"note":"some words that make it longer than a small packet, by a little, at least"}}"#
    }
}

/// Lets everybody in, and has room for the restarts of two.
struct Door(RefCell<Restarts<[Place<Reported>; 2]>>);

impl Access for Door {
    type Name = Name;

    fn name(&self, node: &str) -> Option<Name> {
        node.try_into().ok()
    }

    fn admit(&self, _: &str, _: bool) -> Admission {
        Admission::Plain
    }

    fn restarted(&self, node: &str, restart: &Restart<'_>) -> bool {
        self.0.borrow_mut().note(node, restart)
    }
}

/// More bytes than that come as well in two runs.
const LONGEST: usize = 4_096;

/// The bytes in pieces, either as they are or each as a whole packet. The first byte chooses.
fn pieces(data: &[u8], mut take: impl FnMut(&[u8])) {
    let mut input = Input::new(&data[..data.len().min(LONGEST)]);
    let raw = input.byte().is_some_and(|byte| byte % 2 == 0);
    while let Some(len) = input.byte() {
        let piece = input.bytes(len.into());
        if raw {
            take(piece);
        } else {
            let len = u16::try_from(piece.len()).expect("a byte");
            take(&[&len.to_le_bytes(), piece].concat());
        }
    }
}

/// A node sends anything, at once or after a good beginning. The serving end does not panic, and what it sends is bounded by what it has.
pub fn serve(data: &[u8]) {
    let mut store = Store::<heapless::String<16>, Lamp, [_; 2]>::array();
    let mut history = History::<Change<Lamp>, [_; 2]>::array();
    for key in ["a/x", "b"] {
        let owned = key.try_into().expect("short");
        store.put(owned, Revision::new(3), Lamp(key)).expect("room");
    }
    store.advance(Revision::new(3));
    history.reset(Revision::new(3));
    let source = Local {
        resource: "lamps",
        origin: Origin([1; 8]),
        store: &store,
        history: &history,
        in_step: Instant::from_millis(0),
    }
    .selecting::<16>();
    let mut restarts = Restarts::new([const { Place::Free }; 2]);
    restarts.pass_on();
    let access = Door(RefCell::new(restarts));
    let mut now = Instant::from_millis(0);
    let config = serve::Config::default();
    let mut session = serve::Session::<LocalWatch<heapless::String<16>, 16>, Lamp, 3, 512, 2>::new(
        config,
        Seed::new([1; 32]),
        now,
    );
    pieces(data, |bytes| {
        now = now + Duration::from_millis(100);
        session.receive(bytes, &access, &source, now);
        let mut out = [0; 600];
        let mut packets = 0;
        while session.poll_output(&source, now, &mut out).is_some() {
            packets += 1;
            assert!(packets < 1_000, "it does not come to rest");
        }
        assert!(
            session.ended().is_some() || session.next_deadline() > now,
            "a deadline in the past"
        );
        // Every other one finds somebody to be passed on to.
        let mut restarts = access.0.borrow_mut();
        let next = restarts.next().map(|(number, _)| number);
        if let Some(number) = next.filter(|number| number % 2 == 0) {
            restarts.told(number);
            assert_ne!(restarts.next().map(|(next, _)| next), next);
        }
    });
}

/// The serving end sends anything. The node does not panic, its view stays bounded, and it comes to rest.
pub fn node(data: &[u8]) {
    let wanted = [
        Wanted {
            projection: "spec.level:u32",
            credit: 50,
            ..Wanted::all("lamps")
        },
        Wanted::all("lamps"),
    ];
    let mut now = Instant::from_millis(0);
    let config = node::Config {
        framing: Framing::Stream,
        ..node::Config::new("a", Security::PlainText)
    };
    let seed = Seed::new([1; 32]);
    let mut session =
        node::Session::<2, 300, 3, 8, [u8; 64]>::new(config, &wanted, [0; 64], seed, now);
    let mut first = Mirror::<heapless::String<8>, (Option<u32>,), [_; 3]>::array();
    let mut second = Mirror::<heapless::String<8>, (Option<u32>,), [_; 3]>::array();
    let (mut one, mut two) = ((), ());
    let mut first = first.feed(projected, &mut one);
    let mut second = second.feed(
        |body| Some((body.first().map(|byte| u32::from(*byte)),)),
        &mut two,
    );
    let mut views: [&mut dyn View; 2] = [&mut first, &mut second];
    let mut out = [0; 320];
    let mut restart = Restart {
        node: "b",
        boot: 1,
        cause: Cause::Fault,
        detail: "a fault at 0x00000000",
    };
    assert!(
        session.poll_output(&views, now, &mut out).is_some(),
        "a hello"
    );
    pieces(data, |bytes| {
        now = now + Duration::from_millis(100);
        session.receive(bytes, &mut views, now);
        let mut packets = 0;
        while session.poll_output(&views, now, &mut out).is_some() {
            packets += 1;
            assert!(packets < 100, "it does not come to rest");
        }
        if session.report(&restart, &mut out).is_some() {
            assert!(
                session.report(&restart, &mut out).is_none(),
                "told twice at once"
            );
        }
        if session.noted() {
            restart.boot += 1;
        }
        assert!(
            session.ended().is_some() || session.next_deadline() > now,
            "a deadline in the past"
        );
    });
}
