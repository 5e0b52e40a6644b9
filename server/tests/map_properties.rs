//! The cache's map against a `BTreeMap`, with enough keys for several chunks, and snapshots that must not move.

use std::ops::{Bound, RangeBounds};

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringwatch_core::revision::Revision;
use ringwatch_server::cache::{Decoder, Format, Object, ObjectMap};
use ringwatch_server::storage::{Condition, KeyValue};

type Model = BTreeMap<String, u64>;

#[derive(Debug, Clone)]
enum Op {
    /// Keys from here on, so many, at this distance.
    Insert {
        from: u16,
        count: u16,
        step: u16,
    },
    Remove {
        from: u16,
        count: u16,
        step: u16,
    },
    Snapshot,
}

fn op() -> impl Strategy<Value = Op> {
    let run = || (0..1500u16, 1..400u16, 1..9u16);
    prop_oneof![
        4 => run().prop_map(|(from, count, step)| Op::Insert { from, count, step }),
        3 => run().prop_map(|(from, count, step)| Op::Remove { from, count, step }),
        1 => Just(Op::Snapshot),
    ]
}

/// Keys that share beginnings of different lengths.
fn key(number: u16) -> String {
    match number % 6 {
        // Bytes that a head is filled up with.
        5 => format!("n/{}\0", number / 12),
        0 => format!("ns-{}/p", number),
        1 => format!("ns-{}/pod-{number:05}", number % 3),
        2 => format!("n/{number}"),
        3 => format!("ns-1/pod-with-a-long-name-{}", number / 7),
        _ => format!("{number}"),
    }
}

fn object(decoder: &Decoder, key: &str, revision: u64) -> Object {
    let stored = KeyValue {
        key: format!("/pods/{key}").into(),
        value: Default::default(),
        mod_revision: Revision::new(revision),
        create_revision: Revision::new(1),
        condition: Condition::Sound,
    };
    decoder
        .session()
        .decode(stored)
        .expect("anything is an object")
}

fn content(map: &ObjectMap) -> Vec<(String, u64)> {
    map.iter()
        .map(|object| (object.key().to_owned(), object.revision().get()))
        .collect()
}

fn check(map: &ObjectMap, model: &Model, probes: &[u16]) {
    assert_eq!(map.len(), model.len());
    assert!(content(map).into_iter().eq(model.clone()));
    let mut walk = None;
    for object in map.iter() {
        let (position, next) = map.after(walk).expect("one more");
        assert_eq!(next, object);
        assert_eq!(map.at(position), Some(object));
        walk = Some(position);
    }
    assert!(map.after(walk).is_none());
    for probe in probes {
        let key = key(*probe);
        let held = map.get(&key).map(|object| object.revision().get());
        assert_eq!(held, model.get(&key).copied(), "{key}");
        let ends = probes.iter().map(|end| Some(self::key(*end)));
        for end in ends.chain([None]) {
            for from in [
                Bound::Unbounded,
                Bound::Included(&*key),
                Bound::Excluded(&*key),
            ] {
                let found = map.range(from, end.as_deref()).map(|(sketch, object)| {
                    assert_eq!(sketch, object.sketch());
                    object.key().to_owned()
                });
                let expected = model.keys().filter(|held| {
                    RangeBounds::<str>::contains(&(from, Bound::Unbounded), held.as_str())
                        && end.as_ref().is_none_or(|end| *held < end)
                });
                assert!(found.eq(expected.cloned()), "{from:?} to {end:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn agrees_with_a_btree_map(
        ops in prop::collection::vec(op(), 1..12),
        probes in prop::collection::vec(0..2000u16, 4),
    ) {
        let decoder = Decoder::new("/pods/", &Format::Opaque).expect("no paths");
        let mut map = ObjectMap::default();
        let mut model = Model::new();
        let mut snapshots = Vec::new();
        let mut revision = 0;
        for op in ops {
            match op {
                Op::Insert { from, count, step } => for n in 0..count {
                    revision += 1;
                    let key = key(from.wrapping_add(n.wrapping_mul(step)));
                    let before = map.insert(object(&decoder, &key, revision));
                    prop_assert_eq!(before.map(|o| o.revision().get()), model.insert(key, revision));
                },
                Op::Remove { from, count, step } => for n in 0..count {
                    let key = key(from.wrapping_add(n.wrapping_mul(step)));
                    let before = map.remove(&key);
                    prop_assert_eq!(before.map(|o| o.revision().get()), model.remove(&key));
                },
                Op::Snapshot => snapshots.push((map.clone(), model.clone())),
            }
            check(&map, &model, &probes);
        }
        for (map, model) in &snapshots {
            check(map, model, &probes);
        }
    }
}
