//! A serving end that takes in short packets only, but for a node's first one: the relay on a small board.

#[path = "common/lamp.rs"]
mod lamp;

use lamp::Lamp;
use ringwatch_core::history::{self, History};
use ringwatch_core::informer::Handler;
use ringwatch_core::link::frame::{Code, Origin};
use ringwatch_core::link::node::{self, Mirror, Security, Standing, View, Wanted};
use ringwatch_core::link::serve::{self, Admission, Local, LocalWatch, Selecting};
use ringwatch_core::link::{Ended, Framing, PresharedKey, Seed};
use ringwatch_core::object::Change;
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::store::{Slot, Store};
use ringwatch_core::time::Instant;

const KEY: PresharedKey = PresharedKey::new([5; 32]);
/// Longer than any packet after the first may be.
const LONG: &str = "spec.rather-long-path-to-a-number:u32,spec.another-rather-long-path-to-a-number:u32,\
                    spec.a-third-rather-long-path-to-a-text:text(8)";

type Name = heapless::String<16>;
type Serving = serve::Session<LocalWatch<Name, 8>, Lamp, 1, 132, 4>;
type Node<'a> = node::Session<'a, 1, 256, 4, 16>;
type Lamps = Store<Name, Lamp, [Slot<Name, Lamp>; 2]>;
type Ring = [Place<history::Entry<Change<Lamp>>>; 2];

struct Nobody;

impl Handler<()> for Nobody {
    fn on_add(&mut self, _: &str, _: &()) {}
    fn on_update(&mut self, _: &str, _: Option<&()>, _: &()) {}
    fn on_delete(&mut self, _: &str, _: &()) {}
}

/// One lamp, and its last two changes.
struct World {
    store: Lamps,
    history: History<Change<Lamp>, Ring>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            store: Store::array(),
            history: History::array(),
        };
        world.change(1);
        world
    }

    fn source(&self) -> Selecting<'_, Lamps, Ring, 8> {
        let local = Local {
            resource: "lamps",
            origin: Origin([1; 8]),
            store: &self.store,
            history: &self.history,
            in_step: NOW,
        };
        local.selecting()
    }

    fn change(&mut self, revision: u64) {
        let lamp = Lamp {
            revision,
            ..Lamp::PLAIN
        };
        let at = Revision::new(revision);
        let put = self
            .store
            .put(lamp.key.try_into().unwrap(), at, lamp.clone());
        let previous = put.unwrap().previous.map(|entry| entry.value);
        self.store.advance(at);
        let change = Change::Put {
            previous,
            current: lamp,
        };
        self.history.push(at, change).unwrap();
    }
}

const NOW: Instant = Instant::from_millis(5);

/// Moves bytes until there are none, or until one end has had enough.
fn talk(world: &World, node: &mut Node<'_>, server: &mut Serving, views: &mut [&mut dyn View]) {
    let source = world.source();
    let access = |_: &str, _: bool| Admission::Sealed(KEY);
    let mut wire = [0; 600];
    let mut quiet = false;
    while !core::mem::replace(&mut quiet, true) {
        while let Some(bytes) = node.poll_output(views, NOW, &mut wire) {
            quiet = false;
            server.receive(bytes, &access, &source, NOW);
        }
        while let Some(bytes) = server.poll_output(&source, NOW, &mut wire) {
            quiet = false;
            node.receive(bytes, views, NOW);
        }
    }
}

fn ends<'a>(wanted: &'a [Wanted<'a>; 1], round: u8) -> (Node<'a>, Serving) {
    let config = node::Config::new("node", Security::Sealed(&KEY));
    let seed = |more| Seed::new([round * 2 + more; 32]);
    let node = Node::new(config, wanted, [], seed(1), NOW);
    let server = Serving::new(serve::Config::default(), seed(2), NOW);
    (node, server)
}

/// It fits the first packet. Asked for again it fits none, so that the node begins again, with a first packet.
#[test]
fn what_fits_only_a_first_packet_is_asked_for_with_another_one() {
    let mut world = World::new();
    let wanted = [Wanted {
        projection: LONG,
        ..Wanted::all("lamps")
    }];
    let mut mirror = Mirror::<Name, (), [_; 2]>::array();
    let mut nobody = Nobody;
    let mut feed = mirror.feed(|_| Some(()), &mut nobody);
    let mut views: [&mut dyn View; 1] = [&mut feed];
    let (mut node, mut server) = ends(&wanted, 1);
    talk(&world, &mut node, &mut server, &mut views);
    assert_eq!(node.standing(0), Some(Standing::Live));

    // More than is remembered: it has to ask anew.
    (2..=5).for_each(|revision| world.change(revision));
    talk(&world, &mut node, &mut server, &mut views);
    assert_eq!(node.ended(), Some(Ended::Here(Code::Done)));
    assert_eq!(server.ended(), Some(Ended::ByPeer(Code::Done)));

    let (mut node, mut server) = ends(&wanted, 2);
    talk(&world, &mut node, &mut server, &mut views);
    assert_eq!(node.standing(0), Some(Standing::Live));
    assert_eq!(mirror.informer().revision(), Some(Revision::new(5)));
}

/// What is short enough is asked for again in the same session.
#[test]
fn what_fits_any_packet_is_asked_for_again() {
    let mut world = World::new();
    let wanted = [Wanted::all("lamps")];
    let mut mirror = Mirror::<Name, (), [_; 2]>::array();
    let mut nobody = Nobody;
    let mut feed = mirror.feed(|_| Some(()), &mut nobody);
    let mut views: [&mut dyn View; 1] = [&mut feed];
    let (mut node, mut server) = ends(&wanted, 1);
    talk(&world, &mut node, &mut server, &mut views);
    (2..=5).for_each(|revision| world.change(revision));
    talk(&world, &mut node, &mut server, &mut views);
    assert_eq!((node.ended(), server.ended()), (None, None));
    assert_eq!(node.standing(0), Some(Standing::Live));
    assert_eq!(mirror.informer().revision(), Some(Revision::new(5)));
}

/// The answer waits where packets come in: who sends one before it has the answer is sent away, and the answer is not.
#[test]
fn nobody_speaks_before_the_answer() {
    let world = World::new();
    let source = world.source();
    let access = |_: &str, _: bool| Admission::Sealed(KEY);
    let wanted = [Wanted::all("lamps")];
    let mut mirror = Mirror::<Name, (), [_; 2]>::array();
    let mut nobody = Nobody;
    let mut feed = mirror.feed(|_| Some(()), &mut nobody);
    let views: [&mut dyn View; 1] = [&mut feed];
    for together in [true, false] {
        let (mut node, mut server) = ends(&wanted, 1);
        let mut wire = [0; 600];
        let hello = node.poll_output(&views, NOW, &mut wire).unwrap().to_vec();
        let early = [1, 0, 7];
        if together {
            server.receive(&[&hello[..], &early].concat(), &access, &source, NOW);
        } else {
            server.receive(&hello, &access, &source, NOW);
            server.receive(&early, &access, &source, NOW);
        }
        assert_eq!(server.ended(), Some(Ended::Here(Code::Protocol)));
        assert!(server.poll_output(&source, NOW, &mut wire).is_none());
        assert_eq!(server.name(), "node");
    }
}

/// On a serial line it may be noise, which changes nothing.
#[test]
fn noise_before_the_answer_is_skipped() {
    let world = World::new();
    let source = world.source();
    let access = |_: &str, _: bool| Admission::Sealed(KEY);
    let wanted = [Wanted::all("lamps")];
    let mut mirror = Mirror::<Name, (), [_; 2]>::array();
    let mut nobody = Nobody;
    let mut feed = mirror.feed(|_| Some(()), &mut nobody);
    let mut views: [&mut dyn View; 1] = [&mut feed];
    let config = node::Config {
        framing: Framing::Serial,
        ..node::Config::new("node", Security::Sealed(&KEY))
    };
    let serving = serve::Config {
        framing: Framing::Serial,
        ..serve::Config::default()
    };
    let mut node = Node::new(config, &wanted, [], Seed::new([1; 32]), NOW);
    let mut server = Serving::new(serving, Seed::new([2; 32]), NOW);
    let mut wire = [0; 600];
    let hello = node.poll_output(&views, NOW, &mut wire).unwrap().to_vec();
    server.receive(&[&hello[..], b"\0 noise"].concat(), &access, &source, NOW);
    let answer = server.poll_output(&source, NOW, &mut wire).unwrap();
    node.receive(answer, &mut views, NOW);
    talk(&world, &mut node, &mut server, &mut views);
    assert_eq!((node.ended(), server.ended()), (None, None));
    assert_eq!(node.standing(0), Some(Standing::Live));
}

/// Who is refused is told so, by name or not.
#[test]
fn who_is_refused_is_told() {
    let world = World::new();
    let source = world.source();
    let wanted = [Wanted::all("lamps")];
    let mut mirror = Mirror::<Name, (), [_; 2]>::array();
    let mut nobody = Nobody;
    let mut feed = mirror.feed(|_| Some(()), &mut nobody);
    let mut views: [&mut dyn View; 1] = [&mut feed];
    let other = || Admission::Sealed(PresharedKey::new([6; 32]));
    // Unknown, and known by another key: only then is the name worth something.
    for (admission, name) in [(None, ""), (Some(other()), "node")] {
        let access = |_: &str, _: bool| admission.clone().unwrap_or(Admission::Refused);
        let (mut node, mut server) = ends(&wanted, 1);
        let mut wire = [0; 600];
        let hello = node.poll_output(&views, NOW, &mut wire).unwrap().to_vec();
        server.receive(&hello, &access, &source, NOW);
        assert_eq!(server.ended(), None);
        assert!(server.next_deadline() <= NOW, "there is something to say");
        let refusal = server.poll_output(&source, NOW, &mut wire).unwrap();
        node.receive(refusal, &mut views, NOW);
        assert_eq!(node.ended(), Some(Ended::Refused(Code::Refused)));
        assert_eq!(server.ended(), Some(Ended::Here(Code::Refused)));
        assert_eq!((server.name(), server.node()), (name, None));
    }
}
