//! Who writes: creations, updates, deletions, recreations, and transactions of several of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringwatch_core::revision::Revision;
use ringwatch_server::storage::{Outcome, Storage, StorageError, Write};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::devices::{self, PREFIX};
use crate::random::Random;

/// The most keys of one transaction.
const MOST: usize = 6;
/// A key that does not belong to the resource: revisions of the resource have holes.
const ELSEWHERE: &str = "/others/writer";

/// A commit that the storage said was done: its revision and the keys of the resource.
#[derive(Debug, Clone)]
pub struct Acknowledged {
    /// The revision.
    pub revision: Revision,
    /// The keys.
    pub keys: Vec<Arc<str>>,
}

/// The only one who writes its keys.
#[derive(Debug)]
pub struct Writer {
    random: Random,
    serial: u64,
    /// The keys and their revisions; zero if they do not exist. The last one is elsewhere.
    keys: Vec<(Arc<str>, Revision)>,
}

impl Writer {
    /// A writer of `keys` keys. What it does is chosen by its number.
    pub fn new(number: usize, keys: usize) -> Self {
        let devices = (0..keys).map(|key| (devices::key(number, key), Revision::ZERO));
        let elsewhere: Arc<str> = format!("{ELSEWHERE}{number}").into();
        Self {
            random: Random::new(number as u64 + 1),
            serial: 0,
            keys: devices.chain([(elsewhere, Revision::ZERO)]).collect(),
        }
    }

    /// Creates all keys that are not there, so that a resource of some size is there from the beginning.
    pub async fn fill(&mut self, storage: &dyn Storage) -> Vec<Acknowledged> {
        let mut done = Vec::new();
        for key in 0..self.keys.len() - 1 {
            let writes = vec![self.write(key, false)];
            done.extend(self.commit(storage, &[key], writes).await);
        }
        done
    }

    /// Commits one random transaction. `None` if its outcome is not known, or another one's was: then the keys have been
    /// read again.
    pub async fn step(&mut self, storage: &dyn Storage) -> Option<Acknowledged> {
        let first = self.random.below(self.keys.len());
        let count = match self.random.below(3) {
            0 => 1,
            _ => 1 + self.random.below(MOST),
        };
        let places: Vec<_> = (0..count).map(|n| (first + n) % self.keys.len()).collect();
        let writes = places.iter().map(|place| {
            let delete = self.random.below(4) == 0;
            self.write(*place, delete)
        });
        let writes = writes.collect();
        self.commit(storage, &places, writes).await
    }

    fn write(&mut self, place: usize, delete: bool) -> Write {
        let (key, expected) = self.keys[place].clone();
        self.serial += 1;
        match expected {
            Revision::ZERO => Write::create(key, devices::value(&mut self.random, self.serial)),
            expected if delete => Write::delete(key, expected),
            expected => {
                let value = devices::value(&mut self.random, self.serial);
                Write::update(key, expected, value)
            }
        }
    }

    async fn commit(
        &mut self,
        storage: &dyn Storage,
        places: &[usize],
        writes: Vec<Write>,
    ) -> Option<Acknowledged> {
        let gone: Vec<_> = writes.iter().map(|write| write.value.is_none()).collect();
        match storage.commit(writes).await {
            Ok(Outcome::Committed(revision)) => {
                for (place, gone) in places.iter().zip(gone) {
                    self.keys[*place].1 = if gone { Revision::ZERO } else { revision };
                }
                let keys = places.iter().map(|place| self.keys[*place].0.clone());
                Some(Acknowledged {
                    revision,
                    keys: keys.filter(|key| key.starts_with(PREFIX)).collect(),
                })
            }
            // A commit whose outcome was not known was done after all.
            Ok(Outcome::Conflict { .. }) | Err(StorageError::Unavailable(_)) => {
                self.read_again(storage, places).await;
                None
            }
            Err(error) => panic!("a commit: {error}"),
        }
    }

    async fn read_again(&mut self, storage: &dyn Storage, places: &[usize]) {
        for place in places {
            let (key, revision) = &mut self.keys[*place];
            *revision = loop {
                match storage.get(key).await {
                    Ok(got) => break got.found.map_or(Revision::ZERO, |found| found.mod_revision),
                    Err(StorageError::Unavailable(_)) => {
                        // Refused at once by a server that is not there: give it a moment.
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    Err(error) => panic!("a read: {error}"),
                }
            };
        }
    }
}

/// Many writers at once.
pub struct Writers {
    tasks: JoinSet<(Writer, Vec<Acknowledged>)>,
    stop: watch::Sender<bool>,
    writes: Arc<AtomicU64>,
}

impl Writers {
    /// Begins to write, each writer to keys of its own.
    pub fn start(storage: &Arc<dyn Storage>, writers: impl IntoIterator<Item = Writer>) -> Self {
        let (stop, stopped) = watch::channel(false);
        let writes = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        for mut writer in writers {
            let (storage, stopped) = (storage.clone(), stopped.clone());
            let writes = writes.clone();
            tasks.spawn(async move {
                let mut done = Vec::new();
                while !*stopped.borrow() {
                    if let Some(commit) = writer.step(&*storage).await {
                        writes.fetch_add(commit.keys.len() as u64, Ordering::Relaxed);
                        done.push(commit);
                    }
                }
                (writer, done)
            });
        }
        Self {
            tasks,
            stop,
            writes,
        }
    }

    /// How many writes to the resource were acknowledged.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Ends them and gives what was acknowledged.
    ///
    /// # Panics
    ///
    /// If a writer did.
    pub async fn stop(mut self) -> (Vec<Writer>, Vec<Acknowledged>) {
        self.stop.send_replace(true);
        let (mut writers, mut all) = (Vec::new(), Vec::new());
        while let Some(done) = self.tasks.join_next().await {
            let (writer, done) = done.expect("a writer");
            writers.push(writer);
            all.extend(done);
        }
        (writers, all)
    }
}
