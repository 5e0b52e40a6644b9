//! The store and its index against `BTreeMap` models.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ringwatch_core::revision::Revision;
use ringwatch_core::store::index::Index;
use ringwatch_core::store::{Difference, Listed, ReplaceError, Slot, Store, Update};

const CAPACITY: usize = 8;

#[derive(Debug, Clone)]
enum Op {
    Put(u8, u16),
    Delete(u8),
    /// A list: keys and whether each is as new as what is held.
    Replace(BTreeMap<u8, u16>),
    Unsorted(Vec<u8>),
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0..14u8;
    prop_oneof![
        6 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Op::Put(key, value)),
        3 => key.clone().prop_map(Op::Delete),
        1 => prop::collection::btree_map(key.clone(), any::<u16>(), 0..11).prop_map(Op::Replace),
        1 => prop::collection::vec(key, 2..9).prop_map(Op::Unsorted),
    ]
}

type Model = BTreeMap<String, (u64, u16)>;
type Tested = Store<String, u16, Box<[Slot<String, u16>]>>;

fn content(store: &Tested) -> Model {
    let entries = store.iter();
    assert_eq!(entries.len(), store.len());
    entries
        .map(|e| (e.key.clone(), (e.revision.get(), e.value)))
        .collect()
}

/// Reads page by page, as a client with a continue token does.
fn paged(store: &Tested, page: usize) -> Model {
    let mut all = Model::new();
    let mut last: Option<String> = None;
    loop {
        let mut taken = 0;
        for entry in store.after(last.as_deref()).take(page) {
            all.insert(entry.key.clone(), (entry.revision.get(), entry.value));
            taken += 1;
        }
        if taken < page {
            return all;
        }
        last = all.last_key_value().map(|(key, _)| key.clone());
    }
}

/// What a replace must report: removals first, then the rest, each in key order.
fn differences(before: &Model, after: &Model) -> Vec<(String, Option<u16>, Option<u16>)> {
    let removed = before.iter().filter(|(key, _)| !after.contains_key(*key));
    let mut all: Vec<_> = removed.map(|(k, v)| (k.clone(), Some(v.1), None)).collect();
    for (key, new) in after {
        let old = before.get(key);
        if old.map(|old| old.0) != Some(new.0) {
            all.push((key.clone(), old.map(|old| old.1), Some(new.1)));
        }
    }
    all
}

fn list_of(model: &Model) -> Vec<Listed<String, u16>> {
    let item = |(key, (revision, value)): (&String, &(u64, u16))| Listed {
        key: key.clone(),
        revision: Revision::new(*revision),
        value: *value,
    };
    model.iter().map(item).collect()
}

proptest! {
    #[test]
    fn agrees_with_a_btree_map(ops in prop::collection::vec(op(), 1..60), page in 1..5usize) {
        let mut store = Tested::new((0..CAPACITY).map(|_| Slot::FREE).collect());
        let mut model = Model::new();
        let mut revision = 0;
        for op in ops {
            revision += 1;
            let at = Revision::new(revision);
            match op {
                Op::Put(key, value) => {
                    let key = format!("k{key}");
                    let done = store.apply(at, Update::Put(key.clone(), value));
                    if model.contains_key(&key) || model.len() < CAPACITY {
                        let previous = model.insert(key, (revision, value));
                        prop_assert_eq!(done.unwrap(), previous.map(|old| old.1));
                        prop_assert_eq!(store.revision(), at);
                    } else {
                        prop_assert_eq!(done.unwrap_err().0.key, key);
                    }
                }
                Op::Delete(key) => {
                    let key = format!("k{key}");
                    let done = store.apply(at, Update::Delete(key.clone())).unwrap();
                    prop_assert_eq!(done, model.remove(&key).map(|old| old.1));
                }
                Op::Replace(list) => {
                    // Every third item is the one that is held, if it is held.
                    let list: Model = list.into_iter().map(|(key, value)| {
                        let name = format!("k{key}");
                        let held = model.get(&name).filter(|_| key % 3 == 0);
                        let item = held.copied().unwrap_or((revision, value));
                        (name, item)
                    }).collect();
                    let mut seen = Vec::new();
                    let done = store.replace(at, list_of(&list), |difference| seen.push(match difference {
                        Difference::Removed(old) => (old.key, Some(old.value), None),
                        Difference::Added(new) => (new.key.clone(), None, Some(new.value)),
                        Difference::Changed { previous, current } => {
                            (previous.key, Some(previous.value), Some(current.value))
                        }
                    }));
                    if list.len() > CAPACITY {
                        prop_assert_eq!(done, Err(ReplaceError::TooLong { capacity: CAPACITY }));
                    } else {
                        prop_assert_eq!(done, Ok(()));
                        prop_assert_eq!(seen, differences(&model, &list));
                        model = list;
                        prop_assert_eq!(store.revision(), at);
                    }
                }
                Op::Unsorted(keys) => {
                    let wrong = keys.windows(2).position(|pair| pair[0] >= pair[1]);
                    if let Some(position) = wrong && keys.len() <= CAPACITY {
                        let item = |key: &u8| Listed { key: format!("{key:03}"), revision: at, value: 0 };
                        let list: Vec<_> = keys.iter().map(item).collect();
                        let done = store.replace(at, list, |_| panic!("changed by a bad list"));
                        prop_assert_eq!(done, Err(ReplaceError::Unsorted { position: position + 1 }));
                    }
                }
            }
            prop_assert_eq!(content(&store), model.clone());
            prop_assert_eq!(paged(&store, page), model.clone());
            for key in (0..14).map(|key| format!("k{key}")) {
                let held = store.get(key.as_str()).map(|e| (e.revision.get(), e.value));
                prop_assert_eq!(held, model.get(&key).copied());
            }
        }
    }

    #[test]
    fn index_agrees_with_a_btree_set(ops in prop::collection::vec((any::<bool>(), 0..4u8, 0..6usize), 1..80)) {
        let mut store = Store::<usize, (), [_; 6]>::array();
        let mut ids: Vec<_> = (0..6).map(|key| store.put(key, Revision::ZERO, ()).unwrap().id).collect();
        ids.sort();
        let mut index = Index::<u8, [_; CAPACITY]>::array();
        let mut model = BTreeSet::new();
        for (insert, term, id) in ops {
            let pair = (term, ids[id]);
            if insert {
                let fits = model.contains(&pair) || model.len() < CAPACITY;
                prop_assert_eq!(index.insert(term, ids[id]).is_ok(), fits);
                if fits {
                    model.insert(pair);
                }
            } else {
                index.remove(&term, ids[id]);
                model.remove(&pair);
            }
            prop_assert_eq!(index.len(), model.len());
            for term in 0..4 {
                let expected: Vec<_> = model.iter().filter(|p| p.0 == term).map(|p| p.1).collect();
                prop_assert_eq!(index.ids(&term).collect::<Vec<_>>(), expected);
            }
        }
    }
}
