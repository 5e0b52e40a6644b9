//! The informer against a `BTreeMap`, with a handler that is busy at random.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use ringwatch_core::digest::Digest;
use ringwatch_core::informer::{ByTerm, Check, Handler, Held, Informer, Reason};
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;
use ringwatch_core::store::Slot;
use ringwatch_core::time::Instant;

const CAPACITY: usize = 6;

#[derive(Debug, Clone)]
enum Op {
    Put(u8, u16),
    Delete(u8),
    /// The handler is ready for so many more notices.
    Ready(usize),
    Flush,
    /// A snapshot of these, of which so many objects arrive before it is cut off (or all).
    Snapshot(BTreeMap<u8, u16>, usize),
    Bookmark {
        right: bool,
    },
    LongKey,
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0..9u8;
    let list = prop::collection::btree_map(key.clone(), any::<u16>(), 0..=CAPACITY);
    prop_oneof![
        8 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Op::Put(key, value)),
        4 => key.prop_map(Op::Delete),
        4 => (0..5usize).prop_map(Op::Ready),
        3 => Just(Op::Flush),
        2 => (list, 0..12usize).prop_map(|(list, cut)| Op::Snapshot(list, cut)),
        2 => any::<bool>().prop_map(|right| Op::Bookmark { right }),
        1 => Just(Op::LongKey),
    ]
}

/// Believes what it is told, and objects to what makes no sense.
#[derive(Default)]
struct Listener {
    ready: usize,
    view: BTreeMap<String, u16>,
}

impl Handler<u16> for Listener {
    fn is_ready(&mut self) -> bool {
        self.ready > 0
    }
    fn on_add(&mut self, key: &str, new: &u16) {
        self.ready -= 1;
        assert_eq!(self.view.insert(key.to_owned(), *new), None, "added twice");
    }
    fn on_update(&mut self, key: &str, old: Option<&u16>, new: &u16) {
        self.ready -= 1;
        let known = self
            .view
            .insert(key.to_owned(), *new)
            .expect("updated before it was added");
        assert!(
            old.is_none_or(|old| *old == known),
            "not the value that was told before"
        );
    }
    fn on_delete(&mut self, key: &str, last: &u16) {
        self.ready -= 1;
        let _ = last;
        assert!(
            self.view.remove(key).is_some(),
            "deleted before it was added"
        );
    }
}

type Index = ByTerm<u16, u16, [Place<(u16, ringwatch_core::store::SlotId)>; CAPACITY]>;
type Key = heapless::String<8>;
type Tested = Informer<Key, u16, Vec<Slot<Key, Held<u16>>>, Index>;
type Truth = BTreeMap<String, (u64, u16)>;

fn key_of(key: u8) -> String {
    format!("ns/{key}")
}

fn digest_of(truth: &Truth) -> Digest {
    let mut digest = Digest::EMPTY;
    for (key, (revision, _)) in truth {
        digest.add(key, Revision::new(*revision));
    }
    digest
}

fn check(informer: &Tested, truth: &Truth) {
    let view: BTreeMap<_, _> = informer
        .iter()
        .map(|(key, value)| (key.to_owned(), *value))
        .collect();
    let expected: BTreeMap<_, _> = truth
        .iter()
        .map(|(key, held)| (key.clone(), held.1))
        .collect();
    assert_eq!(view, expected);
    assert_eq!(informer.len(), truth.len());
    assert_eq!(informer.digest(), digest_of(truth));
    for term in 0..4 {
        let mut found: Vec<_> = informer
            .with_term(&term)
            .map(|(key, _)| key.to_owned())
            .collect();
        found.sort();
        let expected = expected.iter().filter(|(_, value)| *value % 4 == term);
        assert_eq!(
            found,
            expected.map(|(key, _)| key.clone()).collect::<Vec<_>>()
        );
    }
    for key in (0..9).map(key_of) {
        assert_eq!(informer.get(&key), expected.get(&key));
    }
}

proptest! {
    #[test]
    fn agrees_with_a_btree_map(ops in prop::collection::vec(op(), 1..60)) {
        let index = Index::array(|value| Some(value % 4));
        let mut informer = Tested::new((0..CAPACITY).map(|_| Slot::FREE).collect(), index);
        let mut listener = Listener::default();
        let mut truth = Truth::new();
        let mut revision = 0;
        let now = Instant::from_millis(0);
        for op in ops {
            revision += 1;
            let at = Revision::new(revision);
            match op {
                Op::Put(key, value) => {
                    let key = key_of(key);
                    match informer.put(&key, at, value, &mut listener) {
                        Ok(()) => drop(truth.insert(key, (revision, value))),
                        Err(refused) => {
                            prop_assert_eq!(refused.reason, Reason::Full);
                            prop_assert_eq!(refused.value, value);
                            prop_assert!(!truth.contains_key(&key));
                        }
                    }
                }
                Op::Delete(key) => {
                    let key = key_of(key);
                    informer.delete(&key, at, &mut listener);
                    truth.remove(&key);
                }
                Op::Ready(more) => listener.ready = more,
                Op::Flush => {
                    let left = informer.flush(&mut listener);
                    if left == 0 {
                        let told: BTreeMap<_, _> = truth.iter().map(|(k, v)| (k.clone(), v.1)).collect();
                        prop_assert_eq!(&listener.view, &told);
                    } else {
                        prop_assert_eq!(listener.ready, 0, "stopped although the handler is ready");
                    }
                }
                Op::Snapshot(list, cut) => {
                    // Some objects are what we hold already.
                    let list: Truth = list.into_iter().map(|(key, value)| {
                        let name = key_of(key);
                        let held = truth.get(&name).filter(|_| key % 2 == 0);
                        let item = held.copied().unwrap_or((revision, value));
                        (name, item)
                    }).collect();
                    // A busy handler may leave no room: then the node drops the snapshot, waits and asks again.
                    listener.ready = listener.ready.max(if cut % 2 == 0 { 100 } else { 0 });
                    informer.begin_snapshot();
                    prop_assert_eq!(informer.revision(), None);
                    let mut complete = true;
                    for (number, (key, (revision, value))) in list.iter().enumerate() {
                        let taken = informer.put(key, Revision::new(*revision), *value, &mut listener);
                        if number >= cut || taken.is_err() {
                            complete = false;
                            break;
                        }
                    }
                    if complete {
                        let check = informer.end_snapshot(at, Some(digest_of(&list)), Duration::ZERO, now, &mut listener);
                        prop_assert_eq!(check, Check::Agrees);
                        prop_assert!(informer.has_synced());
                        prop_assert_eq!(informer.revision(), Some(at));
                        truth = list;
                    } else {
                        // Begun again, with a handler that listens: always ends well.
                        listener.ready = 100;
                        informer.begin_snapshot();
                        for (key, (revision, value)) in &list {
                            informer.put(key, Revision::new(*revision), *value, &mut listener).unwrap();
                        }
                        informer.end_snapshot(at, None, Duration::ZERO, now, &mut listener);
                        truth = list;
                        listener.ready = 0;
                    }
                }
                Op::Bookmark { right } => {
                    let mut digest = digest_of(&truth);
                    if !right {
                        digest.add("something/else", at);
                    }
                    let check = informer.bookmark(at, Some(digest), Duration::from_secs(1), now);
                    prop_assert_eq!(check, if right { Check::Agrees } else { Check::Differs });
                    prop_assert_eq!(informer.needs_repair(), !right);
                    let later = now + Duration::from_secs(2);
                    prop_assert_eq!(informer.staleness(later), Some(Duration::from_secs(3)));
                }
                Op::LongKey => {
                    let refused = informer.put("a/key-too-long", at, 1, &mut listener).unwrap_err();
                    prop_assert_eq!(refused.reason, Reason::KeyTooLong);
                }
            }
            check(&informer, &truth);
        }
        listener.ready = usize::MAX;
        prop_assert_eq!(informer.flush(&mut listener), 0);
        let told: BTreeMap<_, _> = truth.iter().map(|(key, held)| (key.clone(), held.1)).collect();
        prop_assert_eq!(listener.view, told);
        // What was told before is not taken twice.
        let before = informer.digest();
        let known: Vec<_> = truth.iter().map(|(key, held)| (key.clone(), held.0)).collect();
        for (key, revision) in known {
            informer.put(&key, Revision::new(revision), 1, &mut ()).unwrap();
            informer.put(&key, Revision::new(revision - 1), 1, &mut ()).unwrap();
            informer.delete(&key, Revision::new(revision - 1), &mut ());
        }
        prop_assert_eq!(informer.digest(), before);
    }
}

/// An event does not say whether it is the last of its transaction.
#[test]
fn a_resumed_watch_repeats_the_transaction_that_was_cut_off() {
    let mut informer = Informer::<Key, u16, [_; 3]>::array();
    let mut listener = Listener {
        ready: usize::MAX,
        ..Listener::default()
    };
    let [begin, cut] = [4, 7].map(Revision::new);
    let now = Instant::from_millis(0);
    informer.begin_snapshot();
    informer.put("gone", begin, 1, &mut listener).unwrap();
    informer.end_snapshot(begin, None, Duration::ZERO, now, &mut listener);

    informer.put("a", cut, 1, &mut listener).unwrap();
    informer.delete("gone", cut, &mut listener);
    assert_eq!(informer.revision(), Some(begin));
    // The listener objects if it is told twice.
    informer.put("a", cut, 1, &mut listener).unwrap();
    informer.delete("gone", cut, &mut listener);
    informer.put("b", cut, 2, &mut listener).unwrap();
    informer.advance(cut);
    assert_eq!(informer.revision(), Some(cut));
    assert!(
        listener
            .view
            .into_iter()
            .eq([("a".into(), 1), ("b".into(), 2)])
    );
}
