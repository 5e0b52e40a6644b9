//! A node's session with more places for subscriptions than it wants, and a source over other objects than a store's.

#[path = "common/lamp.rs"]
mod lamp;

use lamp::Lamp;
use ringwatch_core::history::History;
use ringwatch_core::informer::Handler;
use ringwatch_core::link::Seed;
use ringwatch_core::link::frame::{How, Origin};
use ringwatch_core::link::node::{self, Mirror, Security, Standing, View, Wanted};
use ringwatch_core::link::serve::{self, Admission, Local, LocalWatch};
use ringwatch_core::object::Change;
use ringwatch_core::revision::Revision;
use ringwatch_core::store::Store;
use ringwatch_core::time::Instant;

struct Nobody;

impl Handler<()> for Nobody {
    fn on_add(&mut self, _: &str, _: &()) {}
    fn on_update(&mut self, _: &str, _: Option<&()>, _: &()) {}
    fn on_delete(&mut self, _: &str, _: &()) {}
}

type Name = heapless::String<16>;

#[test]
fn places_that_are_not_wanted_are_not_asked_for() {
    let now = Instant::from_millis(5);
    let mut store = Store::<Name, Lamp, [_; 2]>::array();
    let history = History::<Change<Lamp>, [_; 2]>::array();
    store
        .put(
            "hall/lamp".try_into().unwrap(),
            Revision::new(1),
            Lamp::PLAIN,
        )
        .unwrap();
    let source = Local {
        resource: "lamps",
        origin: Origin([1; 8]),
        store: &store,
        history: &history,
        in_step: now,
    }
    .selecting::<8>();
    let access = |_: &str, _: bool| Admission::Plain;
    let config = serve::Config::default();
    let mut server = serve::Session::<LocalWatch<Name, 8>, Lamp, 4, 512, 4>::new(
        config,
        Seed::new([1; 32]),
        now,
    );
    let wanted = [Wanted::all("lamps")];
    let config = node::Config::new("node", Security::PlainText);
    let mut node =
        node::Session::<3, 256, 4, 16>::new(config, &wanted, [], Seed::new([2; 32]), now);
    let mut mirror = Mirror::<Name, (), [_; 2]>::array();
    let mut nobody = Nobody;
    let mut feed = mirror.feed(|_| Some(()), &mut nobody);
    let mut views: [&mut dyn View; 1] = [&mut feed];
    let mut wire = [0; 600];
    for _ in 0..4 {
        while let Some(bytes) = node.poll_output(&views, now, &mut wire) {
            server.receive(bytes, &access, &source, now);
        }
        while let Some(bytes) = server.poll_output(&source, now, &mut wire) {
            node.receive(bytes, &mut views, now);
        }
    }
    assert_eq!(node.standing(0), Some(Standing::Live));
    assert_eq!(node.standing(1), None);
    assert!(node.next_deadline() > now, "nothing is left to ask for");
    assert!(server.watch(0).is_some() && server.watch(1).is_none());
    assert_eq!(mirror.informer().len(), 1);
}

#[test]
fn a_difference_names_the_keys_of_its_buckets() {
    let all = How::Difference {
        buckets: 4,
        differing: 0b1111,
    };
    let none = How::Difference {
        buckets: 4,
        differing: 0,
    };
    for key in ["a/x", "a/y", "b"] {
        assert!(How::Snapshot.names(key) && all.names(key));
        assert!(!How::Resumed.names(key) && !none.names(key));
        let named = (0..4).filter(|bit| {
            let how = How::Difference {
                buckets: 4,
                differing: 1 << bit,
            };
            how.names(key)
        });
        assert_eq!(named.count(), 1, "{key} is in one bucket");
    }
}

#[test]
fn a_store_begins_again_and_a_history_knows_its_gap() {
    let mut store = Store::<Name, u8, [_; 2]>::array();
    let key = |text: &str| Name::try_from(text).unwrap();
    for (name, value) in [("b", 1), ("a", 2)] {
        store.put(key(name), Revision::new(4), value).unwrap();
    }
    store.values_mut().for_each(|value| *value += 10);
    assert_eq!(store.get("a").unwrap().value, 12);
    store.advance(Revision::new(9));
    store.set_revision(Revision::new(3));
    assert_eq!(store.revision(), Revision::new(3));
    store.clear();
    assert!(store.is_empty() && store.revision() == Revision::ZERO);
    for name in ["c", "d"] {
        store.put(key(name), Revision::new(1), 0).unwrap();
    }
    assert_eq!(store.len(), 2);

    let mut history = History::<&str, [_; 2]>::array();
    history.push(Revision::new(5), "seen").unwrap();
    assert_eq!(history.gap(), None);
    history.bridge(Revision::new(9), ["differs"]).unwrap();
    assert_eq!(history.gap(), Some((Revision::new(5), Revision::new(9))));
}
