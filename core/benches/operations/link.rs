//! The node link: frames alone, and both ends with everything between a change and the informer.

use core::hint::black_box;

use ringwatch_core::history::{Entry, History};
use ringwatch_core::key::Key;
use ringwatch_core::link::frame::{Body, Event, Frame, KeyRef, Origin};
use ringwatch_core::link::node::{self, Mirror, Security, View, Wanted, projected};
use ringwatch_core::link::serve::{self, Admission, Content, Local, LocalWatch};
use ringwatch_core::link::{PresharedKey, Seed};
use ringwatch_core::object::{Change, Object};
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::store::Store;
use ringwatch_core::time::Instant;
use ringwatch_core::transition::EventKind;

/// Setpoint 21.5, mode "heat", on.
const BODY: &[u8] = &[
    1, 0, 0, 0xac, 0x41, 1, 4, b'h', b'e', b'a', b't', 1, 1, 0, 0,
];

const fn event(revision: i64) -> Event<'static> {
    Event {
        sub: 0,
        kind: EventKind::Modified,
        settles: true,
        revision,
        key: KeyRef::Known(3),
        mark: None,
        body: Body::Whole(BODY),
    }
}

pub(crate) fn encode(times: u64) {
    let mut buffer = [0; 64];
    for n in 0..times {
        let event = event(black_box(n as i64 % 100));
        let _ = black_box(Frame::Event(event).encode(black_box(&mut buffer)));
    }
}

pub(crate) fn decode(times: u64) {
    let mut buffer = [0; 64];
    let len = event(7).encode(&mut buffer).unwrap_or_default();
    for _ in 0..times {
        let frame = Frame::decode(black_box(&buffer[..len]));
        assert!(black_box(frame).is_ok());
    }
}

#[derive(Debug, Clone, Copy)]
struct Device(u64);

impl Object for Device {
    fn key(&self) -> Key<'_> {
        Key::checked_before("hall/heater-17")
    }
    fn revision(&self) -> Revision {
        Revision::new(self.0)
    }
    fn label(&self, _: &str) -> Option<&str> {
        None
    }
    fn field(&self, _: &str) -> Option<&str> {
        None
    }
}

impl Content for Device {
    fn json(&self) -> &[u8] {
        br#"{"spec":{"setpoint":21.5,"mode":"heat","on":true}}"#
    }
}

type Name = heapless::String<32>;
type Ring = History<Change<Device>, Vec<Place<Entry<Change<Device>>>>>;

/// As many changes as are sent together.
const BATCH: u64 = 64;

pub(crate) fn plain(times: u64) {
    sessions(Security::PlainText, times, 1_400);
}

pub(crate) fn sealed(times: u64) {
    sessions(Security::Sealed(&KEY), times, 1_400);
}

/// Each event in a packet of its own, or nearly so.
pub(crate) fn sealed_alone(times: u64) {
    sessions(Security::Sealed(&KEY), times, 90);
}

const KEY: PresharedKey = PresharedKey::new([7; 32]);

/// Change, projection, frame, packet, and back: `times` changes in batches, wire bytes lent in pieces of at most `wire`.
fn sessions(security: Security<'static>, times: u64, wire: usize) {
    let now = Instant::from_millis(0);
    let mut store = Store::<Name, Device, [_; 1]>::array();
    let mut ring = Ring::new((0..BATCH).map(|_| Place::Free).collect());
    let access = |_: &str, sealed: bool| match sealed {
        true => Admission::Sealed(KEY),
        false => Admission::Plain,
    };
    let (one, two) = (Seed::new([1; 32]), Seed::new([2; 32]));
    let config = serve::Config::default();
    let mut server =
        serve::Session::<LocalWatch<Name, 32>, Device, 1, 1_400, 16>::new(config, one, now);
    let wanted = [Wanted {
        projection: "spec.setpoint:f32,spec.mode:text(8),spec.on:bool",
        ..Wanted::all("devices")
    }];
    let config = node::Config::new("bench", security);
    let mut node = node::Session::<1, 1_400, 16, 32>::new(config, &wanted, [], two, now);
    let mut mirror =
        Mirror::<Name, (Option<f32>, Option<heapless::String<8>>, Option<bool>), [_; 2]>::array();
    let mut handler = ();
    let mut out = [0; 1_410];
    let mut revision = 0;
    // Once more than asked for: the handshake and the snapshot.
    for _ in 0..=times.div_ceil(BATCH) {
        let source = Local {
            resource: "devices",
            origin: Origin([1; 8]),
            store: &store,
            history: &ring,
            in_step: now,
        }
        .selecting::<32>();
        let mut feed = mirror.feed(projected, &mut handler);
        let mut views: [&mut dyn View; 1] = [&mut feed];
        let mut quiet = false;
        while !quiet {
            quiet = true;
            while let Some(bytes) = node.poll_output(&views, now, &mut out) {
                server.receive(bytes, &access, &source, now);
                quiet = false;
            }
            let lent = if revision == 0 { out.len() } else { wire };
            while let Some(bytes) = server.poll_output(&source, now, &mut out[..lent]) {
                node.receive(bytes, &mut views, now);
                quiet = false;
            }
        }
        for _ in 0..BATCH {
            revision += 1;
            let (current, at) = (Device(revision), Revision::new(revision));
            let previous = store.put("hall/heater-17".try_into().unwrap_or_default(), at, current);
            let previous = previous
                .ok()
                .and_then(|put| put.previous)
                .map(|entry| entry.value);
            store.advance(at);
            let _ = ring.push(at, Change::Put { previous, current });
        }
    }
    let seen = mirror.informer().revision().unwrap_or_default();
    assert_eq!(seen.get() + BATCH, revision, "the node is behind");
}
