//! Random histories on the embedded store, compared with a plain model: every state there ever was.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringwatch_core::revision::Revision;
use ringwatch_server::storage::embedded::{Durability, Options};
use ringwatch_server::storage::{
    Changes, Condition, Embedded, KeyChange, KeyValue, List, Outcome, Page, Storage, StorageError,
    Ttl, WatchItem, Write,
};
use tempfile::TempDir;

const KEYS: [&str; 7] = ["/a/", "/a/1", "/a/2", "/a/22", "/b/1", "/b/2", "/c"];
const PREFIXES: [&str; 5] = ["", "/a/", "/a/2", "/b/", "/none/"];

/// One write: the key, whether it expects what is there, and the new value.
type Try = (usize, bool, Option<u8>);

#[derive(Debug, Clone)]
enum Step {
    Commit(Vec<Try>),
    List {
        prefix: usize,
        after: Option<usize>,
        limit: usize,
        back: Option<u64>,
    },
    Watch {
        prefix: usize,
        back: u64,
    },
    Follow,
    Compact {
        back: u64,
    },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let write = (
        0..KEYS.len(),
        prop::bool::weighted(0.95),
        prop::option::weighted(0.7, any::<u8>()),
    );
    let commit = prop::collection::vec(write, 1..4).prop_map(Step::Commit);
    let list = (
        0..PREFIXES.len(),
        prop::option::of(0..KEYS.len()),
        0..4usize,
        prop::option::of(0..12u64),
    );
    let list = list.prop_map(|(prefix, after, limit, back)| Step::List {
        prefix,
        after,
        limit,
        back,
    });
    let watch = (0..PREFIXES.len(), 0..30u64);
    prop_oneof![
        20 => commit,
        5 => list,
        3 => watch.prop_map(|(prefix, back)| Step::Watch { prefix, back }),
        3 => Just(Step::Follow),
        1 => (0..10u64).prop_map(|back| Step::Compact { back }),
        1 => Just(Step::Reopen),
    ]
}

type State = BTreeMap<&'static str, KeyValue>;

/// The model: `states[n]` is the state at revision n + 1, and `changes[n]` what led to it.
struct Model {
    states: Vec<State>,
    changes: Vec<Vec<KeyChange>>,
    floor: u64,
}

impl Model {
    fn new() -> Self {
        Self {
            states: vec![State::new()],
            changes: vec![vec![]],
            floor: 0,
        }
    }

    fn newest(&self) -> u64 {
        self.states.len() as u64
    }

    fn last(&self) -> &State {
        &self.states[self.states.len() - 1]
    }

    fn at(&self, revision: u64) -> State {
        let index = revision.checked_sub(1);
        index.map_or(State::new(), |index| self.states[index as usize].clone())
    }

    fn commit(&mut self, writes: &[Write]) -> Outcome {
        let mut state = self.last().clone();
        let current: Vec<_> = writes
            .iter()
            .map(|write| state.get(&*write.key).cloned())
            .collect();
        let expected = writes.iter().map(|write| write.expected);
        let found = current.iter().map(|found| {
            found
                .as_ref()
                .map_or(Revision::ZERO, |found| found.mod_revision)
        });
        if !expected.eq(found) {
            let revision = Revision::new(self.newest());
            return Outcome::Conflict { current, revision };
        }
        let revision = Revision::new(self.newest() + 1);
        let mut changes = Vec::new();
        for (write, previous) in writes.iter().zip(current) {
            if write.value.is_none() && previous.is_none() {
                continue;
            }
            let created = previous
                .as_ref()
                .map_or(revision, |before| before.create_revision);
            let current = write.value.clone().map(|value| KeyValue {
                key: write.key.clone(),
                value,
                mod_revision: revision,
                create_revision: created,
                condition: Condition::Sound,
            });
            let key = KEYS.iter().find(|key| **key == &*write.key).unwrap();
            match current.clone() {
                Some(current) => state.insert(key, current),
                None => state.remove(key),
            };
            changes.push(KeyChange {
                key: write.key.clone(),
                current,
                previous,
            });
        }
        if changes.is_empty() {
            return Outcome::Committed(Revision::new(self.newest()));
        }
        self.states.push(state);
        self.changes.push(changes);
        Outcome::Committed(revision)
    }

    fn list(&self, list: &List) -> Result<Page, StorageError> {
        let revision = list.at.map_or(self.newest(), Revision::get);
        self.known(revision)?;
        let mut items: Vec<_> = self.at(revision).into_values().collect();
        items.retain(|item| item.key.starts_with(&list.prefix));
        items.retain(|item| list.after.as_deref().is_none_or(|after| &*item.key > after));
        let all = items.len();
        if list.limit > 0 {
            items.truncate(list.limit);
        }
        Ok(Page {
            remaining: (all - items.len()) as u64,
            revision: Revision::new(revision),
            items,
        })
    }

    fn known(&self, revision: u64) -> Result<(), StorageError> {
        let floor = Some(Revision::new(self.floor));
        let known = revision >= self.floor;
        known.then_some(()).ok_or(StorageError::Compacted { floor })
    }

    /// What a watch after a revision yields until now.
    fn watched(&self, prefix: &str, after: u64) -> Vec<WatchItem> {
        let mut items = Vec::new();
        for revision in after + 1..=self.newest() {
            let mut changes = self.changes[revision as usize - 1].clone();
            changes.retain(|change| change.key.starts_with(prefix));
            if !changes.is_empty() {
                let revision = Revision::new(revision);
                items.push(WatchItem::Changes { revision, changes });
            }
        }
        items.push(WatchItem::Progress(Revision::new(self.newest())));
        items
    }
}

/// Where the store is, so that it can be opened again.
enum Home {
    Memory,
    Disk(TempDir, Options),
}

impl Home {
    fn open(&self) -> Embedded {
        match self {
            Home::Memory => Embedded::in_memory(),
            Home::Disk(folder, options) => Embedded::open(folder.path(), options.clone()).unwrap(),
        }
    }
}

/// A watch that is kept while other things happen.
struct Follower {
    changes: Changes,
    position: u64,
}

impl Follower {
    async fn new(store: &Embedded, position: u64) -> Self {
        let changes = store.watch("", Revision::new(position)).await.unwrap();
        Self { changes, position }
    }
}

async fn until_progress(
    changes: &mut Changes,
    newest: u64,
) -> Result<Vec<WatchItem>, StorageError> {
    changes.request_progress();
    let mut items = Vec::new();
    loop {
        let item = changes.next().await.expect("the watch goes on")?;
        let end = item == WatchItem::Progress(Revision::new(newest));
        items.push(item);
        if end {
            return Ok(items);
        }
    }
}

async fn run(home: Home, steps: Vec<Step>) {
    let mut store = Some(home.open());
    let mut model = Model::new();
    let mut follower = Follower::new(store.as_ref().unwrap(), 0).await;
    for step in steps {
        let open = store.as_ref().unwrap();
        let newest = model.newest();
        match step {
            Step::Commit(tries) => {
                let mut writes: Vec<Write> = Vec::new();
                for (key, right, value) in tries {
                    let key = KEYS[key];
                    if writes.iter().any(|write| &*write.key == key) {
                        continue;
                    }
                    let found = model.last().get(key);
                    let found = found.map_or(0, |found| found.mod_revision.get());
                    let expected = Revision::new(if right { found } else { found + 1 });
                    let value = value.map(|value| vec![value; 20].into());
                    writes.push(Write {
                        key: key.into(),
                        expected,
                        value,
                        ttl: Ttl::None,
                    });
                }
                let expected = model.commit(&writes);
                assert_eq!(open.commit(writes.clone()).await, Ok(expected));
                for write in writes {
                    let got = open.get(&write.key).await.unwrap();
                    assert_eq!(got.found.as_ref(), model.last().get(&*write.key));
                    assert_eq!(got.revision.get(), model.newest());
                }
            }
            Step::List {
                prefix,
                after,
                limit,
                back,
            } => {
                let list = List {
                    prefix: PREFIXES[prefix].into(),
                    after: after.map(|after| KEYS[after].into()),
                    limit,
                    at: back.map(|back| Revision::new(newest.saturating_sub(back))),
                };
                assert_eq!(open.list(&list).await, model.list(&list));
            }
            Step::Watch { prefix, back } => {
                let after = newest.saturating_sub(back);
                let prefix = PREFIXES[prefix];
                let watch = open.watch(prefix, Revision::new(after)).await;
                match model.known(after) {
                    Err(error) => assert_eq!(watch.err(), Some(error)),
                    Ok(()) => {
                        let items = until_progress(&mut watch.unwrap(), newest).await.unwrap();
                        assert_eq!(items, model.watched(prefix, after));
                    }
                }
            }
            Step::Follow => {
                match until_progress(&mut follower.changes, newest).await {
                    Ok(items) => assert_eq!(items, model.watched("", follower.position)),
                    Err(error) => {
                        // It may have been an earlier floor that ended the watch.
                        let StorageError::Compacted { floor: Some(floor) } = error else {
                            panic!("{error}");
                        };
                        assert!((follower.position + 1..=model.floor).contains(&floor.get()));
                        follower = Follower::new(open, newest).await;
                    }
                }
                follower.position = newest;
            }
            Step::Compact { back } => {
                let revision = newest.saturating_sub(back);
                open.compact(Revision::new(revision)).await.unwrap();
                model.floor = model.floor.max(revision);
            }
            Step::Reopen => {
                if matches!(home, Home::Memory) {
                    continue;
                }
                drop(store.take());
                let open = store.insert(home.open());
                assert_eq!(open.revision().await, Ok(Revision::new(newest)));
                follower = Follower::new(open, newest).await;
            }
        }
    }
}

fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future);
}

fn disk(options: Options) -> Home {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    Home::Disk(folder, options.durability(Durability::None))
}

proptest! {
    // Each case opens stores on disk many times. So it is not one of the files that are run on 10 000 cases.
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn in_memory_it_is_the_model(steps in prop::collection::vec(step(), 1..200)) {
        block_on(run(Home::Memory, steps));
    }

    #[test]
    fn on_disk_it_is_the_model(steps in prop::collection::vec(step(), 1..100)) {
        block_on(run(disk(Options::default()), steps));
    }

    #[test]
    fn with_little_memory_it_is_the_model(
        steps in prop::collection::vec(step(), 1..100),
        values in 0..100usize,
        history in 0..3000usize,
    ) {
        let options = Options::default().values_in_memory(values).history_in_memory(history);
        block_on(run(disk(options), steps));
    }
}
