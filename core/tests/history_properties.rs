//! The ring against a plain `Vec`, under random pushes, transactions, relists, resizes and readers.

use std::collections::VecDeque;

use proptest::prelude::*;
use ringwatch_core::history::{Cursor, Entry, Expired, History};
use ringwatch_core::revision::Revision;
use ringwatch_core::slots::Place;

type Ring = History<u32, Vec<Place<Entry<u32>>>>;

#[derive(Debug, Clone)]
enum Op {
    /// So many changes in one transaction, this far after the newest revision.
    Push {
        step: u64,
        changes: usize,
    },
    Advance {
        step: u64,
    },
    Bridge {
        step: u64,
        changes: usize,
    },
    Reset {
        step: u64,
    },
    Resize {
        capacity: usize,
    },
    /// A new reader, this far before the newest revision (or after it).
    Read {
        back: i64,
    },
    /// The reader with this number takes so many entries.
    Take {
        reader: usize,
        count: usize,
    },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (1..4u64, 1..4usize).prop_map(|(step, changes)| Op::Push { step, changes }),
        1 => (1..4u64).prop_map(|step| Op::Advance { step }),
        1 => (1..9u64, 0..4usize).prop_map(|(step, changes)| Op::Bridge { step, changes }),
        1 => (0..5u64).prop_map(|step| Op::Reset { step }),
        1 => (0..9usize).prop_map(|capacity| Op::Resize { capacity }),
        4 => (-6..20i64).prop_map(|back| Op::Read { back }),
        6 => (0..8usize, 1..5usize).prop_map(|(reader, count)| Op::Take { reader, count }),
    ]
}

/// What the ring must hold, as plainly as it can be said.
#[derive(Default)]
struct Model {
    capacity: usize,
    entries: Vec<(u64, u32)>,
    floor: u64,
    newest: u64,
    gap: Option<(u64, u64)>,
}

struct Reader {
    cursor: Cursor,
    after: u64,
    unread: VecDeque<(u64, u32)>,
    /// Something that it had not read was evicted, or the history began anew.
    lost: bool,
    /// The last entry it took.
    taken: Option<(u64, u32)>,
}

impl Model {
    fn evict(&mut self, readers: &mut [Reader]) {
        while self.entries.len() > self.capacity {
            let gone = self.entries.remove(0);
            self.floor = self.floor.max(gone.0);
            for reader in readers.iter_mut() {
                reader.lost |= reader.unread.contains(&gone);
            }
        }
    }

    fn forget_until(&mut self, revision: u64, readers: &mut [Reader]) {
        let kept = self.entries.iter().filter(|entry| entry.0 > revision);
        let kept: Vec<_> = kept.copied().collect();
        for reader in readers {
            reader.lost |= reader.unread.iter().any(|entry| entry.0 <= revision);
        }
        self.entries = kept;
        self.floor = self.floor.max(revision);
    }

    fn push(&mut self, revision: u64, values: &[u32], readers: &mut [Reader]) {
        self.newest = revision;
        for value in values {
            self.entries.push((revision, *value));
            for reader in readers.iter_mut().filter(|r| r.after < revision) {
                reader.unread.push_back((revision, *value));
            }
            self.evict(readers);
        }
    }

    fn since(&self, revision: u64) -> Result<Vec<(u64, u32)>, u64> {
        if revision < self.floor {
            return Err(self.floor);
        }
        match self.gap {
            Some((after, until)) if after < revision && revision < until => Err(until),
            _ => Ok(self
                .entries
                .iter()
                .copied()
                .filter(|e| e.0 > revision)
                .collect()),
        }
    }
}

fn drain(ring: &Ring, mut cursor: Cursor) -> Result<Vec<(u64, u32)>, Expired> {
    let mut all = Vec::new();
    while let Some(entry) = ring.next(&mut cursor)? {
        all.push((entry.revision.get(), entry.change));
    }
    Ok(all)
}

fn slots(capacity: usize) -> Vec<Place<Entry<u32>>> {
    (0..capacity).map(|_| Place::Free).collect()
}

fn check_everywhere(ring: &Ring, model: &Model) {
    assert_eq!(ring.floor().get(), model.floor);
    assert_eq!(ring.newest().get(), model.newest);
    let held: Vec<_> = ring.iter().map(|e| (e.revision.get(), e.change)).collect();
    assert_eq!(held, model.entries);
    assert_eq!(ring.len(), model.entries.len());
    for revision in 0..model.newest + 3 {
        let read = ring.since(Revision::new(revision));
        let read = read.and_then(|cursor| drain(ring, cursor));
        assert_eq!(
            read.map_err(|e| e.floor.get()),
            model.since(revision),
            "since({revision})"
        );
    }
}

fn check_position(ring: &Ring, reader: &Reader) {
    let Ok(position) = ring.position(&reader.cursor) else {
        assert!(reader.lost);
        return;
    };
    let Ok(cursor) = ring.since(position) else {
        assert!(position < ring.floor(), "a position inside a gap");
        return;
    };
    // Who resumes there gets what this reader still has to read, preceded at most by
    // what it already read of the same transaction.
    let resumed = drain(ring, cursor).unwrap();
    let unread: Vec<_> = reader
        .unread
        .iter()
        .copied()
        .filter(|e| e.0 > position.get())
        .collect();
    assert_eq!(
        unread.len(),
        reader.unread.len(),
        "the position skips unread entries"
    );
    assert!(resumed.ends_with(&unread));
    let again = &resumed[..resumed.len() - unread.len()];
    if let Some(taken) = reader.taken {
        assert!(
            again.iter().all(|e| e.0 == taken.0),
            "{again:?} repeated after {taken:?}"
        );
    }
}

fn run(capacity: usize, ops: Vec<Op>) {
    let mut ring = Ring::new(slots(capacity));
    let mut model = Model {
        capacity,
        ..Model::default()
    };
    let mut readers: Vec<Reader> = Vec::new();
    let mut values = 0..;
    for op in ops {
        match op {
            Op::Push { step, changes } => {
                let values: Vec<u32> = values.by_ref().take(changes).collect();
                let revision = model.newest + step;
                assert!(
                    ring.push_all(Revision::new(model.newest), values.clone())
                        .is_err()
                );
                ring.push_all(Revision::new(revision), values.clone())
                    .unwrap();
                model.push(revision, &values, &mut readers);
            }
            Op::Advance { step } => {
                model.newest += step;
                ring.advance(Revision::new(model.newest));
                ring.advance(Revision::ZERO);
            }
            Op::Bridge { step, changes } => {
                let values: Vec<u32> = values.by_ref().take(changes).collect();
                let (after, revision) = (model.newest, model.newest + step);
                ring.bridge(Revision::new(revision), values.clone())
                    .unwrap();
                if let Some((_, until)) = model.gap.replace((after, revision)) {
                    model.forget_until(until, &mut readers);
                }
                model.push(revision, &values, &mut readers);
                // Who waited for a revision and has not looked since is judged like one that begins now.
                for reader in readers.iter_mut().filter(|reader| reader.cursor.is_ahead()) {
                    reader.lost |= model.since(reader.after).is_err();
                }
            }
            Op::Reset { step } => {
                model.newest += step;
                ring.reset(Revision::new(model.newest));
                model.entries.clear();
                model.gap = None;
                model.floor = model.newest;
                // Only who waits for something later has lost nothing.
                for reader in &mut readers {
                    reader.lost |= reader.after < model.newest || !reader.cursor.is_ahead();
                }
            }
            Op::Resize { capacity } => {
                model.capacity = capacity;
                model.evict(&mut readers);
                let old = ring.resize(slots(capacity));
                assert!(
                    old.iter().all(|place| place.as_ref().is_none()),
                    "entries left behind"
                );
                assert_eq!(ring.capacity(), capacity);
            }
            Op::Read { back } => {
                let after = (model.newest as i64 - back).max(0) as u64;
                if let Ok(unread) = model.since(after) {
                    readers.push(Reader {
                        cursor: ring.since(Revision::new(after)).unwrap(),
                        after,
                        unread: unread.into(),
                        lost: false,
                        taken: None,
                    });
                }
            }
            Op::Take { reader, count } => {
                let Some(reader) = readers.get_mut(reader) else {
                    continue;
                };
                for _ in 0..count {
                    match ring.next(&mut reader.cursor) {
                        Ok(Some(entry)) => {
                            let entry = (entry.revision.get(), entry.change);
                            assert!(!reader.lost, "read on over a loss");
                            assert_eq!(reader.unread.pop_front(), Some(entry));
                            reader.taken = Some(entry);
                        }
                        Ok(None) => assert!(!reader.lost && reader.unread.is_empty()),
                        Err(_) => assert!(reader.lost, "expired without a loss"),
                    }
                }
            }
        }
        check_everywhere(&ring, &model);
        readers
            .iter()
            .for_each(|reader| check_position(&ring, reader));
    }
}

proptest! {
    #[test]
    fn agrees_with_a_vec(capacity in 0..9usize, ops in prop::collection::vec(op(), 1..60)) {
        run(capacity, ops);
    }

    /// The same pushes into an array, a heapless vector, a borrowed slice and a boxed slice, and moved from
    /// each to the next halfway.
    #[test]
    fn storage_makes_no_difference(changes in prop::collection::vec((1..3u64, 1..4usize), 1..40)) {
        const N: usize = 6;
        let mut places = slots(N);
        let mut array = History::<u32, [_; N]>::array();
        let mut heapless = History::new(heapless::Vec::<_, N>::from_array([const { Place::Free }; N]));
        let mut borrowed = History::new(&mut places[..]);
        let mut moved = History::new(slots(N).into_boxed_slice());
        let (mut revision, mut value) = (0, 0..);
        for (step, count) in changes {
            revision += step;
            let at = Revision::new(revision);
            let group: Vec<u32> = value.by_ref().take(count).collect();
            array.push_all(at, group.clone()).unwrap();
            heapless.push_all(at, group.clone()).unwrap();
            borrowed.push_all(at, group.clone()).unwrap();
            moved.push_all(at, group).unwrap();
            moved = moved.migrate([const { Place::Free }; N]).migrate(slots(N).into_boxed_slice());
            let expected: Vec<_> = array.iter().collect();
            prop_assert_eq!(&heapless.iter().collect::<Vec<_>>(), &expected);
            prop_assert_eq!(&borrowed.iter().collect::<Vec<_>>(), &expected);
            prop_assert_eq!(&moved.iter().collect::<Vec<_>>(), &expected);
            prop_assert_eq!(moved.floor(), array.floor());
        }
    }
}
